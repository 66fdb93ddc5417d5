//! What a call ends with.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::interrupt::InterruptRequest;
use crate::message::{Part, ToolStatus};
use crate::shared::Shared;

/// What a tool did: it answered, or it asks a person first.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// The result.
    Output(ToolOutput),
    /// The call pauses. It is made again with the answer in [`ToolContext::answer`](super::ToolContext::answer); its siblings finish first.
    Interrupt(InterruptRequest),
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// What the model reads.
    pub parts: Shared<Vec<Part>>,
    /// Whether the call did what the tool is for.
    #[serde(default)]
    pub status: ToolStatus,
    /// What programs read and the model does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Shared<Value>>,
}

impl ToolOutput {
    /// A result of words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::parts(vec![Part::text(text)])
    }

    /// A result that says what went wrong.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Error,
            ..Self::text(text)
        }
    }

    /// A result of several parts.
    pub fn parts(parts: Vec<Part>) -> Self {
        Self {
            parts: parts.into(),
            ..Self::default()
        }
    }

    /// With something for programs beside it.
    #[must_use]
    pub fn with_artifact(mut self, artifact: Value) -> Self {
        self.artifact = Some(artifact.into());
        self
    }

    /// The text parts, joined.
    pub fn to_text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// Whether it says what went wrong.
    pub fn is_error(&self) -> bool {
        self.status == ToolStatus::Error
    }
}

/// A string makes an error result: that is what a gate that blocks wants to say.
impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::error(text)
    }
}

/// A string makes an error result: that is what a gate that blocks wants to say.
impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::error(text)
    }
}

impl From<ToolOutput> for ToolOutcome {
    fn from(output: ToolOutput) -> Self {
        Self::Output(output)
    }
}

/// A call that failed.
///
/// It becomes a result with `status: error`; no stack trace, no cause chain of the host reaches the model.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What the model is told.
    pub message: String,
    /// A word that retries can filter on.
    pub kind: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// The cause, for logs.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ToolError {
    /// A failure with words for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind: "error".into(),
            retryable: true,
            source: None,
        }
    }

    /// With a word that retries can filter on.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = kind.into();
        self
    }

    /// Repeating the call would not help.
    #[must_use]
    pub fn permanent(mut self) -> Self {
        self.retryable = false;
        self
    }

    /// With its cause, which only logs show.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<std::io::Error> for ToolError {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string()).kind("io").with_source(error)
    }
}

impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string()).kind("json").with_source(error)
    }
}
