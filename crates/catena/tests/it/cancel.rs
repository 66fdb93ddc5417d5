//! Cancelling: wherever a run is, it ends as cancelled, once, and its thread can be used.

mod children;
mod hooks;
mod late;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use catena::agent::{Limits, OnBusy};
use catena::event::EventKind;
use catena::prelude::*;
use catena::record::OutcomeRecord;
use catena::testing::{Reply, ScriptedModel, call, say, scripted};
use catena::{AgentBuilder, RunHandle};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Ends, Hold, counting, texts, valid_thread};

/// What a person who pressed Ctrl-C waits for at most, for each `after_agent`.
const AFTER_CANCEL: Duration = Duration::from_secs(2);

fn agent(model: Arc<ScriptedModel>, add: impl FnOnce(AgentBuilder) -> AgentBuilder) -> (Agent, Ends) {
    let ends = Ends::default();
    let builder = add(Agent::builder(model)).with(ends.clone());
    (builder.build().unwrap(), ends)
}

/// Cancels, and checks what must be true however far the run was.
async fn cancelled(agent: &Agent, ends: &Ends, handle: RunHandle) -> Vec<String> {
    handle.cancel();
    let result = handle.outcome().await.unwrap();
    assert_eq!(result.outcome, Outcome::Cancelled);
    assert_eq!(ends.seen(), [OutcomeRecord::Cancelled], "after_agent runs once");
    let thread = valid_thread(agent.store(), "t").await;
    assert_eq!(thread.run().unwrap().outcome(), Some(&OutcomeRecord::Cancelled));
    texts(thread.view().iter())
}

/// The thread takes the next input as if nothing had happened.
async fn goes_on(agent: &Agent, model: &ScriptedModel) {
    model.push(say("here I am"));
    let next = agent.run(Input::new("still there?").thread("t")).await.unwrap();
    assert_eq!(
        (next.outcome.clone(), next.text().as_str()),
        (Outcome::Done, "here I am")
    );
    valid_thread(agent.store(), "t").await;
}

#[tokio::test]
async fn in_the_middle_of_a_models_answer_nothing_of_it_is_kept() {
    let model = scripted([say("half an answer").hang()]);
    let (agent, ends) = agent(model.clone(), |builder| builder);
    let mut handle = agent.start(Input::new("go").thread("t"));
    while !matches!(handle.next().await.unwrap().kind, EventKind::Text { .. }) {}
    assert_eq!(cancelled(&agent, &ends, handle).await, ["go"]);
    goes_on(&agent, &model).await;
}

#[tokio::test]
async fn the_last_event_tells_that_the_run_was_cancelled() {
    let (agent, _) = agent(scripted([say("half").hang()]), |builder| builder);
    let mut handle = agent.start(Input::new("go").thread("t"));
    while !matches!(handle.next().await.unwrap().kind, EventKind::Text { .. }) {}
    handle.cancel();
    let mut last = None;
    while let Some(event) = handle.next().await {
        last = Some(event.kind);
    }
    assert!(
        matches!(
            last,
            Some(EventKind::RunEnded {
                outcome: Some(OutcomeRecord::Cancelled),
                ..
            })
        ),
        "{last:?}"
    );
}

#[tokio::test]
async fn in_a_tool_finished_results_are_kept_and_the_others_say_what_is_known() {
    let hold = Hold::new();
    let (quick, count) = counting("quick");
    let three = Reply::nothing()
        .and_call_id("c1", "quick", json!({}))
        .and_call_id("c2", "slow", json!({}))
        .and_call_id("c3", "slow", json!({}));
    let model = scripted([three]);
    let limits = Limits {
        parallel_tools: 1,
        ..Limits::default()
    };
    let (agent, ends) = agent(model.clone(), |builder| {
        builder.tool(quick).tool(hold.tool("slow")).limits(limits)
    });
    let handle = agent.start(Input::new("go").thread("t"));
    hold.reached().await;
    let view = cancelled(&agent, &ends, handle).await;
    let unknown = "not finished: the run was cancelled; whether it took effect is not known";
    assert_eq!(view, ["go", "", "did it", unknown, "not run: the run was cancelled"]);
    assert_eq!(count.load(Ordering::SeqCst), 1);
    goes_on(&agent, &model).await;
}

