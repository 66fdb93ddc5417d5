//! One JSON object, when wraps change what is asked of whom.

use std::sync::Arc;

use catena::middleware::{before_model_fn, wrap_model_fn};
use catena::model::{ModelProfile, NativeOutput, ToolChoice};
use catena::output::{OutputFormat, OutputStrategy};
use catena::prelude::*;
use catena::testing::{Reply, ScriptedModel, call, say, scripted};
use serde_json::json;

use crate::kit::{Log, assert_paired, echo, lines, view};

fn format() -> OutputFormat {
    OutputFormat::new(
        "answer",
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    )
}

fn native(script: impl IntoIterator<Item = Reply>) -> Arc<ScriptedModel> {
    let profile = ModelProfile {
        structured_output: NativeOutput::Schema,
        ..ModelProfile::default()
    };
    Arc::new(ScriptedModel::new("native:test", script).profile(profile))
}

/// Asks the second model when the first one fails.
fn fallback(other: Arc<ScriptedModel>) -> impl Middleware {
    wrap_model_fn("fallback", move |mut request, next| {
        let other = other.clone();
        Box::pin(async move {
            match next.call(request.clone()).await {
                Err(_) => {
                    request.model = other;
                    next.call(request).await
                }
                answered => answered,
            }
        })
    })
}

/// CORE-STRUCT-06: a fallback is asked for the object in the way that it knows, whichever way the first model was asked.
#[tokio::test]
async fn a_fallback_is_asked_in_its_own_way() {
    let down = || [Reply::error(503, "down")];
    let object = || [Reply::structured(json!({"n": 1}))];
    for (first, second, way, tools) in [
        (native(down()), scripted(object()), OutputStrategy::Tool, 1),
        (scripted(down()), native(object()), OutputStrategy::Native, 0),
    ] {
        let agent = Agent::builder(first)
            .output(format())
            .with(fallback(second.clone()))
            .build()
            .unwrap();
        let result = agent.run(Input::new("go").thread("t")).await.unwrap();
        assert_eq!(result.structured, Some(json!({"n": 1})));
        let request = &second.requests()[0];
        assert_eq!(
            (request.output.as_ref().unwrap().strategy, request.tools.len()),
            (way, tools)
        );
        assert_paired(&view(&agent, "t").await);
    }
}

/// CORE-STRUCT-07: a misfit of the fallback is sent back in the fallback's way.
#[tokio::test]
async fn a_misfit_of_the_fallback_is_corrected() {
    let second = scripted([call("answer", json!({})), call("answer", json!({"n": 2}))]);
    let down = (0..2).map(|_| Reply::error(503, "down"));
    let agent = Agent::builder(native(down))
        .output(format())
        .with(fallback(second.clone()))
        .build()
        .unwrap();
    assert_eq!(agent.run("go").await.unwrap().structured, Some(json!({"n": 2})));
    let shown = lines(&second.last_messages());
    assert!(shown[2].starts_with("answer! This does not fit"), "{shown:?}");
}

/// CORE-STRUCT-08: a selector sees the tools that were offered and no other, and cannot leave the output tool out.
#[tokio::test]
async fn a_selector_neither_sees_nor_drops_the_output_tool() {
    let log = Log::default();
    let select = {
        let log = log.clone();
        wrap_model_fn("select", move |mut request, next| {
            log.add(
                request
                    .tool_specs()
                    .map(|spec| spec.name.clone())
                    .collect::<Vec<_>>()
                    .join(" "),
            );
            request.tools = Arc::default();
            Box::pin(async move { next.call(request).await })
        })
    };
    let model = scripted([Reply::structured(json!({"n": 1}))]);
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .output(format())
        .with(select)
        .build()
        .unwrap();
    assert_eq!(agent.run("go").await.unwrap().structured, Some(json!({"n": 1})));
    assert_eq!(log.take(), ["echo"]);
    assert_eq!(model.requests()[0].tools.len(), 1);
}

/// CORE-STRUCT-09: what a middleware says about tool choice stands.
#[tokio::test]
async fn a_middlewares_tool_choice_stands() {
    let wanted = ToolChoice::Tool("echo".into());
    let choose = {
        let wanted = wanted.clone();
        before_model_fn("choose", move |turn| {
            turn.request.tool_choice = wanted.clone();
            Ok(Flow::Continue)
        })
    };
    let model = scripted([say(r#"{"n": 1}"#)]);
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .output(format())
        .with(choose)
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(model.requests()[0].tool_choice, wanted);
}

/// CORE-STRUCT-10: a wrap may ask for an object in one call; the call that brings it is answered as accepted.
#[tokio::test]
async fn a_wrap_may_ask_for_an_object() {
    let asks = wrap_model_fn("asks", |mut request, next| {
        request.output = Some(format());
        Box::pin(async move { next.call(request).await })
    });
    let agent = Agent::builder(scripted([Reply::structured(json!({"n": 1}))]))
        .with(asks)
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(result.structured, Some(json!({"n": 1})));
    assert_eq!(lines(&result.messages)[2], "answer: accepted");
}
