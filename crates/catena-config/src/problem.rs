//! What is wrong with a configuration.

use std::fmt;
use std::path::{Path, PathBuf};

/// Everything that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(Vec<Problem>);

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// Its line, from 1.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// The key's path, such as `agents.assistant.model`; empty where no key is meant.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl ConfigErrors {
    pub(crate) fn one(file: &Path, message: impl Into<String>) -> Self {
        Self(vec![Problem {
            file: file.to_owned(),
            line: None,
            column: None,
            key: String::new(),
            message: message.into(),
            help: None,
        }])
    }

    /// The problems, sorted by position.
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|problem| writeln!(f, "error: {}", problem.message))
    }
}

impl std::error::Error for ConfigErrors {}
