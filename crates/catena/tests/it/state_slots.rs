//! Who may change state, whose counts a handle reads, and what of a hook's work is kept.

use catena::message::{Message, ToolCall};
use catena::middleware::{before_agent_fn, gate_fn, wrap_model_fn};
use catena::prelude::*;
use catena::record::Entry;
use catena::state::Slot;
use catena::testing::{call, say, scripted};
use catena::tool::Tool;
use serde_json::json;
use std::sync::Arc;

use crate::kit::{Log, at, echo, open, text};

const SEEN: Slot<u32> = Slot::thread("test.seen");

async fn slots(agent: &Agent) -> Vec<(String, serde_json::Value)> {
    let thread = agent.thread(&"t".into()).await.unwrap();
    thread.slots().map(|(key, _, value)| (key, (*value).clone())).collect()
}

/// CORE-STATE-03: a gate cannot change state; the error names it, its hook and where to do it.
#[tokio::test]
async fn a_gate_cannot_change_state() {
    let log = Log::default();
    let gate = {
        let log = log.clone();
        gate_fn("counting", move |turn, _| {
            let error = turn.run().update(&SEEN, |seen| *seen += 1).unwrap_err();
            log.add(format!("{}: {error}", error.kind()));
            Ok(ToolDecision::Allow)
        })
    };
    let agent = Agent::builder(scripted([call("echo", text("x")), say("done")]))
        .tool(echo())
        .with(gate)
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    let told = "state: `counting` cannot change state slot `test.seen` here: `before_tool_call` only judges; \
                change state in `wrap_tool_call`";
    assert_eq!(log.take(), [told]);
    assert!(slots(&agent).await.is_empty());
}

/// CORE-STATE-04: a middleware cannot change state while it offers tools.
#[tokio::test]
async fn offering_tools_cannot_change_state() {
    struct Offers;
    #[middleware]
    impl Middleware for Offers {
        fn name(&self) -> &str {
            "offers"
        }
        async fn tools(&self, run: &RunContext) -> Result<Vec<Arc<dyn Tool>>> {
            run.update(&SEEN, |seen| *seen += 1)?;
            Ok(Vec::new())
        }
    }
    let agent = Agent::builder(scripted([say("done")])).with(Offers).build().unwrap();
    let error = agent.run(Input::new("go").thread("t")).await.unwrap_err();
    assert!(catena::chain_text(&error).contains("`tools` only offers"), "{error}");
    assert!(slots(&agent).await.is_empty());
}

/// CORE-STATE-05: what a wrap notes about an error that it passes on is kept.
#[tokio::test]
async fn a_wrap_may_note_an_error_that_it_passes_on() {
    let notes = wrap_model_fn("notes", |request, next| {
        Box::pin(async move {
            let response = next.call(request).await;
            if response.is_err() {
                next.run().update(&SEEN, |seen| *seen += 1)?;
            }
            response
        })
    });
    let agent = Agent::builder(scripted([say("lost").cut()]))
        .with(notes)
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap_err();
    assert_eq!(slots(&agent).await, [("test.seen".to_owned(), json!(1))]);
}

/// CORE-STATE-06: what a wrap changed before it panicked is taken back.
#[tokio::test]
async fn a_wrap_that_panics_leaves_no_state() {
    let panics = wrap_model_fn("panics", |_, next| {
        Box::pin(async move {
            next.run().update(&SEEN, |seen| *seen += 1)?;
            panic!("on purpose")
        })
    });
    let agent = Agent::builder(scripted([say("never")])).with(panics).build().unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap_err();
    assert!(slots(&agent).await.is_empty());
}

/// CORE-STATE-07: instances of a middleware keep their state apart.
#[tokio::test]
async fn instances_keep_their_state_apart() {
    let counter = |name: &'static str, by: u32| {
        before_agent_fn(name, move |intake| {
            intake.run().update(&SEEN.of(name), |seen| *seen += by)?;
            Ok(Flow::Continue)
        })
    };
    let agent = Agent::builder(scripted([say("done")]))
        .with(counter("a", 1))
        .with(counter("b", 2))
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    let expected = [("test.seen:a", 1), ("test.seen:b", 2)];
    assert_eq!(
        slots(&agent).await,
        expected.map(|(key, value)| (key.to_owned(), json!(value)))
    );
}

