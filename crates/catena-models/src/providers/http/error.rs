//! Failures below HTTP, without addresses: an address may hold a key.

use std::time::Duration;

use rig_core::http_client::{self, Result};
use rig_reqwest::reqwest;

use crate::providers::TimeLimits;

/// Why a request got no answer, or its answer no end.
#[derive(Debug, thiserror::Error)]
pub(in crate::providers) enum TransportError {
    /// Nothing came in time.
    #[error("{what} within {limit:?}")]
    Timeout {
        /// What did not happen.
        what: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// The server could not be reached, or hung up before it answered.
    #[error("the server cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// The connection ended inside the answer.
    #[error("the connection ended before the answer did")]
    Cut(#[source] reqwest::Error),
    /// One event is larger than any provider sends.
    #[error("the server sent an event of more than {0} bytes")]
    TooLarge(usize),
}

impl From<TransportError> for http_client::Error {
    fn from(error: TransportError) -> Self {
        Self::instance(error)
    }
}

/// Waits for the head of an answer.
pub(super) async fn in_time<T>(limits: TimeLimits, sent: impl Future<Output = Result<T>>) -> Result<T> {
    let limit = limits.first_byte();
    match tokio::time::timeout(limit, sent).await {
        Ok(answer) => answer.map_err(|error| {
            clean(error, |error| match error.is_timeout() {
                // The client below has no other limit of its own.
                true => TransportError::Timeout {
                    what: "no connection could be opened",
                    limit: limits.connect(),
                },
                false => TransportError::Unreachable(error),
            })
        }),
        Err(_) => Err(TransportError::Timeout {
            what: "the server did not answer",
            limit,
        }
        .into()),
    }
}

/// An error of the client below, without the address it was talking to.
pub(super) fn clean(
    error: http_client::Error,
    wrap: impl FnOnce(reqwest::Error) -> TransportError,
) -> http_client::Error {
    let http_client::Error::Instance(inner) = error else {
        return error;
    };
    match inner.downcast::<reqwest::Error>() {
        Ok(error) => wrap(error.without_url()).into(),
        Err(other) => http_client::Error::Instance(other),
    }
}
