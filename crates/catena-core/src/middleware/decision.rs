//! What hooks decide. The loop handles every case, so these enums are exhaustive on purpose.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorReport};
use crate::interrupt::InterruptRequest;
use crate::message::ToolCall;
use crate::record::EndReason;
use crate::tool::ToolOutput;

/// What `before_agent` and `before_model` decide.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Flow {
    /// Go on.
    Continue,
    /// End the run; later middlewares of this hook are not asked.
    Stop(Ending),
}

/// What `after_model` decides.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum AfterModel {
    /// Go on.
    Continue,
    /// Record the answer, answer its calls with "not run", and start over at `before_model`.
    AskAgain,
    /// Record the answer and end the run; later middlewares of this hook are not asked.
    Stop(Ending),
}

/// What a gate decides about one call. By severity: `AbortLoop`, `Block`, `Interrupt`, `Allow`.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum ToolDecision {
    /// It may run.
    Allow,
    /// It does not run; this is its result. A string makes an error result.
    Block(ToolOutput),
    /// It runs with this input instead, if all gates agree. The id stays.
    Replace(ToolCall),
    /// No call of this message runs, and the run ends.
    AbortLoop(Ending),
    /// A person decides.
    Interrupt(InterruptRequest),
}

impl ToolDecision {
    /// It does not run; the model is told why.
    pub fn block(why: impl Into<String>) -> Self {
        Self::Block(ToolOutput::error(why))
    }
}

/// How a run is ended on purpose. Every open call is answered first, and `after_agent` runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// Gracefully, with an error, or because it was cancelled.
    pub outcome: EndingOutcome,
    /// Why, as a stable word and a sentence.
    pub reason: EndReason,
    /// The last word.
    pub say: Say,
}

/// How an [`Ending`] ends the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndingOutcome {
    /// The run ends as `Stopped`.
    Stopped,
    /// The run ends as `Failed`.
    Failed(ErrorReport),
    /// The run ends as `Cancelled`: somebody outside of it wanted it to end.
    Cancelled,
}

/// The last word of a run that is ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Say {
    /// None.
    #[default]
    Nothing,
    /// This text, as the agent's message.
    Text(String),
    /// One answer of the model, without tools.
    Model,
}

impl Ending {
    /// Ends the run gracefully. `kind` is a stable word such as `model_call_limit`.
    pub fn stopped(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            outcome: EndingOutcome::Stopped,
            reason: EndReason {
                kind: kind.into(),
                message: message.into(),
            },
            say: Say::Nothing,
        }
    }

    /// Ends the run with an error.
    pub fn failed(kind: impl Into<String>, message: impl Into<String>) -> Self {
        let (kind, message) = (kind.into(), message.into());
        Self::of_error(&Error::Ended { kind, message })
    }

    pub(crate) fn cancelled() -> Self {
        Self {
            outcome: EndingOutcome::Cancelled,
            ..Self::stopped("cancelled", "the run was cancelled")
        }
    }

    pub(crate) fn of_error(error: &Error) -> Self {
        let report = ErrorReport::from(error);
        Self {
            reason: EndReason {
                kind: report.kind.clone(),
                message: report.message.clone(),
            },
            outcome: EndingOutcome::Failed(report),
            say: Say::Nothing,
        }
    }

    /// With these words as the agent's last message.
    #[must_use]
    pub fn say(mut self, text: impl Into<String>) -> Self {
        self.say = Say::Text(text.into());
        self
    }

    /// With one last answer of the model, without tools.
    #[must_use]
    pub fn let_model_answer(mut self) -> Self {
        self.say = Say::Model;
        self
    }
}

/// What happens when a hook of a middleware fails: by an error, a panic, or a spent budget. Its changes are dropped in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// For what must not be skipped: the run fails, the call is blocked, the result is withheld.
    Close,
    /// For what can be missed: the run goes on, with an event.
    Open,
}
