//! Pauses and their answers.

mod answers;
mod edits;
mod inputs;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use catena::checkpoint::{Checkpointer, MemoryCheckpointer};
use catena::interrupt::{Decision, InterruptRequest, Pause};
use catena::middleware::gate_fn;
use catena::prelude::*;
use catena::testing::{Reply, say};
use catena::tool::{FnTool, json_tool};
use serde_json::json;

use crate::support::{Ends, by_turn, counting, spec};

/// An agent whose model first makes these calls (tool, `x`; the id is `x`), and then says "done".
///
/// `send` and `wipe` need an approval, `free` does not, `ask` asks by itself.
struct Desk {
    agent: Agent,
    store: Arc<dyn Checkpointer>,
    sent: Arc<AtomicUsize>,
    wiped: Arc<AtomicUsize>,
    freed: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
    models: Arc<AtomicUsize>,
    ends: Ends,
}

impl Desk {
    fn new<const N: usize>(calls: [(&'static str, &'static str); N]) -> Self {
        let (models, ends) = (Arc::new(AtomicUsize::new(0)), Ends::default());
        let asked_model = models.clone();
        let model = by_turn(move |turn| {
            asked_model.fetch_add(1, Ordering::SeqCst);
            match turn {
                0 => calls.iter().fold(Reply::nothing(), |reply, (tool, x)| {
                    reply.and_call_id(*x, *tool, json!({"x": x}))
                }),
                _ => say("done"),
            }
        });
        let approval = gate_fn("approval", |_, call| {
            Ok(match call.name.as_str() {
                "send" | "wipe" => ToolDecision::Interrupt(InterruptRequest::approval(format!("{}?", call.name))),
                _ => ToolDecision::Allow,
            })
        });
        let ((send, sent), (wipe, wiped), (free, freed)) = (counting("send"), counting("wipe"), counting("free"));
        let (ask, asked) = asker();
        let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
        let agent = Agent::builder(model)
            .tool(send)
            .tool(wipe)
            .tool(free)
            .tool(ask)
            .with(approval)
            .with(ends.clone())
            .store(store.clone())
            .build()
            .unwrap();
        Self {
            agent,
            store,
            sent,
            wiped,
            freed,
            asked,
            models,
            ends,
        }
    }

    async fn paused<const N: usize>(calls: [(&'static str, &'static str); N]) -> (Self, Vec<Pause>) {
        let desk = Self::new(calls);
        let result = desk.agent.run(Input::new("go").thread("t")).await.unwrap();
        let pauses = result.pauses().to_vec();
        assert!(!pauses.is_empty());
        (desk, pauses)
    }

    async fn answer(&self, pause: &Pause, decision: Decision) -> Result<catena::RunResult> {
        self.agent
            .run(Resume::thread("t").answer(pause.id.clone(), decision))
            .await
    }

    /// Answers wrongly: the error is typed, and nothing else happens.
    async fn refused(&self, resume: Resume) -> String {
        let before = self.store.load(&"t".into(), 0).await.unwrap();
        let counts = self.counts();
        let error = self.agent.run(resume).await.unwrap_err();
        assert!(matches!(error, Error::InvalidAnswer { .. }), "{error:?}");
        assert_eq!(error.kind(), "invalid_decision");
        assert_eq!(self.store.load(&"t".into(), 0).await.unwrap(), before, "{error}");
        assert_eq!(self.counts(), counts, "{error}");
        error.to_string()
    }

    /// Tools that ran, and model calls.
    fn counts(&self) -> [usize; 5] {
        [&self.sent, &self.wiped, &self.freed, &self.asked, &self.models].map(|count| count.load(Ordering::SeqCst))
    }

    async fn results(&self) -> Vec<(String, String)> {
        let thread = crate::support::valid_thread(&self.store, "t").await;
        let results = thread.view();
        results
            .iter()
            .filter_map(|m| Some((m.as_tool()?.call.to_string(), m.text())))
            .collect()
    }
}

/// A tool that asks which colour, twice if it is told to: the first time it is started, and again after the answer "again".
fn asker() -> (FnTool, Arc<AtomicUsize>) {
    let done = Arc::new(AtomicUsize::new(0));
    let counted = done.clone();
    let tool = json_tool(spec("ask"), move |_, context: ToolContext| {
        let done = counted.clone();
        async move {
            let schema = json!({"type": "string"});
            match context.answer() {
                None => ToolOutcome::Interrupt(InterruptRequest::question("which?").answer_schema(schema)),
                Some(Decision::Respond { value }) if value == "again" => {
                    ToolOutcome::Interrupt(InterruptRequest::question("really?"))
                }
                Some(answer) => {
                    done.fetch_add(1, Ordering::SeqCst);
                    ToolOutput::text(serde_json::to_string(answer).unwrap()).into()
                }
            }
        }
    });
    (tool, done)
}

fn respond(text: &str) -> Decision {
    Decision::Respond { value: json!(text) }
}

fn edit(name: Option<&str>, input: serde_json::Value) -> Decision {
    let name = name.map(str::to_owned);
    Decision::Edit { name, input }
}

fn reject(message: &str) -> Decision {
    let message = Some(message.to_owned());
    Decision::Reject { message }
}

/// Each run begins and ends once, however often it pauses, and a pause is not an end.
#[tokio::test]
async fn a_run_that_pauses_begins_and_ends_once() {
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = begun.clone();
    let before = catena::middleware::before_agent_fn("begins", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(Flow::Continue)
    });
    let ends = Ends::default();
    let model = by_turn(|turn| match turn {
        0 => Reply::nothing().and_call_id("q", "ask", json!({})),
        1 => Reply::nothing().and_call_id("r", "ask", json!({})),
        _ => say("done"),
    });
    let agent = Agent::builder(model)
        .tool(asker().0)
        .with(before)
        .with(ends.clone())
        .build()
        .unwrap();
    let mut result = agent.run(Input::new("go").thread("t")).await.unwrap();
    for _ in 0..2 {
        assert_eq!(
            (result.pauses().len(), ends.seen().len(), begun.load(Ordering::SeqCst)),
            (1, 0, 1)
        );
        let id = result.pauses()[0].id.clone();
        result = agent
            .run(Resume::thread("t").answer(id, respond("blue")))
            .await
            .unwrap();
    }
    assert_eq!(result.outcome, Outcome::Done);
    assert_eq!((ends.seen().len(), begun.load(Ordering::SeqCst)), (1, 1));
}
