//! Edits: a person changes the call.

use catena::interrupt::Decision;
use catena::middleware::gate_fn;
use catena::prelude::*;
use catena::testing::{call, say, scripted};
use catena::tool::{ToolSpec, json_tool};
use serde_json::json;

use super::{Desk, edit};

#[tokio::test]
async fn an_edited_call_runs_as_edited_and_is_shown_so() {
    let (desk, pauses) = Desk::paused([("send", "c1")]).await;
    let done = desk
        .answer(&pauses[0], edit(None, json!({"x": "better"})))
        .await
        .unwrap();
    assert_eq!(done.outcome, Outcome::Done);
    assert_eq!(desk.results().await, [("c1".to_owned(), "did better".to_owned())]);
    let thread = desk.agent.thread(&"t".into()).await.unwrap();
    assert_eq!(thread.view()[1].calls().next().unwrap().input, json!({"x": "better"}));
    assert_eq!(
        thread.messages()[1].calls().next().unwrap().input,
        json!({"x": "c1"}),
        "the record keeps the original"
    );
}

/// FC-040: an edit to another tool is judged by that tool's policy: a new approval is asked for, which is for the new tool.
#[tokio::test]
async fn an_edit_to_another_tool_meets_that_tools_gates() {
    let (desk, pauses) = Desk::paused([("send", "c1")]).await;
    let asked = desk
        .answer(&pauses[0], edit(Some("wipe"), json!({"x": "all"})))
        .await
        .unwrap();
    let [pause] = asked.pauses() else {
        panic!("{:?}", asked.outcome)
    };
    assert_eq!((pause.tool.as_str(), &pause.input), ("wipe", &json!({"x": "all"})));
    assert_eq!(desk.counts(), [0, 0, 0, 0, 1]);
    let late = Resume::thread("t").answer(pauses[0].id.clone(), Decision::Approve);
    desk.refused(late).await;
    assert_eq!(
        desk.answer(pause, Decision::Approve).await.unwrap().outcome,
        Outcome::Done
    );
    assert_eq!(desk.counts(), [0, 1, 0, 0, 2]);
}

#[tokio::test]
async fn an_edit_to_a_tool_without_a_policy_runs_it() {
    let (desk, pauses) = Desk::paused([("send", "c1")]).await;
    let done = desk
        .answer(&pauses[0], edit(Some("free"), json!({"x": "bird"})))
        .await
        .unwrap();
    assert_eq!(
        (done.outcome.clone(), done.executed("free"), done.executed("send")),
        (Outcome::Done, 1, 0)
    );
    assert_eq!(desk.results().await, [("c1".to_owned(), "did bird".to_owned())]);
}

/// FC-040: an unknown tool is refused, and so is an input that does not fit; the pause stays and can be answered.
#[tokio::test]
async fn an_edit_that_cannot_run_is_refused_and_the_pause_stays() {
    let (desk, pauses) = Desk::paused([("send", "c1"), ("send", "c2")]).await;
    let id = pauses[0].id.clone();
    let unknown = Resume::thread("t").answer(id.clone(), edit(Some("launch"), json!({})));
    assert!(
        desk.refused(unknown)
            .await
            .contains("there is no tool `launch`; available: send, wipe, free, ask")
    );
    let no_object = Resume::thread("t").answer(id.clone(), edit(None, json!("c1")));
    assert!(desk.refused(no_object).await.contains("JSON object"));
    // A bad edit beside a good answer: neither is stored.
    let both = Resume::thread("t").answer(pauses[1].id.clone(), Decision::Approve);
    desk.refused(both.answer(id.clone(), edit(Some("launch"), json!({}))))
        .await;
    assert_eq!(desk.agent.run(Resume::thread("t")).await.unwrap().pauses(), pauses);
    assert_eq!(
        desk.agent.run(Resume::thread("t").approve_all()).await.unwrap().outcome,
        Outcome::Done
    );
}

#[tokio::test]
async fn an_edit_whose_input_does_not_fit_the_schema_is_refused() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tool = json_tool(ToolSpec::new("count", "Counts.", schema), |input, _| async move {
        input["n"].to_string()
    });
    let gate = gate_fn("human", |_, _| {
        Ok(ToolDecision::Interrupt(catena::interrupt::InterruptRequest::approval(
            "count?",
        )))
    });
    let model = scripted([call("count", json!({"n": 1})), say("done")]);
    let agent = Agent::builder(model.clone()).tool(tool).with(gate).build().unwrap();
    let paused = agent.run(Input::new("go").thread("t")).await.unwrap();
    let id = paused.pauses()[0].id.clone();
    let wrong = Resume::thread("t").answer(id.clone(), edit(None, json!({"n": "many"})));
    let error = agent.run(wrong).await.unwrap_err().to_string();
    assert!(
        error.contains("does not fit its schema") && error.contains("/n"),
        "{error}"
    );
    let right = Resume::thread("t").answer(id, edit(None, json!({"n": 2})));
    assert_eq!(agent.run(right).await.unwrap().outcome, Outcome::Done);
    assert_eq!(model.last_messages().last().unwrap().text(), "2");
}

/// What one gate approved in an edited form, another one may still refuse.
#[tokio::test]
async fn an_edited_call_is_judged_by_all_gates() {
    let human = gate_fn("human", |_, _| {
        Ok(ToolDecision::Interrupt(catena::interrupt::InterruptRequest::approval(
            "may it?",
        )))
    });
    let guard = gate_fn("guard", |_, call| {
        Ok(match call.input["x"] == "secret" {
            true => ToolDecision::block("not that"),
            false => ToolDecision::Allow,
        })
    });
    let (tool, count) = crate::support::counting("send");
    let model = scripted([call("send", json!({"x": "a"})), say("done")]);
    let agent = Agent::builder(model.clone())
        .tool(tool)
        .with(human)
        .with(guard)
        .build()
        .unwrap();
    let paused = agent.run(Input::new("go").thread("t")).await.unwrap();
    let resume = Resume::thread("t").answer(paused.pauses()[0].id.clone(), edit(None, json!({"x": "secret"})));
    assert_eq!(agent.run(resume).await.unwrap().outcome, Outcome::Done);
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 0);
    assert_eq!(model.last_messages().last().unwrap().text(), "not that");
}