#[tokio::test]
async fn while_it_waits_for_its_thread_a_run_leaves_no_trace() {
    let hold = Hold::new();
    let model = scripted([call("slow", json!({})), say("done")]);
    let (agent, ends) = agent(model, |builder| builder.tool(hold.tool("slow")));
    let first = agent.start(Input::new("first").thread("t"));
    hold.reached().await;
    let second = agent.start(Input::new("second").thread("t").on_busy(OnBusy::Enqueue));
    second.cancel();
    assert!(matches!(second.outcome().await, Err(Error::Cancelled)));
    hold.release();
    assert_eq!(first.outcome().await.unwrap().outcome, Outcome::Done);
    let thread = valid_thread(agent.store(), "t").await;
    assert!(!texts(thread.messages()).contains(&"second".to_owned()));
    assert_eq!(ends.seen().len(), 1);
}

#[tokio::test]
async fn dropping_the_future_of_a_run_cancels_it() {
    let hold = Hold::new();
    let (agent, ends) = agent(scripted([call("slow", json!({}))]), |builder| {
        builder.tool(hold.tool("slow"))
    });
    tokio::select! {
        _ = agent.run(Input::new("go").thread("t")) => panic!("the tool is held"),
        () = hold.reached() => {}
    }
    assert!(agent.shutdown(Duration::from_secs(60)).await);
    assert_eq!(ends.seen(), [OutcomeRecord::Cancelled]);
    valid_thread(agent.store(), "t").await;
}

#[tokio::test]
async fn dropping_a_handle_cancels_its_run_and_a_detached_one_goes_on() {
    for detached in [false, true] {
        let hold = Hold::new();
        let model = scripted([call("slow", json!({})), say("done")]);
        let (agent, ends) = agent(model, |builder| builder.tool(hold.tool("slow")));
        let handle = agent.start(Input::new("go").thread("t"));
        hold.reached().await;
        if detached {
            handle.detach();
            hold.release();
        } else {
            drop(handle);
        }
        assert!(agent.shutdown(Duration::from_secs(60)).await);
        let done = matches!(ends.seen()[..], [OutcomeRecord::Done { .. }]);
        assert_eq!(done, detached, "{:?}", ends.seen());
        valid_thread(agent.store(), "t").await;
    }
}

/// An `after_agent` that never comes back.
struct Stuck(Hold);

#[middleware]
impl Middleware for Stuck {
    fn name(&self) -> &str {
        "a-stuck-one"
    }

    async fn after_agent(&self, _: &RunContext, _: &OutcomeRecord) -> Result<()> {
        self.0.here().await;
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn after_agent_has_little_time_once_a_run_is_cancelled() {
    let (hold, never) = (Hold::new(), Hold::new());
    let (agent, ends) = agent(scripted([call("slow", json!({}))]), |builder| {
        builder.tool(hold.tool("slow")).with(Stuck(never))
    });
    let handle = agent.start(Input::new("go").thread("t"));
    hold.reached().await;
    let start = Instant::now();
    cancelled(&agent, &ends, handle).await;
    assert_eq!(start.elapsed(), AFTER_CANCEL, "and the ones after it ran");
}

/// A cancellation that comes when the run is over but for its `after_agent`: it ends as it was going to, each hook runs once, and a hook
/// that does not come back is given up soon.
#[tokio::test(start_paused = true)]
async fn a_cancellation_during_after_agent_runs_nothing_twice() {
    let hold = Hold::new();
    let (agent, ends) = agent(scripted([say("done")]), |builder| builder.with(Stuck(hold.clone())));
    let handle = agent.start(Input::new("go").thread("t"));
    hold.reached().await;
    hold.release();
    let start = Instant::now();
    handle.cancel();
    assert_eq!(handle.outcome().await.unwrap().outcome, Outcome::Done);
    assert_eq!(start.elapsed(), AFTER_CANCEL);
    assert!(
        matches!(ends.seen()[..], [OutcomeRecord::Done { .. }]),
        "{:?}",
        ends.seen()
    );
}
