//! What was done so far. The loop counts, limits read: a limit that kept counters of its own would forget them when a run is resumed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{CallId, RunId};
use crate::model::Usage;

/// Totals at three scopes.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// This run, without its children.
    pub run: Arc<Totals>,
    /// All runs of the thread.
    pub thread: Arc<Totals>,
    /// The run tree: the outermost run and all its children, however deep. When a run is resumed, it begins with what the record knows:
    /// what the run did itself, and what children did that stopped while it was under way. A child that is resumed by itself, without
    /// its parent, begins a tree of its own.
    pub tree: Arc<Totals>,
}

/// Sums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Model messages recorded.
    pub turns: u32,
    /// Model calls made for them, retries and corrections included.
    pub attempts: u32,
    /// Tool calls that ran, by name. Refused calls count nowhere; a retried call counts once.
    pub executed: BTreeMap<String, u32>,
    /// Tokens of all attempts.
    pub usage: Usage,
    /// Model calls of middlewares, by name.
    pub internal: BTreeMap<String, Internal>,
}

/// A middleware's own model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Internal {
    /// How many.
    pub calls: u32,
    /// Their tokens.
    pub usage: Usage,
}

impl Totals {
    /// How often a tool ran.
    pub fn executed(&self, tool: &str) -> u32 {
        self.executed.get(tool).copied().unwrap_or(0)
    }

    /// How often any tool ran.
    pub fn executed_total(&self) -> u32 {
        self.executed.values().sum()
    }

    /// Adds what another run did.
    pub(crate) fn add(&mut self, other: &Self) {
        self.turns += other.turns;
        self.attempts += other.attempts;
        self.usage += other.usage;
        for (tool, count) in &other.executed {
            *self.executed.entry(tool.clone()).or_default() += count;
        }
        for (by, other) in &other.internal {
            let internal = self.internal.entry(by.clone()).or_default();
            internal.calls += other.calls;
            internal.usage += other.usage;
        }
    }

    pub(crate) fn add_model(&mut self, attempts: u32, usage: Usage) {
        self.turns += 1;
        self.attempts += attempts;
        self.usage += usage;
    }

    pub(crate) fn add_failed(&mut self, attempts: u32, usage: Usage) {
        self.attempts += attempts;
        self.usage += usage;
    }

    pub(crate) fn add_call(&mut self, tool: &str) {
        match self.executed.get_mut(tool) {
            Some(count) => *count += 1,
            None => {
                self.executed.insert(tool.to_owned(), 1);
            }
        }
    }

    pub(crate) fn add_internal(&mut self, by: &str, usage: Usage) {
        let internal = self.internal.entry(by.to_owned()).or_default();
        internal.calls += 1;
        internal.usage += usage;
    }
}

/// A call that has its result.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRecord {
    /// The call.
    pub id: CallId,
    /// The run it was made in.
    pub run: RunId,
    /// The model turn, from 1.
    pub turn: u32,
    /// The tool.
    pub tool: String,
    /// The input it ran with.
    pub input: Value,
    /// SHA-256 of its output before any middleware changed it, in hex; absent when it did not run.
    pub digest: Option<String>,
    /// How it ended.
    pub status: CallStatus,
}

/// How a call came to its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallStatus {
    /// It ran and succeeded.
    Ok,
    /// It ran and failed.
    Error,
    /// It had started when the process died; what it did is not known.
    Unknown,
    /// A gate refused it.
    Blocked,
    /// A person refused it.
    Rejected,
    /// A person answered in the tool's place.
    Responded,
    /// There is no such tool on offer, or the input does not fit.
    Invalid,
    /// The run went another way.
    NotRun,
}

impl CallStatus {
    /// Whether the tool ran.
    pub fn executed(self) -> bool {
        matches!(self, Self::Ok | Self::Error | Self::Unknown)
    }
}
