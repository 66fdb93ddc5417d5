//! What a scenario scripts, played on catena. The group `core` of the project's scenarios shows the common cases; here are those that it
//! does not have.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use catena_core::Input;
use catena_core::middleware::{Flow, before_model_fn};
use catena_core::state::Slot;
use catena_models::scripted::{say, scripted};
use serde_json::{Value, json};

use super::*;
use crate::observed::{Outcome, Role};
use crate::read::Node;

fn run(scenario: Value) -> Result<Observed, RunError> {
    let mut whole = json!({"name": "a/b", "models": {}, "turns": [{"user": "go"}], "expect": {}});
    whole
        .as_object_mut()
        .unwrap()
        .extend(scenario.as_object().unwrap().clone());
    Catena.run(&Scenario::parse(&whole.to_string()).unwrap())
}

fn jumping(hook: &str, at: u64, replies: Value) -> Observed {
    let jump = json!({"hook": hook, "to": "end", "at": at, "say": "enough"});
    run(json!({
        "tools": [{"name": "search", "description": ""}],
        "models": {"main": replies},
        "middleware": [{"use": "probe", "options": {"name": "A", "jump": jump}}],
        "turns": [{"user": "go"}, {"user": "again"}],
    }))
    .unwrap()
}

fn texts(observed: &Observed) -> Vec<(Role, &str)> {
    let messages = observed.final_messages.iter();
    messages.map(|message| (message.role, message.text.as_str())).collect()
}

#[test]
fn a_probe_ends_the_run_before_the_agent_starts_and_only_at_the_visit_it_names() {
    let observed = jumping("before_agent", 2, json!([{"text": "hello"}]));
    let expected = [
        (Role::User, "go"),
        (Role::Assistant, "hello"),
        (Role::User, "again"),
        (Role::Assistant, "enough"),
    ];
    assert_eq!(texts(&observed), expected);
    let calls: Vec<_> = observed.turns.iter().map(|turn| turn.model_calls).collect();
    assert_eq!(calls, [1, 0]);
    assert_eq!(observed.hooks.last().map(String::as_str), Some("A.after_agent"));
}

#[test]
fn a_probe_ends_the_run_after_the_model_and_its_calls_do_not_run() {
    let calls = json!({"tool_calls": [{"id": "c1", "name": "search", "args": {}}]});
    let observed = jumping("after_model", 1, json!([calls, {"text": "hello"}]));
    assert_eq!(observed.tool_executions, []);
    assert_eq!(observed.turns[0].outcome, Outcome::Done);
    let roles: Vec<_> = texts(&observed).iter().map(|(role, _)| *role).collect();
    use Role::{Assistant, Tool, User};
    assert_eq!(roles, [User, Assistant, Tool, Assistant, User, Assistant]);
    assert!(observed.final_messages[2].failed, "the call is answered as not run");
}

#[test]
fn a_probe_with_options_that_it_does_not_know_cannot_be_played() {
    for options in [
        json!({}),
        json!({"name": "A", "hook": []}),
        json!({"name": "A", "hooks": ["after_tool"]}),
        json!({"name": "A", "jump": {"hook": "wrap_model", "to": "end"}}),
        json!({"name": "A", "jump": {"hook": "before_model", "to": "model"}}),
    ] {
        let result = run(json!({"middleware": [{"use": "probe", "options": options}]}));
        assert!(matches!(result, Err(RunError::Unplayable(_))), "{options}: {result:?}");
    }
}

#[test]
fn what_the_registry_lacks_is_named() {
    let probe = json!({"use": "probe", "options": {"name": "A"}});
    let result = run(json!({"middleware": [{"use": "no_such"}, probe, {"use": "nor_this"}]}));
    let names = ["no_such".to_owned(), "nor_this".to_owned()];
    assert_eq!(result, Err(RunError::MissingMiddleware(names.into())));
}

#[test]
fn files_are_not_left_out_in_silence() {
    let result = run(json!({"files": {"/a.txt": "x"}}));
    assert!(matches!(result, Err(RunError::Unplayable(text)) if text.contains("files")));
}

#[test]
fn an_agent_that_cannot_be_built_fails_every_turn_with_config() {
    let tool = json!({"name": "a", "description": "", "parameters": {"type": "no such type"}});
    let observed = run(json!({"tools": [tool], "turns": [{"user": "go"}, {"user": "again"}]})).unwrap();
    let kinds: Vec<_> = observed
        .turns
        .iter()
        .map(|turn| turn.error.as_ref().unwrap().kind.as_str())
        .collect();
    assert_eq!(kinds, ["config", "config"]);
}

#[test]
fn a_request_to_a_model_that_has_nothing_to_say_is_a_violation() {
    let observed = run(json!({})).unwrap();
    assert_eq!(observed.violations.len(), 1);
    assert_eq!(observed.turns[0].model_calls, 1);
}

#[test]
fn private_tools_are_not_offered() {
    let observed = run(json!({
        "tools": [{"name": "a", "description": ""}, {"name": "b", "description": ""}],
        "private_tools": ["a"],
        "models": {"main": [{"text": "hi"}]},
    }))
    .unwrap();
    assert_eq!(observed.model_calls[0].tools, ["b"]);
}

#[test]
fn the_thread_that_is_told_is_that_of_the_last_turn() {
    let observed = run(json!({
        "models": {"main": [{"text": "one"}, {"text": "two"}]},
        "turns": [{"user": "a", "thread": "x"}, {"user": "b"}],
    }))
    .unwrap();
    assert_eq!(texts(&observed), [(Role::User, "b"), (Role::Assistant, "two")]);
    let refused = run(json!({"turns": [{"resume": {"decisions": []}}]})).unwrap();
    assert_eq!(refused.final_messages, []);
    assert_eq!(refused.turns[0].outcome, Outcome::Error);
}

#[tokio::test]
async fn the_to_do_list_is_read_from_the_state_of_the_thread() {
    const LIST: Slot<Vec<Value>> = Slot::thread(TODOS);
    let todo = json!({"content": "rest", "status": "pending"});
    let written = todo.clone();
    let writer = before_model_fn("writer", move |turn| {
        turn.run().update(&LIST, |list| list.push(written.clone()))?;
        Ok(Flow::Continue)
    });
    let agent = Agent::builder(scripted([say("done")])).with(writer).build().unwrap();
    agent.run(Input::new("go").thread("main")).await.unwrap();
    let turn: Turn = Node::root(&json!({"user": "go"})).read().unwrap();
    let mut observed = Observed::default();
    observe_thread(&agent, &turn, &mut observed).await.unwrap();
    assert_eq!(observed.todos, [todo]);
}
