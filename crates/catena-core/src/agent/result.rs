//! How a run came out.

use std::sync::Arc;

use serde_json::Value;

use crate::context::RunContext;
use crate::id::{RunId, ThreadId};
use crate::interrupt::Pause;
use crate::message::{Message, Role};
use crate::record::{EndReason, Totals};

/// How a run ended, or where it paused. A failure is an [`Error`](crate::Error) instead.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The model said its last word.
    Done,
    /// It waits for answers; resume the thread with them.
    Interrupted(Vec<Pause>),
    /// It was ended on purpose, gracefully.
    Stopped {
        /// By which middleware, or by `catena`.
        by: String,
        /// Why.
        reason: EndReason,
    },
    /// It was cancelled.
    Cancelled,
}

/// What a run leaves its caller with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunResult {
    /// The run.
    pub run: RunId,
    /// Its thread.
    pub thread: ThreadId,
    /// How it came out.
    pub outcome: Outcome,
    /// The messages that this run added to the thread.
    pub messages: Vec<Arc<Message>>,
    /// The object that was asked for.
    pub structured: Option<Value>,
    /// What the run did and cost.
    pub totals: Arc<Totals>,
}

impl RunResult {
    pub(crate) fn new(run: &RunContext, outcome: Outcome) -> Self {
        let thread = run.shared.thread();
        let record = thread.run();
        Self {
            run: run.run_id().clone(),
            thread: run.thread_id().clone(),
            outcome,
            messages: record
                .and_then(|record| thread.messages().get(record.first_message..))
                .unwrap_or_default()
                .to_vec(),
            structured: record.and_then(|record| record.structured.clone()),
            totals: record.map(|record| record.totals().clone()).unwrap_or_default(),
        }
    }

    /// The last thing the agent said in words; empty if it said nothing.
    pub fn text(&self) -> String {
        let said = self
            .messages
            .iter()
            .rev()
            .filter(|m| m.role() == Role::Assistant)
            .map(|m| m.text());
        said.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// How often a tool ran.
    pub fn executed(&self, tool: &str) -> u32 {
        self.totals.executed(tool)
    }

    /// The open questions, if it is paused.
    pub fn pauses(&self) -> &[Pause] {
        match &self.outcome {
            Outcome::Interrupted(pauses) => pauses,
            _ => &[],
        }
    }
}
