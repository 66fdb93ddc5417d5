//! What can go wrong, as types.
//!
//! One enum for the crate; [`Error::kind`] gives a stable word that the command line, the HTTP API and tests share. Texts say this level
//! only; the cause is in [`source`](std::error::Error::source).

use serde::{Deserialize, Serialize};

use crate::checkpoint::StoreError;
use crate::id::{PauseId, ThreadId};
use crate::model::ModelError;
use crate::tool::ToolError;

/// The result of most of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a run, of building an agent, or of reading a thread.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The agent cannot be built; every problem found is listed.
    #[error("the agent cannot be built: {}", problems.join("; "))]
    Build {
        /// One sentence each.
        problems: Vec<String>,
    },
    /// An option has a value that makes no sense.
    #[error("{0}")]
    Config(String),
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A tool failed, and the run is meant to end for it.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A middleware failed whose failure ends the run.
    #[error("middleware `{middleware}` failed in {hook}")]
    Middleware {
        /// The middleware's name.
        middleware: String,
        /// The hook it failed in.
        hook: &'static str,
        /// What happened.
        #[source]
        source: Box<Error>,
    },
    /// A middleware or a tool panicked. The payload is logged, not shown.
    #[error("{0} panicked")]
    Panic(String),
    /// A middleware or a tool took longer than it may.
    #[error("{what} took longer than {limit:?}")]
    Timeout {
        /// Who took too long.
        what: String,
        /// The limit.
        limit: std::time::Duration,
    },
    /// A middleware did what its declaration rules out.
    #[error("middleware `{middleware}` is declared parallel-safe and {deed}")]
    NotParallelSafe {
        /// The middleware's name.
        middleware: String,
        /// What it did.
        deed: &'static str,
    },
    /// A middleware ended the run on purpose with this error.
    #[error("{message}")]
    Ended {
        /// A stable word, such as `tool_call_limit`.
        kind: String,
        /// What a person should know.
        message: String,
    },
    /// The thread has a run that is not finished.
    #[error("thread `{0}` has an active run; wait for it, cancel it, or ask for `enqueue`")]
    Busy(ThreadId),
    /// The thread waits for an answer.
    #[error(
        "thread `{thread}` waits for {open} answer(s); resume it, or start the run with `on_interrupt = \"cancel\"`"
    )]
    Interrupted {
        /// The thread.
        thread: ThreadId,
        /// How many answers are missing.
        open: usize,
    },
    /// There is nothing to resume.
    #[error("thread `{0}` is not waiting for an answer")]
    NotInterrupted(ThreadId),
    /// The run to resume is for somebody else.
    #[error("the run on thread `{0}` is for another principal; resume it as the one it was started for, or name none")]
    OtherPrincipal(ThreadId),
    /// There is no such thread.
    #[error("there is no thread `{0}`")]
    NoThread(ThreadId),
    /// An answer does not fit the question; the pause stays as it was.
    #[error("the answer to `{pause}` is not valid: {reason}")]
    InvalidAnswer {
        /// The question.
        pause: PauseId,
        /// What is wrong with the answer.
        reason: String,
    },
    /// Something named is not known.
    #[error("there is no {what} `{name}`{}", suggestion.as_ref().map(|s| format!("; did you mean `{s}`?")).unwrap_or_default())]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// The name asked for.
        name: String,
        /// The nearest name that exists.
        suggestion: Option<String>,
    },
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
    /// State could not be written to or read from JSON.
    #[error("state slot `{slot}` cannot be {action}")]
    State {
        /// The slot's key.
        slot: String,
        /// `read` or `written`.
        action: &'static str,
        /// What serde said.
        #[source]
        source: serde_json::Error,
    },
    /// State cannot be changed from there.
    #[error("`{by}` cannot change state slot `{slot}` here: {reason}")]
    ReadOnly {
        /// The slot's key.
        slot: String,
        /// The middleware or tool that tried.
        by: String,
        /// Why, naming the hook, and where it can be done.
        reason: &'static str,
    },
    /// An error of a middleware's or an application's own.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// A stable, snake_case word for programs.
    pub fn kind(&self) -> &str {
        match self {
            Self::Build { .. } | Self::Config(_) => "config",
            Self::Model(_) => "model_error",
            Self::Tool(_) => "tool_error",
            Self::Middleware { source, .. } => match source.kind() {
                "other" => "middleware",
                kind => kind,
            },
            Self::Panic(_) => "panic",
            Self::Timeout { .. } => "timeout",
            Self::NotParallelSafe { .. } => "not_parallel_safe",
            Self::Ended { kind, .. } => kind,
            Self::Busy(_) => "busy",
            Self::Interrupted { .. } => "interrupted",
            Self::NotInterrupted(_) => "not_interrupted",
            Self::OtherPrincipal(_) => "forbidden",
            Self::NoThread(_) => "no_thread",
            Self::InvalidAnswer { .. } => "invalid_decision",
            Self::Unknown { .. } => "unknown_name",
            Self::Cancelled => "cancelled",
            Self::Store(_) => "store",
            Self::State { .. } | Self::ReadOnly { .. } => "state",
            Self::Other(_) => "other",
        }
    }

    /// The model's error, if that is what it is, however deep.
    pub fn as_model(&self) -> Option<&ModelError> {
        match self {
            Self::Model(error) => Some(error),
            Self::Middleware { source, .. } => source.as_model(),
            _ => None,
        }
    }

    /// An error of one's own, from anything that can be shown.
    pub fn other(message: impl ToString) -> Self {
        Self::Other(message.to_string())
    }
}

/// An error as it is journalled and sent in events: words, no types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// See [`Error::kind`].
    pub kind: String,
    /// The error and its causes, from the outside in.
    pub message: String,
    /// The HTTP status, when a provider sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether the same attempt may succeed later.
    #[serde(default)]
    pub retryable: bool,
}

/// A thread that another process holds is as busy as one that this process holds.
impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy(thread) => Self::Busy(thread),
            other => Self::Store(other),
        }
    }
}

impl From<&Error> for ErrorReport {
    fn from(error: &Error) -> Self {
        let model = error.as_model();
        Self {
            kind: error.kind().to_owned(),
            message: chain_text(error),
            status: model.and_then(|m| m.status),
            retryable: model.is_some_and(ModelError::is_retryable),
        }
    }
}

impl From<ErrorReport> for Error {
    fn from(report: ErrorReport) -> Self {
        Self::Ended {
            kind: report.kind,
            message: report.message,
        }
    }
}

/// An error's text and those of its causes, joined by `: `.
pub fn chain_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_middleware_error_keeps_the_kind_of_its_cause() {
        let inner = Error::Ended {
            kind: "pii_detected".into(),
            message: "an email".into(),
        };
        let error = Error::Middleware {
            middleware: "pii".into(),
            hook: "before_agent",
            source: Box::new(inner),
        };
        assert_eq!(error.kind(), "pii_detected");
        assert_eq!(
            ErrorReport::from(&error).message,
            "middleware `pii` failed in before_agent: an email"
        );
    }

    #[test]
    fn build_errors_are_reported_together() {
        let error = Error::Build {
            problems: vec!["one".into(), "two".into()],
        };
        assert_eq!(error.to_string(), "the agent cannot be built: one; two");
    }
}