/// CORE-CTX-01: before a run is admitted, its counts are its own and not those of the thread's last run.
#[tokio::test]
async fn counts_before_admission_are_not_the_last_runs() {
    let log = Log::default();
    let reads = {
        let log = log.clone();
        before_agent_fn("reads", move |intake| {
            let (run, counts) = (intake.run(), intake.run().counts());
            log.add(format!(
                "turn {}, {} attempts, {} calls; thread {}",
                run.turn(),
                counts.run.attempts,
                run.calls().len(),
                counts.thread.attempts
            ));
            Ok(Flow::Continue)
        })
    };
    let script = [call("echo", text("x")), say("done"), say("again")];
    let agent = Agent::builder(scripted(script))
        .tool(echo())
        .with(reads)
        .build()
        .unwrap();
    for _ in 0..2 {
        agent.run(Input::new("go").thread("t")).await.unwrap();
    }
    let expected = [
        "turn 0, 0 attempts, 0 calls; thread 0",
        "turn 0, 0 attempts, 0 calls; thread 2",
    ];
    assert_eq!(log.take(), expected);
}

/// Folds the conversation up to its first message, in one hook.
struct Folds(&'static str);

impl Folds {
    fn fold(&self, turn: &mut Turn, hook: &str) -> Result<()> {
        let first = turn.run().messages()[0].clone();
        if self.0 != hook || first.text() != "go" {
            return Ok(());
        }
        turn.fold(first.id().clone(), Message::user("a summary"))
    }
}

#[middleware]
impl Middleware for Folds {
    fn name(&self) -> &str {
        "folds"
    }
    async fn after_model(&self, turn: &mut Turn, _: &mut ModelResponse) -> Result<AfterModel> {
        self.fold(turn, "after_model")?;
        Ok(AfterModel::Continue)
    }
    async fn after_tool_call(&self, turn: &mut Turn, _: &ToolCall, _: &mut ToolOutput) -> Result<()> {
        self.fold(turn, "after_tool_call")
    }
}

/// CORE-FOLD-01: a fold after a model call or a tool call is durable, and the next request starts from it.
#[tokio::test]
async fn folds_after_a_call_are_kept() {
    for hook in ["after_model", "after_tool_call"] {
        let model = scripted([call("echo", text("x")), say("done")]);
        let agent = Agent::builder(model.clone())
            .tool(echo())
            .with(Folds(hook))
            .build()
            .unwrap();
        agent.run(Input::new("go").thread("t")).await.unwrap();
        assert_eq!(model.requests()[1].messages[0].text(), "a summary", "{hook}");
        let entries = agent.store().load(&"t".into(), 0).await.unwrap();
        let folds = entries.iter().filter(|entry| matches!(***entry, Entry::Folded { .. }));
        assert_eq!(folds.count(), 1, "{hook}");
    }
}

/// CORE-WAVE-01: a parallel-safe middleware that stands alone is held to its declaration too.
#[tokio::test]
async fn a_lone_parallel_safe_middleware_is_verified() {
    struct Lone;
    #[middleware]
    impl Middleware for Lone {
        fn name(&self) -> &str {
            "lone"
        }
        fn parallel_safe(&self) -> bool {
            true
        }
        async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
            intake.run().update(&SEEN, |seen| *seen += 1)?;
            Ok(Flow::Continue)
        }
    }
    let agent = Agent::builder(scripted([say("done")])).with(Lone).build().unwrap();
    let error = agent.run(Input::new("go").thread("t")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "middleware `lone` is declared parallel-safe and changed state"
    );
    assert!(slots(&agent).await.is_empty());
    let swallowed = Agent::builder(scripted([say("done")]))
        .with(at(1, open(Lone)))
        .build()
        .unwrap();
    assert_eq!(swallowed.run("go").await.unwrap().text(), "done");
}
