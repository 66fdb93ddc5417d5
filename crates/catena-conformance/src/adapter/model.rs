//! A scripted model: it notes every request and answers with the next entry of its queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use catena_core::model::{
    Model, ModelError, ModelErrorKind, ModelProfile, ModelRequest, ModelStream, NativeOutput, ToolChoice,
};
use catena_core::output::OutputStrategy;
use catena_models::scripted::{self, ScriptedModel, say};
use serde_json::{Value, json};

use super::log::Log;
use super::message;
use crate::observed::{Message, ModelCall, Role};
use crate::scenario::{Answer, Arguments, Failure, Profile, Reply, ScriptedCall};

/// A model with the queue of a scenario.
pub(super) struct QueueModel {
    /// Its name in catena.
    name: String,
    /// Its name in the scenario.
    short_name: String,
    profile: ModelProfile,
    queue: Mutex<Queue>,
    log: Arc<Log>,
}

struct Queue {
    replies: VecDeque<Reply>,
    taken: usize,
}

impl QueueModel {
    pub(super) fn new(name: &str, replies: Vec<Reply>, profile: Option<&Profile>, log: Arc<Log>) -> Self {
        let profile = ModelProfile {
            provider: "scripted".to_owned(),
            context_window: profile.map(|profile| profile.max_input_tokens),
            structured_output: NativeOutput::Schema,
            images: true,
            files: true,
            tools: true,
            ..ModelProfile::default()
        };
        Self {
            name: format!("scripted:{name}"),
            short_name: name.to_owned(),
            profile,
            queue: Mutex::new(Queue {
                replies: replies.into(),
                taken: 0,
            }),
            log,
        }
    }

    /// The next reply and its number from 1.
    fn take(&self) -> Option<(Reply, usize)> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = queue.replies.pop_front()?;
        queue.taken += 1;
        Some((reply, queue.taken))
    }
}

#[async_trait]
impl Model for QueueModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        self.log.model_call(observed(&self.short_name, request));
        let Some((reply, number)) = self.take() else {
            let text = format!("model `{}` was asked with nothing left in its queue", self.short_name);
            self.log.violation(text.clone());
            return Err(ModelError::new(ModelErrorKind::InvalidRequest, text));
        };
        let reply = scripted_reply(reply, number, request);
        ScriptedModel::new(&self.name, [reply]).stream(request).await
    }
}

/// A request as the format tells it.
fn observed(model: &str, request: &ModelRequest) -> ModelCall {
    let prompt = request.prompt.render();
    let system = (!prompt.is_empty()).then(|| Message {
        role: Role::System,
        text: prompt,
        ..Message::default()
    });
    let messages = request.messages.iter().map(|message| message::observed(message));
    ModelCall {
        model: model.to_owned(),
        messages: system.into_iter().chain(messages).collect(),
        tools: request.tool_specs().map(|spec| spec.name.clone()).collect(),
        tool_choice: tool_choice(&request.tool_choice),
    }
}

/// The choice as chat-completions services are sent it; leaving it to the model is not sent.
fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Tool(name) => Some(json!({"type": "function", "function": {"name": name}})),
    }
}

fn scripted_reply(reply: Reply, number: usize, request: &ModelRequest) -> scripted::Reply {
    let usage = reply.usage;
    let scripted = match reply.answer {
        Answer::Message { text, calls } => calls.into_iter().fold(words(text.0), with_call),
        Answer::Structured(object) => match forced_call(request) {
            Some(tool) => scripted::Reply::nothing().and_call_id(format!("structured_{number}"), tool, object),
            None => say(object.to_string()),
        },
        Answer::Failure(failure) => return scripted::Reply::fail(error(failure)),
    };
    match usage {
        Some(usage) => scripted.usage(usage.input, usage.output),
        None => scripted,
    }
}

fn words(text: String) -> scripted::Reply {
    match text.is_empty() {
        true => scripted::Reply::nothing(),
        false => say(text),
    }
}

fn with_call(reply: scripted::Reply, call: ScriptedCall) -> scripted::Reply {
    match call.arguments {
        Arguments::Parsed(args) => reply.and_call_id(call.id, call.name, args),
        Arguments::Raw(text) => reply.and_raw_call(call.id, call.name, text),
    }
}

/// The one function whose input is the object that the request asks for, if it is asked for that way.
fn forced_call(request: &ModelRequest) -> Option<String> {
    match (&request.output, &request.tool_choice) {
        (Some(format), _) if format.strategy == OutputStrategy::Tool => Some(format.spec().name.clone()),
        (None, ToolChoice::Tool(name)) => Some(name.clone()),
        (None, ToolChoice::Required) => match request.tools.as_slice() {
            [tool] => Some(tool.spec().name.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// The failure as a provider's client reports it: the code is part of what the provider said.
fn error(failure: Failure) -> ModelError {
    let message = match failure.code {
        Some(code) => format!("{} ({code})", failure.message.0),
        None => failure.message.0,
    };
    let wait = failure
        .retry_after
        .map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    ModelError::from_status(failure.status, message).with_retry_after(wait)
}

#[cfg(test)]
mod tests;
