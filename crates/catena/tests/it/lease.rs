//! One active run per thread: within a process, and across those that share a database.

mod left;
mod lost;
mod queue;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use catena::agent::Limits;
use catena::checkpoint::Checkpointer;
use catena::message::Role;
use catena::prelude::*;
use catena::record::OutcomeRecord;
use catena::state::Slot;
use catena::testing::{call, say};
use serde_json::json;

use crate::support::{Hold, answering, sqlite};

/// Short, so that a wish to cancel is soon seen by another process; a lease is renewed three times as often.
const LEASE: Duration = Duration::from_millis(300);
const WHO: Slot<String> = Slot::thread("test.who");

/// What happened, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// Notes runs as they begin and end, and can be held at the end.
struct Diary {
    log: Log,
    at_end: Option<Hold>,
}

#[middleware]
impl Middleware for Diary {
    fn name(&self) -> &str {
        "diary"
    }

    async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
        let text = intake.text();
        intake.run().update(&WHO, |who| who.clone_from(&text))?;
        self.log.lock().unwrap().push(format!("begin {text}"));
        Ok(Flow::Continue)
    }

    async fn after_agent(&self, run: &RunContext, outcome: &OutcomeRecord) -> Result<()> {
        let who = run.get(&WHO)?;
        if let (Some(hold), OutcomeRecord::Cancelled) = (&self.at_end, outcome) {
            self.log.lock().unwrap().push(format!("cleaning up {who}"));
            hold.here().await;
        }
        self.log.lock().unwrap().push(format!("end {who}"));
        Ok(())
    }
}

/// An agent that calls `slow` for every input and then says "done"; `slow` is held.
fn agent(store: impl Checkpointer, hold: &Hold, log: &Log, at_end: Option<Hold>) -> Agent {
    let model = answering(|request| match request.messages.last().unwrap().role() {
        Role::User => call("slow", json!({})),
        _ => say("done"),
    });
    let limits = Limits {
        lease: LEASE,
        ..Limits::default()
    };
    let log = log.clone();
    Agent::builder(model)
        .tool(hold.tool("slow"))
        .with(Diary { log, at_end })
        .limits(limits)
        .store(store)
        .build()
        .unwrap()
}

/// Two agents with a store each, on one database.
async fn two(dir: &Path, hold: &Hold, log: &Log) -> (Agent, Agent) {
    let first = agent(sqlite(dir).await, hold, log, None);
    let second = agent(sqlite(dir).await, hold, log, None);
    (first, second)
}

fn logged(log: &Log) -> Vec<String> {
    log.lock().unwrap().clone()
}
