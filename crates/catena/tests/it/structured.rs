//! One JSON object in place of words.

use catena::middleware::{after_model_fn, before_model_fn, wrap_model_fn};
use catena::model::{ModelErrorKind, ModelProfile, NativeOutput, ToolChoice};
use catena::output::{OutputFormat, OutputStrategy};
use catena::prelude::*;
use catena::record::CallStatus;
use catena::testing::{Reply, ScriptedModel, call, calls, say, scripted};
use serde_json::json;
use std::sync::Arc;

use crate::kit::{End, Log, assert_paired, echo, lines, noting, spy, text, tool, view, watch};

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

/// LC-STRUCT-01, LC-STRUCT-08: asked for as a tool, the object ends the run: its call is answered, and the value is in the result; the
/// format is known by its registration, whatever its name or title.
#[tokio::test]
async fn an_object_that_is_given_as_a_call_ends_the_run() {
    let titled = OutputFormat::new("search_results", json!({"title": "Results", "type": "object"}));
    for (format, object) in [(format(), json!({"n": 4})), (titled, json!({"any": 1}))] {
        let model = scripted([Reply::structured(object.clone()), say("next")]);
        let agent = Agent::builder(model.clone())
            .tool(echo())
            .output(format.clone())
            .build()
            .unwrap();
        let result = agent.run(Input::new("2 + 2?").thread("t")).await.unwrap();
        assert_eq!(result.outcome, Outcome::Done);
        assert_eq!(result.structured, Some(object));
        let request = &model.requests()[0];
        assert_eq!(request.tool_choice, ToolChoice::Required);
        assert!(request.tool(&format.spec().name).is_some());
        let shown = view(&agent, "t").await;
        assert_eq!(shown[2].text(), "accepted");
        assert_paired(&shown);
    }
}

/// LC-STRUCT-03: an object that does not fit is sent back with the problem, inside the same turn; the second one counts.
#[tokio::test]
async fn an_object_that_does_not_fit_is_corrected() {
    let model = scripted([call("answer", json!({"n": "four"})), call("answer", json!({"n": 4}))]);
    let agent = Agent::builder(model.clone()).output(format()).build().unwrap();
    let result = agent.run(Input::new("2 + 2?").thread("t")).await.unwrap();
    assert_eq!(result.structured, Some(json!({"n": 4})));
    assert_eq!((result.totals.turns, result.totals.attempts), (1, 2));
    let shown = lines(&model.last_messages());
    assert!(
        shown[2].starts_with("answer! This does not fit: at /n: \"four\" is not of type \"integer\""),
        "{shown:?}"
    );
    assert_paired(&model.last_messages());
    assert_eq!(view(&agent, "t").await.len(), 3, "the misfit is not part of the thread");
}

/// LC-STRUCT-04: corrections are bounded and may be none; then the run fails with an error that names the problem.
#[tokio::test]
async fn corrections_are_bounded() {
    for corrections in [0, 2] {
        let script = (0..9).map(|_| call("answer", json!({"n": "four"})));
        let model = scripted(script);
        let mut format = format();
        format.corrections = corrections;
        let agent = Agent::builder(model.clone()).output(format).build().unwrap();
        let error = agent.run(Input::new("go").thread("t")).await.unwrap_err();
        assert_eq!(error.as_model().unwrap().kind, ModelErrorKind::Malformed);
        assert!(
            error
                .to_string()
                .contains(&format!("after {corrections} correction(s): at /n")),
            "{error}"
        );
        assert_eq!(model.requests().len() as u32, corrections + 1);
        assert_eq!(lines(&view(&agent, "t").await), ["user: go"]);
    }
}

/// LC-STRUCT-05: two objects in one message are one too many: both calls are answered, and the model gives it again.
#[tokio::test]
async fn two_objects_in_one_message_are_one_too_many() {
    let model = scripted([
        calls([("answer", json!({"n": 1})), ("answer", json!({"n": 2}))]),
        call("answer", json!({"n": 3})),
    ]);
    let agent = Agent::builder(model.clone()).output(format()).build().unwrap();
    assert_eq!(agent.run("go").await.unwrap().structured, Some(json!({"n": 3})));
    let shown = lines(&model.last_messages());
    for line in &shown[2..4] {
        assert!(
            line.starts_with("answer! This does not fit: `answer` was called 2 times; one is wanted"),
            "{line}"
        );
    }
    assert_paired(&model.last_messages());
}

