//! What a tool is given beside its input.

use crate::context::RunContext;
use crate::event::EventKind;
use crate::id::CallId;
use crate::interrupt::Decision;

/// The call's handle on its run.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub(crate) run: RunContext,
    pub(crate) call: CallId,
    pub(crate) answer: Option<Decision>,
}

impl ToolContext {
    /// The run.
    pub fn run(&self) -> &RunContext {
        &self.run
    }

    /// The call's id.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// What a person answered to this call's [interrupt](super::ToolOutcome::Interrupt); `None` on the first attempt.
    pub fn answer(&self) -> Option<&Decision> {
        self.answer.as_ref()
    }

    /// Says how far the work is; `fraction` goes from 0 to 1.
    pub fn progress(&self, message: impl Into<String>, fraction: Option<f64>) {
        let fraction = fraction.map(|f| f.clamp(0.0, 1.0));
        self.run.emit_kind(EventKind::ToolProgress {
            call: self.call.clone(),
            message: message.into(),
            fraction,
        });
    }

    /// Completes when the run is cancelled; the call's future is dropped soon after.
    pub async fn cancelled(&self) {
        self.run.cancelled().await;
    }
}
