//! Turns on agents that are made by hand: approvals and waits need no middleware of the registry.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use catena_core::interrupt::InterruptRequest;
use catena_core::middleware::{Ending, Flow, ToolDecision, before_agent_fn, gate_fn, wrap_model_fn};
use catena_core::tool::{ToolSpec, json_tool};
use catena_models::scripted::{Reply, calls, say, scripted};
use serde_json::{Value, json};

use super::*;
use crate::read::Node;

fn turn(value: Value) -> Turn {
    Node::root(&value).read().unwrap()
}

fn user() -> Turn {
    turn(json!({"user": "go"}))
}

fn guarded() -> Agent {
    let model = scripted([
        calls([("send", json!({"to": "ann"})), ("send", json!({"to": "bob"}))]),
        say("sent"),
    ]);
    Agent::builder(model)
        .tool(json_tool(ToolSpec::new("send", "", Value::Null), |_, _| async { "ok" }))
        .with(gate_fn("human", |_, _| {
            Ok(ToolDecision::Interrupt(InterruptRequest::approval("send?")))
        }))
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_told_with_its_actions_and_the_decisions_that_are_allowed() {
    let record = play(&guarded(), &user()).await;
    assert_eq!(record.outcome, Outcome::Interrupted);
    let review = json!({"action_name": "send", "allowed_decisions": ["approve", "edit", "reject"]});
    let expected = json!({
        "action_requests": [
            {"name": "send", "args": {"to": "ann"}, "description": "send?"},
            {"name": "send", "args": {"to": "bob"}, "description": "send?"},
        ],
        "review_configs": [review, review],
    });
    assert_eq!(record.interrupt, Some(expected));
}

#[tokio::test(start_paused = true)]
async fn wrong_decisions_are_refused_and_right_ones_go_on() {
    let agent = guarded();
    play(&agent, &user()).await;
    let approve = json!({"type": "approve"});
    for wrong in [
        json!({"decisions": [approve]}),
        json!({"decisions": [approve, {"type": "maybe"}]}),
        json!({"decisions": [approve, {"type": "respond", "message": "x"}]}),
    ] {
        let record = play(&agent, &turn(json!({"resume": wrong}))).await;
        let kind = record.error.map(|error| error.kind);
        assert_eq!(
            (record.outcome, kind.as_deref()),
            (Outcome::Error, Some("invalid_decision"))
        );
    }
    let record = play(&agent, &turn(json!({"resume": {"decisions": [approve, approve]}}))).await;
    assert_eq!(record, TurnRecord::default());
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_model_keeps_its_status_and_its_words() {
    let agent = Agent::builder(scripted([Reply::error(503, "b is down")]))
        .build()
        .unwrap();
    let error = play(&agent, &user()).await.error.unwrap();
    assert_eq!((error.kind.as_str(), error.status), ("model_error", Some(503)));
    assert!(error.message.contains("b is down"), "{}", error.message);
}

#[tokio::test(start_paused = true)]
async fn an_end_on_purpose_is_done_and_one_with_an_error_has_its_kind() {
    let ends = |ending: Ending| {
        let stop = before_agent_fn("stop", move |_| Ok(Flow::Stop(ending.clone())));
        Agent::builder(scripted([])).with(stop).build().unwrap()
    };
    let stopped = play(&ends(Ending::stopped("closed", "come back tomorrow")), &user()).await;
    assert_eq!(stopped, TurnRecord::default());
    let failed = play(&ends(Ending::failed("pii_detected", "an email")), &user()).await;
    assert_eq!(failed.error.map(|error| error.kind).as_deref(), Some("pii_detected"));
}

#[tokio::test(start_paused = true)]
async fn waits_cost_no_time_and_are_measured() {
    let wait = Duration::from_secs(90);
    let slow = scripted([say("late").after(wait)]);
    let began = std::time::Instant::now();
    let record = play(&Agent::builder(slow).build().unwrap(), &user()).await;
    assert_eq!((record.outcome, record.elapsed), (Outcome::Done, wait));
    assert!(began.elapsed() < wait);
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_an_end_is_a_timeout() {
    let forever = wrap_model_fn("forever", |_, _| Box::pin(std::future::pending()));
    let agent = Agent::builder(scripted([])).with(forever).build().unwrap();
    let record = play(&agent, &user()).await;
    assert_eq!(record.error.map(|error| error.kind).as_deref(), Some("timeout"));
}
