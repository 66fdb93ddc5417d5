//! What the benches share: a model and a tool that cost nothing themselves.

use async_trait::async_trait;
use catena::message::Role;
use catena::model::{Model, ModelDelta, ModelError, ModelProfile, ModelRequest, ModelStream, StopReason};
use catena::prelude::*;
use futures::StreamExt;
use serde_json::json;

/// Asks for one tool call, then answers. Keeps nothing, so it can be asked for ever.
pub(crate) struct OneCall(ModelProfile);

impl OneCall {
    pub(crate) fn new() -> Self {
        Self(ModelProfile::default())
    }
}

#[async_trait]
impl Model for OneCall {
    fn name(&self) -> &str {
        "bench:one-call"
    }

    fn profile(&self) -> &ModelProfile {
        &self.0
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let last = request.messages.last().map(|message| message.role());
        let delta = match last {
            Some(Role::Tool) => ModelDelta::Text { text: "done".into() },
            _ => ModelDelta::ToolCall {
                index: Some(0),
                id: None,
                name: Some("look".into()),
                arguments: "{\"at\":\"it\"}".into(),
            },
        };
        let end = ModelDelta::End { stop: StopReason::End };
        Ok(futures::stream::iter([Ok(delta), Ok(end)]).boxed())
    }
}

/// A tool that answers at once.
pub(crate) fn look() -> impl catena::tool::Tool {
    let schema = json!({"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]});
    let spec = catena::tool::ToolSpec::new("look", "Looks at something.", schema).read_only();
    catena::tool::json_tool(spec, |_, _| async { "seen" })
}

/// Has every hook and changes nothing.
pub(crate) struct PassThrough(pub String);

#[middleware]
impl Middleware for PassThrough {
    fn name(&self) -> &str {
        &self.0
    }
    async fn before_agent(&self, _: &mut Intake) -> Result<Flow> {
        Ok(Flow::Continue)
    }
    async fn before_model(&self, _: &mut Turn) -> Result<Flow> {
        Ok(Flow::Continue)
    }
    async fn wrap_model_call(
        &self,
        request: ModelRequest,
        next: catena::chain::NextModel<'_>,
    ) -> Result<ModelResponse> {
        next.call(request).await
    }
    async fn after_model(&self, _: &mut Turn, _: &mut ModelResponse) -> Result<AfterModel> {
        Ok(AfterModel::Continue)
    }
    async fn before_tool_call(&self, _: &Turn, _: &catena::message::ToolCall) -> Result<ToolDecision> {
        Ok(ToolDecision::Allow)
    }
    async fn wrap_tool_call(
        &self,
        call: catena::message::ToolCall,
        next: catena::chain::NextTool<'_>,
    ) -> Result<ToolOutcome> {
        next.call(call).await
    }
    async fn after_tool_call(&self, _: &mut Turn, _: &catena::message::ToolCall, _: &mut ToolOutput) -> Result<()> {
        Ok(())
    }
    async fn after_agent(&self, _: &RunContext, _: &catena::record::OutcomeRecord) -> Result<()> {
        Ok(())
    }
}

/// An agent with `middlewares` pass-through middlewares.
pub(crate) fn agent(middlewares: usize) -> Agent {
    let builder = Agent::builder(OneCall::new()).tool(look());
    let builder = (0..middlewares).fold(builder, |builder, n| builder.with(PassThrough(format!("pass_{n}"))));
    builder.build().expect("the agent of the bench is complete")
}
