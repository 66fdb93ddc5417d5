#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use catena_core::message::{AssistantMessage, Message as CoreMessage};
use catena_core::model::{Fold, Usage};
use catena_core::output::OutputFormat;
use catena_core::prompt::{Prompt, Stability};
use catena_core::tool::{ToolSpec, json_tool};
use futures::StreamExt;

use super::*;
use crate::read::Node;

fn model(replies: Value) -> (Arc<QueueModel>, Arc<Log>) {
    let log = Arc::new(Log::default());
    let replies = Node::root(&replies).read().unwrap();
    (Arc::new(QueueModel::new("main", replies, None, log.clone())), log)
}

fn request(model: &Arc<QueueModel>) -> ModelRequest {
    ModelRequest::new(model.clone(), vec![CoreMessage::user("go")])
}

async fn ask(request: &ModelRequest) -> Result<AssistantMessage, ModelError> {
    let mut stream = request.model.stream(request).await?;
    let mut fold = Fold::default();
    while let Some(delta) = stream.next().await {
        fold.push(delta?);
    }
    fold.finish("m".into(), "main")
}

fn tool(name: &str) -> Arc<dyn catena_core::tool::Tool> {
    Arc::new(json_tool(ToolSpec::new(name, "", Value::Null), |_, _| async { "ok" }))
}

#[tokio::test]
async fn a_request_is_noted_with_its_system_prompt_first_and_its_tools_in_order() {
    let (model, log) = model(json!([{"text": "hi"}]));
    let mut request = request(&model);
    request.prompt = Prompt::default();
    request.prompt.push("agent", Stability::Static, "Be brief.");
    request.tools = Arc::new(vec![tool("b"), tool("a")]);
    request.tool_choice = ToolChoice::Tool("a".into());
    ask(&request).await.unwrap();
    let call = log.take().model_calls.remove(0);
    let texts: Vec<_> = call.messages.iter().map(|m| (m.role, m.text.as_str())).collect();
    assert_eq!(texts, [(Role::System, "Be brief."), (Role::User, "go")]);
    assert_eq!(call.tools, ["b", "a"]);
    assert_eq!(
        call.tool_choice,
        Some(json!({"type": "function", "function": {"name": "a"}}))
    );
}

#[tokio::test]
async fn text_calls_and_usage_arrive_as_they_are_scripted() {
    let (model, log) = model(json!([{
        "text": "both",
        "tool_calls": [{"id": "c1", "name": "a", "args": {"q": 1}}],
        "raw_tool_calls": [{"id": "c2", "name": "b", "arguments": "{\"q"}],
        "usage": {"input": 3, "output": 4},
    }]));
    let message = ask(&request(&model)).await.unwrap();
    let calls: Vec<_> = message.calls().collect();
    assert_eq!(message.text(), "both");
    assert_eq!((calls[0].id.as_str(), &calls[0].input), ("c1", &json!({"q": 1})));
    assert_eq!(
        calls[1].invalid.as_ref().map(|invalid| invalid.text.as_str()),
        Some("{\"q")
    );
    let usage = Usage {
        input: 3,
        output: 4,
        ..Usage::default()
    };
    assert_eq!(message.usage, usage);
    assert_eq!(log.take().violations, Vec::<String>::new());
}

#[tokio::test]
async fn an_empty_queue_is_a_violation_that_names_the_model() {
    let (model, log) = model(json!([]));
    ask(&request(&model)).await.unwrap_err();
    let log = log.take();
    assert_eq!(log.model_calls.len(), 1);
    assert!(log.violations[0].contains("`main`"), "{:?}", log.violations);
}

#[tokio::test]
async fn an_object_comes_in_the_way_in_which_it_is_asked_for() {
    let object = json!({"tools": ["a"]});
    let (model, _) = model(json!([{"structured": object}, {"structured": object}, {"structured": object}]));
    let mut plain = request(&model);
    assert_eq!(ask(&plain).await.unwrap().text(), object.to_string());

    plain.tool_choice = ToolChoice::Tool("choose".into());
    let forced = ask(&plain).await.unwrap();
    assert_eq!(
        forced.calls().map(|c| (c.name.as_str(), &c.input)).collect::<Vec<_>>(),
        [("choose", &object)]
    );

    let mut formatted = request(&model);
    formatted.output = Some(OutputFormat::new("pick", Value::Null).strategy(OutputStrategy::Tool));
    let called = ask(&formatted).await.unwrap();
    assert_eq!(called.calls().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["pick"]);
    assert_ne!(called.calls().next().unwrap().id, forced.calls().next().unwrap().id);
}

#[tokio::test]
async fn failures_have_a_status_a_kind_and_a_wait() {
    let (model, _) = model(json!([
        {"error": {"status": 429, "message": "busy", "retry_after": 1.5}},
        {"error": {"status": 400, "message": "no", "code": "context_length_exceeded"}},
    ]));
    let busy = ask(&request(&model)).await.unwrap_err();
    assert_eq!(
        (busy.status, busy.retry_after),
        (Some(429), Some(Duration::from_millis(1500)))
    );
    assert_eq!(busy.kind, ModelErrorKind::RateLimited);
    let long = ask(&request(&model)).await.unwrap_err();
    assert_eq!(long.kind, ModelErrorKind::ContextOverflow);
}

#[test]
fn the_profile_of_a_scenario_is_the_size_of_the_window() {
    let profile = Profile { max_input_tokens: 4000 };
    let model = QueueModel::new("main", Vec::new(), Some(&profile), Arc::default());
    assert_eq!(model.profile().context_window, Some(4000));
}
