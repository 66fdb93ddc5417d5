//! Errors of model calls, typed so that retries, fallbacks and compaction can decide by them.

use std::time::Duration;

/// A model call that failed.
#[derive(Debug, thiserror::Error)]
#[error("{}{message}", status.map(|s| format!("HTTP {s}: ")).unwrap_or_default())]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: ModelErrorKind,
    /// What the provider said, without secrets.
    pub message: String,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The cause below, when there is one.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What kind of failure a [`ModelError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// Too many requests.
    RateLimited,
    /// The provider is overloaded or failed inside.
    Overloaded,
    /// The request does not fit the model's window.
    ContextOverflow,
    /// The key is missing, wrong or not allowed to do this.
    Auth,
    /// The provider does not accept the request as it is.
    InvalidRequest,
    /// The provider refuses to answer this.
    Refused,
    /// The provider could not be reached.
    Network,
    /// The stream was cut before its end.
    Truncated,
    /// The call took longer than it may.
    Timeout,
    /// The model answered nothing at all.
    Empty,
    /// What came back cannot be understood.
    Malformed,
    /// The call was cancelled.
    Cancelled,
    /// Anything else.
    Other,
}

impl ModelError {
    /// An error of this kind.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
            source: None,
        }
    }

    /// An error that came with an HTTP status; the kind follows from status and text.
    pub fn from_status(status: u16, message: impl Into<String>) -> Self {
        let message = message.into();
        let kind = ModelErrorKind::classify(status, &message);
        Self {
            status: Some(status),
            ..Self::new(kind, message)
        }
    }

    /// With the wait that the provider asks for.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// Whether the same call may succeed later without a change.
    pub fn is_retryable(&self) -> bool {
        use ModelErrorKind::{Empty, Malformed, Network, Overloaded, RateLimited, Timeout, Truncated};
        matches!(
            self.kind,
            RateLimited | Overloaded | Network | Truncated | Timeout | Empty | Malformed
        )
    }
}

impl ModelErrorKind {
    /// What a provider's status and text mean.
    ///
    /// Providers have no common code for a request that is too long, so the text is searched for the phrases they use.
    pub fn classify(status: u16, message: &str) -> Self {
        let lower = message.to_lowercase();
        match status {
            400 | 413 | 422 if says_too_long(&lower) => Self::ContextOverflow,
            413 => Self::ContextOverflow,
            401..=403 => Self::Auth,
            408 | 504 => Self::Timeout,
            429 if says_too_long(&lower) && lower.contains("context") => Self::ContextOverflow,
            429 => Self::RateLimited,
            400..=499 => Self::InvalidRequest,
            500..=599 => Self::Overloaded,
            _ => Self::Other,
        }
    }
}

fn says_too_long(lower: &str) -> bool {
    const PHRASES: &[&str] = &[
        "context length",
        "context_length",
        "context window",
        "context size",
        "maximum context",
        "prompt is too long",
        "input is too long",
        "too many tokens",
        "exceeds the maximum number of tokens",
        "exceeds the available context",
        "input token count",
        "range of input length",
    ];
    PHRASES.iter().any(|phrase| lower.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_long_requests_are_told_from_bad_ones() {
        let overflow = [
            (
                400,
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            ),
            (400, "prompt is too long: 210000 tokens > 200000 maximum"),
            (
                400,
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            ),
            (400, "the request exceeds the available context size, try increasing it"),
            (413, "request too large"),
        ];
        for (status, text) in overflow {
            assert_eq!(
                ModelErrorKind::classify(status, text),
                ModelErrorKind::ContextOverflow,
                "{text}"
            );
        }
        assert_eq!(
            ModelErrorKind::classify(400, "unknown parameter"),
            ModelErrorKind::InvalidRequest
        );
    }

    #[test]
    fn what_may_pass_by_itself_is_retryable() {
        for (status, retryable) in [
            (429, true),
            (500, true),
            (529, true),
            (503, true),
            (401, false),
            (400, false),
            (404, false),
        ] {
            assert_eq!(
                ModelError::from_status(status, "x").is_retryable(),
                retryable,
                "{status}"
            );
        }
    }
}
