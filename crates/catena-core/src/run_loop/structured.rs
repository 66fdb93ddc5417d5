//! One JSON object in place of words: asked for, checked, and sent back while it does not fit.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::chain::{Chain, NextModel};
use crate::context::RunContext;
use crate::error::{Error, Result};
use crate::message::{Message, Part, ToolCall};
use crate::model::{
    ModelError, ModelErrorKind, ModelProfile, ModelRequest, ModelResponse, NativeOutput, StopReason, ToolChoice,
};
use crate::output::{OutputFormat, OutputStrategy};
use crate::tool::{Tool, ToolContext, ToolError, ToolOutcome, ToolOutput, ToolSpec};

use super::model_call::ModelCall;
use super::results::result_message;

impl OutputFormat {
    /// With the way of asking that suits the model.
    fn resolved(mut self, profile: &ModelProfile) -> Self {
        if self.strategy == OutputStrategy::Auto {
            self.strategy = match profile.structured_output {
                NativeOutput::Schema => OutputStrategy::Native,
                NativeOutput::Tool => OutputStrategy::Tool,
            };
        }
        self
    }
}

/// Asks through the wraps; with an output format, until the object fits or the corrections are used up.
pub(super) async fn ask(
    chain: &Chain,
    run: &RunContext,
    call: &ModelCall,
    request: ModelRequest,
) -> Result<ModelResponse> {
    let next = NextModel::new(chain, run, call);
    let mut request = request;
    let mut corrections = 0;
    loop {
        let mut response = next.call(request.clone()).await?;
        // As the model was asked that answered; if none was, as the request has it.
        let asked = call.output(&response.message.id).or_else(|| request.output.clone());
        let Some(format) = asked.map(|format| format.resolved(request.model.profile())) else {
            return Ok(response);
        };
        match found(&format, &response) {
            Found::Value(value) => {
                response.structured = Some(value);
                return Ok(response);
            }
            // Other tools come first: the object is due when the model has nothing left to call, and has not been paused by its provider.
            Found::NotYet => return Ok(response),
            Found::Misfit(problem) if corrections >= format.corrections => {
                let text = format!("the answer does not fit the schema after {corrections} correction(s): {problem}");
                return Err(Error::Model(ModelError::new(ModelErrorKind::Malformed, text)));
            }
            Found::Misfit(problem) => {
                corrections += 1;
                call.fold(&mut request);
                correct(&mut request, response, &format, &problem);
            }
        }
    }
}

/// The request as the model gets it. This is the innermost step, so that the way of asking suits the model that a wrap has chosen, and no
/// wrap takes the output tool for one that can be left out.
pub(super) fn prepared(mut request: ModelRequest) -> ModelRequest {
    let Some(format) = request.output.take() else {
        return request;
    };
    let format = format.resolved(request.model.profile());
    if format.strategy == OutputStrategy::Tool {
        let tools = request.tools_mut();
        tools.retain(|tool| tool.spec().name != format.spec().name);
        tools.push(Arc::new(OutputTool(format.spec().clone())));
        if request.tool_choice == ToolChoice::Auto {
            request.tool_choice = ToolChoice::Required;
        }
    }
    request.output = Some(format);
    request
}

enum Found {
    Value(Value),
    NotYet,
    Misfit(String),
}

fn found(format: &OutputFormat, response: &ModelResponse) -> Found {
    if format.strategy == OutputStrategy::Tool
        && let Some(call) = response.message.calls().find(|call| call.name == format.spec().name)
    {
        let times = response
            .message
            .calls()
            .filter(|call| call.name == format.spec().name)
            .count();
        if times > 1 {
            return Found::Misfit(format!("`{}` was called {times} times; one is wanted", call.name));
        }
        return match &call.invalid {
            Some(invalid) => Found::Misfit(invalid.reason.clone()),
            None => match format.check(&call.input) {
                Ok(()) => Found::Value(call.input.clone()),
                Err(problem) => Found::Misfit(problem),
            },
        };
    }
    if response.message.calls().next().is_some() || response.message.stop == StopReason::Paused {
        return Found::NotYet;
    }
    match format.parse(&response.message.text()) {
        Ok(value) => Found::Value(value),
        Err(problem) => Found::Misfit(problem),
    }
}

/// Shows the model its misfit, as results of its calls or as a note.
fn correct(request: &mut ModelRequest, response: ModelResponse, format: &OutputFormat, problem: &str) {
    let text = format!("This does not fit: {problem}. Give the whole answer again.");
    let result = |call: &ToolCall| match call.name == format.spec().name {
        true => ToolOutput::error(text.clone()),
        false => ToolOutput::error("not run: the answer beside it does not fit"),
    };
    let calls: Vec<ToolCall> = response.message.calls().cloned().collect();
    let messages = request.messages_mut();
    messages.push(Arc::new(Message::Assistant(response.message.into_inner())));
    match calls.is_empty() {
        true => messages.push(Arc::new(Message::user_parts(vec![Part::text(text)]))),
        false => messages.extend(calls.iter().map(|call| result_message(call, result(call)))),
    }
}

/// The tool whose input is the answer. The loop takes the answer from the call, so it never runs.
struct OutputTool(Arc<ToolSpec>);

#[async_trait]
impl Tool for OutputTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: ToolContext, _: Value) -> Result<ToolOutcome, ToolError> {
        Ok(ToolOutput::text("accepted").into())
    }
}