/// LC-STRUCT-06: an object beside other calls is taken; the others are answered as not run.
#[tokio::test]
async fn other_calls_beside_the_object_are_not_run() {
    let log = Log::default();
    let agent = Agent::builder(scripted([calls([("note", text("x")), ("answer", json!({"n": 1}))])]))
        .tool(noting("note", &log))
        .output(format())
        .build()
        .unwrap();
    let (events, result) = watch(&agent, Input::new("go").thread("t")).await;
    let result = result.unwrap();
    assert_eq!(result.structured, Some(json!({"n": 1})));
    assert_eq!(log.take(), [""; 0]);
    let shown = view(&agent, "t").await;
    assert_eq!(
        lines(&shown)[2..],
        [
            "note! not run: the final answer came in the same message",
            "answer: accepted"
        ]
    );
    assert_eq!(crate::kit::told(&events), result.messages);
    let thread = agent.thread(&"t".into()).await.unwrap();
    let statuses: Vec<_> = thread.run().unwrap().calls().iter().map(|call| call.status).collect();
    assert_eq!(statuses, [CallStatus::NotRun, CallStatus::Responded]);
}

/// CORE-STRUCT-01: a misfit beside other calls answers those as not run while it is corrected, so that the request is valid.
#[tokio::test]
async fn siblings_of_a_misfit_are_answered_in_the_correction() {
    let model = scripted([
        calls([("echo", text("x")), ("answer", json!({}))]),
        call("answer", json!({"n": 1})),
    ]);
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .output(format())
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    assert_paired(&model.last_messages());
    assert_eq!(
        lines(&model.last_messages())[2],
        "echo! not run: the answer beside it does not fit"
    );
}

/// LC-STRUCT-07: corrections happen within the model step: after_agent runs once, and so do the hooks of the turn.
#[tokio::test]
async fn hooks_do_not_see_corrections_as_turns() {
    let log = Log::default();
    let agent = Agent::builder(scripted([call("answer", json!({})), call("answer", json!({"n": 1}))]))
        .with(spy("m", 500, &log))
        .output(format())
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    let counts = ["m.before_model", "m.model>", "m.after_model", "m.after_agent"].map(|line| log.count(line));
    assert_eq!(counts, [1, 2, 1, 1], "wraps stand around every attempt");
}

/// LC-STRUCT-09: asked for in the provider's own way, a fitting answer is the value, fenced or not; one that never fits is a typed error.
#[tokio::test]
async fn a_native_object_is_read_from_the_answer() {
    for said in [r#"{"n": 1}"#, "```json\n{\"n\": 1}\n```"] {
        let model = native([say(said)]);
        let agent = Agent::builder(model.clone()).output(format()).build().unwrap();
        let result = agent.run("go").await.unwrap();
        assert_eq!(result.structured, Some(json!({"n": 1})));
        assert_eq!(lines(&result.messages).len(), 2);
        assert!(model.requests()[0].tools.is_empty());
    }
    let model = native((0..3).map(|_| say("four, I think")));
    let error = Agent::builder(model.clone())
        .output(format())
        .build()
        .unwrap()
        .run("go")
        .await
        .unwrap_err();
    assert_eq!(error.as_model().unwrap().kind, ModelErrorKind::Malformed);
    let shown = lines(&model.last_messages());
    assert!(
        shown[2].starts_with("user: This does not fit: the answer is not valid JSON"),
        "{shown:?}"
    );
}

/// LC-STRUCT-10: an answer with other calls is no object yet: they are run, and the loop goes on.
#[tokio::test]
async fn other_tools_come_first() {
    for model in [
        native([call("echo", text("x")), Reply::structured(json!({"n": 1}))]),
        scripted([call("echo", text("x")), Reply::structured(json!({"n": 1}))]),
    ] {
        let agent = Agent::builder(model).tool(echo()).output(format()).build().unwrap();
        let result = agent.run("go").await.unwrap();
        assert_eq!((result.executed("echo"), result.structured), (1, Some(json!({"n": 1}))));
    }
}

/// LC-STRUCT-11: the provider's own way is taken only if the model's profile names it, or if it is asked for.
#[tokio::test]
async fn the_profile_decides_how_the_object_is_asked_for() {
    let asked = async |model: Arc<ScriptedModel>, strategy: OutputStrategy| {
        let agent = Agent::builder(model.clone())
            .output(format().strategy(strategy))
            .build()
            .unwrap();
        agent.run("go").await.unwrap();
        let request = &model.requests()[0];
        (request.output.as_ref().unwrap().strategy, request.tools.len())
    };
    let reply = || [Reply::structured(json!({"n": 1}))];
    assert_eq!(
        asked(native(reply()), OutputStrategy::Auto).await,
        (OutputStrategy::Native, 0)
    );
    assert_eq!(
        asked(scripted(reply()), OutputStrategy::Auto).await,
        (OutputStrategy::Tool, 1)
    );
    assert_eq!(
        asked(native(reply()), OutputStrategy::Tool).await,
        (OutputStrategy::Tool, 1)
    );
    assert_eq!(
        asked(scripted(reply()), OutputStrategy::Native).await,
        (OutputStrategy::Native, 0)
    );
}

