//! What a task says when it cannot go on.

use std::fmt::{self, Display};

/// A message for the person who ran the task. Nothing handles these, so there is no kind to match on.
#[derive(Debug)]
pub(crate) struct Error {
    message: String,
}

/// A result whose error is a message.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error that says `message`.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }

    /// One error out of a list of problems: none is `Ok`. All are shown, so that one run is enough to repair them.
    pub(crate) fn unless_empty(what: &str, problems: &[String]) -> Result<()> {
        if problems.is_empty() {
            return Ok(());
        }
        let count = problems.len();
        Err(Self::new(format!(
            "{what}: {count} to repair\n  {}",
            problems.join("\n  ")
        )))
    }
}

impl Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Says what was being done when something else failed.
pub(crate) trait Doing<T> {
    /// The failure, after the words of `doing` and a colon.
    fn doing(self, doing: impl Display) -> Result<T>;
}

impl<T, E: Display> Doing<T> for std::result::Result<T, E> {
    fn doing(self, doing: impl Display) -> Result<T> {
        self.map_err(|cause| Error::new(format!("{doing}: {cause}")))
    }
}
