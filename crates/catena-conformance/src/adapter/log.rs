//! What models, tools and probes see while a scenario is played, in the order in which it happens.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::observed::{Execution, ModelCall, Observed};

/// Everything noted so far. Turns and the thread are recorded by whoever plays.
#[derive(Debug, Default)]
pub(super) struct Log(Mutex<Observed>);

impl Log {
    // The guarded lists are changed by single pushes.
    fn lines(&self) -> MutexGuard<'_, Observed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn model_call(&self, call: ModelCall) {
        self.lines().model_calls.push(call);
    }

    /// How many requests to models there were.
    pub(super) fn model_calls(&self) -> usize {
        self.lines().model_calls.len()
    }

    pub(super) fn execution(&self, execution: Execution) {
        self.lines().tool_executions.push(execution);
    }

    pub(super) fn hook(&self, visit: String) {
        self.lines().hooks.push(visit);
    }

    /// Notes what makes the case fail whatever it expects.
    pub(super) fn violation(&self, what: String) {
        self.lines().violations.push(what);
    }

    /// All of it; the log is empty afterwards.
    pub(super) fn take(&self) -> Observed {
        std::mem::take(&mut *self.lines())
    }
}