/// LC-STRUCT-12: a middleware may ask for an object in one call, and the call of it is answered as accepted.
#[tokio::test]
async fn a_middleware_may_ask_for_an_object() {
    let asks = before_model_fn("asks", |turn| {
        turn.request.output = Some(format());
        Ok(Flow::Continue)
    });
    let agent = Agent::builder(scripted([Reply::structured(json!({"n": 1}))]))
        .with(asks)
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(result.structured, Some(json!({"n": 1})));
    assert_eq!(lines(&result.messages)[2], "answer: accepted");
}

/// LC-TOOL-16: when a tool ends the run of an agent that answers with an object, the model is asked once more, for the object alone.
#[tokio::test]
async fn a_tool_that_ends_the_run_still_leaves_the_object_to_be_given() {
    let submit = || tool("submit", |_, _| async { "handed in" }).configure(|spec| spec.ends_run());
    for model in [
        native([call("submit", json!({})), Reply::structured(json!({"n": 1}))]),
        scripted([call("submit", json!({})), Reply::structured(json!({"n": 1}))]),
    ] {
        let agent = Agent::builder(model.clone())
            .tool(submit())
            .output(format())
            .build()
            .unwrap();
        let result = agent.run("go").await.unwrap();
        assert_eq!(
            (result.outcome.clone(), result.structured.clone()),
            (Outcome::Done, Some(json!({"n": 1})))
        );
        assert!(
            model.requests()[1].tool("submit").is_none(),
            "no tool but the object's own"
        );
    }
}

/// CORE-STRUCT-02: AskAgain wins over an object that fits: it is dropped, and another one is asked for.
#[tokio::test]
async fn asking_again_drops_the_object() {
    for script in [scripted as fn([Reply; 2]) -> Arc<ScriptedModel>, native] {
        let model = script([Reply::structured(json!({"n": 1})), Reply::structured(json!({"n": 2}))]);
        let agent = Agent::builder(model).output(format()).with(picky()).build().unwrap();
        let result = agent.run(Input::new("go").thread("t")).await.unwrap();
        assert_eq!(result.structured, Some(json!({"n": 2})));
        assert_paired(&view(&agent, "t").await);
    }
}

/// Does not take the first object.
fn picky() -> impl Middleware {
    after_model_fn("picky", |_, response| {
        Ok(match response.structured == Some(json!({"n": 1})) {
            true => AfterModel::AskAgain,
            false => AfterModel::Continue,
        })
    })
}

/// CORE-STRUCT-03: the last word of a run that is ended is words: no object is asked for.
#[tokio::test]
async fn the_last_word_is_no_object() {
    let model = scripted([call("echo", text("x")), say("out of turns")]);
    let log = Log::default();
    let agent = Agent::builder(model)
        .tool(echo())
        .output(format())
        .max_turns(1)
        .with(End {
            name: "end",
            log: log.clone(),
        })
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!((result.text().as_str(), result.structured), ("out of turns", None));
    assert_eq!(log.take(), ["end: stopped by catena: max_turns"]);
}

/// CORE-STRUCT-04: an answer that a wrap writes in the model's place is checked like any other.
#[tokio::test]
async fn an_answer_in_the_models_place_is_checked_too() {
    let canned = |said: &'static str| {
        wrap_model_fn("canned", move |_, _| {
            Box::pin(async move { Ok(ModelResponse::text(said)) })
        })
    };
    let run = async |said| {
        Agent::builder(scripted([]))
            .output(format())
            .with(canned(said))
            .build()
            .unwrap()
            .run("go")
            .await
    };
    assert_eq!(run(r#"{"n": 1}"#).await.unwrap().structured, Some(json!({"n": 1})));
    assert!(run("no").await.is_err());
}

/// CORE-STRUCT-05: a format whose schema is none, or whose name is a tool's, is found when the agent is built.
#[test]
fn a_format_that_cannot_work_is_found_when_the_agent_is_built() {
    let built = |format| {
        Agent::builder(scripted([]))
            .tool(echo())
            .output(format)
            .build()
            .unwrap_err()
            .to_string()
    };
    assert!(built(OutputFormat::new("echo", json!({}))).contains("both named `echo`"));
    assert!(built(OutputFormat::new("a", json!({"type": "no type"}))).contains("schema of tool `a` is not valid"));
}
