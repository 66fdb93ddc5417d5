//! The loop: model, tools, outcome.

use catena::message::{Message, Role};
use catena::prelude::*;
use catena::testing::{call, calls, say, scripted};
use serde_json::json;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Query {
    q: String,
}

fn search() -> impl catena::tool::Tool {
    tool_fn("search", "Search the web", |input: Query, _| async move {
        format!("found {}", input.q)
    })
}

/// LC-LOOP-11: a string input is one user message.
#[tokio::test]
async fn a_call_is_run_and_its_result_goes_back_to_the_model() {
    let model = scripted([call("search", json!({"q": "rust"})), say("Rust is a language.")]);
    let agent = Agent::builder(model.clone())
        .prompt("You are careful.")
        .tool(search())
        .build()
        .unwrap();
    let result = agent.run("What is rust?").await.unwrap();
    assert_eq!(result.outcome, Outcome::Done);
    assert_eq!(result.text(), "Rust is a language.");
    assert_eq!(result.executed("search"), 1);
    let roles: Vec<_> = model.last_messages().iter().map(|m| m.role()).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool]);
    assert_eq!(model.last_messages()[2].text(), "found rust");
    assert_eq!(model.requests()[0].prompt.render(), "You are careful.");
}

#[tokio::test]
async fn an_interrupt_pauses_and_an_approval_goes_on() {
    let model = scripted([
        calls([("search", json!({"q": "a"})), ("search", json!({"q": "b"}))]),
        say("done"),
    ]);
    let gate = catena::middleware::gate_fn("human", |_turn, call| {
        Ok(match call.input["q"] == "b" {
            true => ToolDecision::Interrupt(catena::interrupt::InterruptRequest::approval("search b?")),
            false => ToolDecision::Allow,
        })
    });
    let agent = Agent::builder(model.clone()).tool(search()).with(gate).build().unwrap();
    let paused = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(paused.pauses().len(), 1);
    assert_eq!(
        paused.executed("search"),
        0,
        "nothing of the message runs before all is decided"
    );
    let done = agent.run(Resume::thread("t").approve_all()).await.unwrap();
    assert_eq!(done.outcome, Outcome::Done);
    assert_eq!(done.executed("search"), 2);
    let texts: Vec<_> = model
        .last_messages()
        .iter()
        .map(|m: &std::sync::Arc<Message>| m.text())
        .collect();
    assert_eq!(texts, ["go", "", "found a", "found b"]);
}
