//! Where the loop itself puts an end to a run, or to a call.

use std::sync::Arc;

use catena::agent::Limits;
use catena::message::Message;
use catena::middleware::{after_model_fn, before_model_fn};
use catena::prelude::*;
use catena::testing::{call, say, scripted};

use crate::kit::{Log, assert_paired, echo, lines, noting, spy, text, view};

/// LC-LOOP-19, FC-143: past the turn limit a run fails with a typed error that names the option; what was done is kept; hooks cost no
/// turns; an agent with tools may use them by default, and a limit that is hit names the option and its value.
#[tokio::test]
async fn the_turn_limit_is_an_error_when_that_is_asked_for() {
    let log = Log::default();
    let model = scripted((0..4).map(|n| call("echo", text(&n.to_string()))));
    let limits = Limits {
        max_turns: 3,
        on_max_turns: catena::agent::OnMaxTurns::Error,
        ..Limits::default()
    };
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .limits(limits)
        .with(spy("a", 1, &log))
        .with(spy("b", 2, &log))
        .build()
        .unwrap();
    let error = agent.run(Input::new("go").thread("t")).await.unwrap_err();
    assert_eq!(error.kind(), "max_turns");
    assert!(error.to_string().contains("3 model turns (`max_turns`)"), "{error}");
    assert_eq!(model.requests().len(), 3);
    assert_eq!(view(&agent, "t").await.len(), 1 + 3 * 2);
    assert_eq!(Limits::default().max_turns, 50);
}

/// LC-LOOP-20, ZC-CHAIN-39: by default the model gives one answer without tools at the limit; the outcome says so; at the last turn there
/// is one answer without tools.
#[tokio::test]
async fn at_the_turn_limit_the_model_answers_once_without_tools() {
    let model = scripted([
        call("echo", text("1")),
        call("echo", text("2")),
        call("echo", text("3")).and_say("so far"),
    ]);
    let agent = Agent::builder(model.clone()).tool(echo()).max_turns(2).build().unwrap();
    let result = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert!(matches!(&result.outcome, Outcome::Stopped { by, reason } if by == "catena" && reason.kind == "max_turns"));
    assert_eq!(result.text(), "so far");
    assert_eq!(result.executed("echo"), 2, "calls in the last word are not run");
    assert_eq!(model.requests()[2].tools.len(), 0);
    assert_paired(&view(&agent, "t").await);
}

/// FC-034: a call that cannot be read is answered with the problem and the model gets another turn; one that never learns is stopped.
#[tokio::test]
async fn a_model_that_always_breaks_its_calls_is_stopped() {
    let broken = || say("").and_raw_call("c1", "echo", "{\"text\":");
    let model = scripted([broken(), call("echo", text("x")), say("done")]);
    let agent = Agent::builder(model.clone()).tool(echo()).build().unwrap();
    let result = agent.run("go").await.unwrap();
    assert!(
        lines(&result.messages)[2].starts_with("echo! the call was not made: the arguments"),
        "{:?}",
        lines(&result.messages)
    );
    assert_eq!(result.executed("echo"), 1);

    let model = scripted((0..9).map(|_| broken()));
    let agent = Agent::builder(model.clone()).tool(echo()).build().unwrap();
    let error = agent.run(Input::new("go").thread("t")).await.unwrap_err();
    assert_eq!(error.kind(), "invalid_calls");
    assert!(error.to_string().contains("(`invalid_calls`: 3)"), "{error}");
    assert_eq!(model.requests().len(), 3);
    assert_paired(&view(&agent, "t").await);
}

/// FC-139: arguments that the output limit cut off are never executed, and the model is told, whatever stop reason the provider gives.
#[tokio::test]
async fn a_call_that_was_cut_off_is_not_made() {
    let log = Log::default();
    let cut = say("").and_raw_call("c1", "note", r#"{"text":"abc"#);
    let model = scripted([
        cut,
        say("")
            .and_raw_call("c2", "note", r#"{"te"#)
            .stop(catena::model::StopReason::Length),
        say("sorry"),
    ]);
    let agent = Agent::builder(model.clone())
        .tool(noting("note", &log))
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(log.take(), [""; 0]);
    let replayed = lines(&model.last_messages());
    assert_eq!(replayed[1], "agent: [note {}]", "what is replayed is valid JSON");
    for line in [&replayed[2], &replayed[4]] {
        assert!(line.starts_with("note!") && line.contains("output limit"), "{line}");
    }
    assert_eq!(result.text(), "sorry");
}

/// FC-140: arguments that are no JSON object are answered with what was expected, and a huge text is not echoed whole.
#[tokio::test]
async fn arguments_must_be_an_object_and_their_echo_is_short() {
    let garbage = "g".repeat(200_000);
    for arguments in ["[1]", "\"x\"", "null", &garbage] {
        let model = scripted([say("").and_raw_call("c1", "echo", arguments), say("sorry")]);
        let agent = Agent::builder(model.clone()).tool(echo()).build().unwrap();
        agent.run("go").await.unwrap();
        let told = &lines(&model.last_messages())[2];
        assert!(
            told.starts_with("echo!") && told.contains("must be a JSON object"),
            "{told}"
        );
        assert!(told.len() < 1_200, "{} characters", told.len());
    }
}

/// FC-142: a request that would end with the assistant's own words is an error that says what to do.
#[tokio::test]
async fn a_conversation_that_ends_with_the_agents_own_words_is_an_error() {
    let agent = Agent::builder(scripted([])).build().unwrap();
    let history = vec![Message::user("hi"), Message::assistant("x")];
    let error = agent.run(Input::messages(history)).await.unwrap_err();
    assert!(error.to_string().contains("give an input"), "{error}");
    assert_eq!(error.kind(), "config");

    let note = before_model_fn("note", |turn| {
        turn.request.messages_mut().push(Arc::new(Message::assistant("a note")));
        Ok(Flow::Continue)
    });
    let error = Agent::builder(scripted([]))
        .with(note)
        .build()
        .unwrap()
        .run("hi")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), "config");
}

/// CORE-LIMIT-01: a middleware that always asks again is stopped by the turn limit, and has no say about the last word.
#[tokio::test]
async fn asking_again_for_ever_ends_at_the_turn_limit() {
    let model = scripted((0..9).map(|n| say(format!("answer {n}"))));
    let never = after_model_fn("never", |_, _| Ok(AfterModel::AskAgain));
    let agent = Agent::builder(model.clone()).max_turns(3).with(never).build().unwrap();
    let result = agent.run("go").await.unwrap();
    assert!(matches!(&result.outcome, Outcome::Stopped { reason, .. } if reason.kind == "max_turns"));
    assert_eq!((result.text().as_str(), model.requests().len()), ("answer 3", 4));
}
