//! What the tests have in common.

use std::sync::Arc;

use async_trait::async_trait;
use catena_core::id::MessageId;
use catena_core::message::{AssistantMessage, Message, Part, ToolMessage, ToolStatus};
use catena_core::model::{Fold, Model, ModelDelta, ModelError, ModelRequest};
use catena_core::tool::{Tool, ToolContext, ToolError, ToolOutcome, ToolSpec};
use catena_models::providers::{ProviderSpec, connect};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::mock::{Mock, Reply, Seen};

pub(crate) const KEY: &str = "sk-test-0123456789";

/// A body from the fixtures.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/it/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The model, reached at the server.
pub(crate) fn model(name: &str, mock: &Mock) -> Arc<dyn Model> {
    connected(ProviderSpec::new(name), mock)
}

/// The model, reached at the server, with other options.
pub(crate) fn connected(spec: ProviderSpec, mock: &Mock) -> Arc<dyn Model> {
    let path = match spec.model.split(':').next().unwrap() {
        "anthropic" | "gemini" | "ollama" => "",
        _ => "/v1",
    };
    connect(&spec.base_url(mock.url(path)), &|_| Some(KEY.to_owned())).unwrap()
}

/// A request of one question.
pub(crate) fn question(model: &Arc<dyn Model>) -> ModelRequest {
    ModelRequest::new(model.clone(), vec![Message::user("hello")])
}

/// The whole answer, and the deltas it came in.
pub(crate) async fn deltas(request: &ModelRequest) -> Result<(Vec<ModelDelta>, Fold), (Vec<ModelDelta>, ModelError)> {
    let mut stream = request
        .model
        .stream(request)
        .await
        .map_err(|error| (Vec::new(), error))?;
    let (mut seen, mut fold) = (Vec::new(), Fold::default());
    while let Some(delta) = stream.next().await {
        match delta {
            Ok(delta) => {
                seen.push(delta.clone());
                fold.push(delta);
            }
            Err(error) => return Err((seen, error)),
        }
    }
    assert!(
        matches!(seen.last(), Some(ModelDelta::End { .. })),
        "the end comes last: {seen:?}"
    );
    Ok((seen, fold))
}

/// The message that a request is answered with.
pub(crate) async fn ask(request: &ModelRequest) -> Result<AssistantMessage, ModelError> {
    let (_, fold) = deltas(request).await.map_err(|(_, error)| error)?;
    fold.finish(MessageId::from("m"), request.model.name())
}

/// The message that a question is answered with, when the server gives this answer.
pub(crate) async fn answer(name: &str, reply: Reply) -> Result<AssistantMessage, ModelError> {
    let mock = Mock::start([reply]).await;
    ask(&question(&model(name, &mock))).await
}

/// The message of a fixture.
pub(crate) async fn message(name: &str, file: &str) -> AssistantMessage {
    answer(name, Reply::events(fixture(file))).await.unwrap()
}

/// Events of OpenAI's chat, one a value, then its end mark.
pub(crate) fn chunks(deltas: &[Value]) -> String {
    let mut out: String = deltas.iter().map(|delta| format!("data: {delta}\n\n")).collect();
    out.push_str("data: [DONE]\n\n");
    out
}

/// A chunk of OpenAI's chat with this delta.
pub(crate) fn chunk(delta: Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

/// The last chunk of OpenAI's chat.
pub(crate) fn finish(reason: &str) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// The calls of a message as name, id and input.
pub(crate) fn calls(message: &AssistantMessage) -> Vec<(&str, &str, &Value)> {
    message
        .calls()
        .map(|call| (call.name.as_str(), call.id.as_str(), &call.input))
        .collect()
}

/// A tool that is offered and never called.
pub(crate) fn tool(spec: ToolSpec) -> Arc<dyn Tool> {
    Arc::new(Offered(spec))
}

struct Offered(ToolSpec);

#[async_trait]
impl Tool for Offered {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: ToolContext, _: Value) -> Result<ToolOutcome, ToolError> {
        std::future::pending().await
    }
}

/// The result of a call.
pub(crate) fn result(call: &str, name: &str, parts: Vec<Part>, status: ToolStatus) -> Message {
    Message::Tool(ToolMessage {
        id: MessageId::fresh(),
        call: call.into(),
        name: name.to_owned(),
        parts,
        status,
        artifact: None,
    })
}

/// What is sent for these messages.
pub(crate) async fn sent(name: &str, messages: Vec<Message>) -> Seen {
    sent_with(ProviderSpec::new(name), messages, |_| {}).await
}

/// What is sent for these messages after an edit of the request. The answer does not matter.
pub(crate) async fn sent_with(
    spec: ProviderSpec,
    messages: Vec<Message>,
    edit: impl FnOnce(&mut ModelRequest),
) -> Seen {
    let mock = Mock::start([]).await;
    let mut request = ModelRequest::new(connected(spec, &mock), messages);
    edit(&mut request);
    if let Err(error) = ask(&request).await {
        assert_eq!(error.status, Some(500), "{error:?}");
    }
    mock.only()
}
