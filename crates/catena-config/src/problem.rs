//! What is wrong with a configuration, as it is shown.

mod excerpt;

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::secret::masked;
use crate::source::Source;
use excerpt::Excerpt;

/// Everything that is wrong with a configuration, sorted by position. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ConfigErrors(Vec<Problem>);

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The file, as it was named; empty if the configuration came from no file.
    pub file: PathBuf,
    /// Its line, from 1; absent where the file as a whole is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The key's path, such as `agents.assistant.middleware[1].use`; empty where no key is meant.
    pub key: String,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    #[serde(skip)]
    excerpt: Option<Excerpt>,
}

impl Problem {
    /// A problem of the file as a whole, or of no file.
    pub(crate) fn of_file(file: &Path, message: impl AsRef<str>) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            column: None,
            key: String::new(),
            message: masked(message.as_ref()).into_owned(),
            help: None,
            excerpt: None,
        }
    }

    /// A problem at a place of the file, where it is known.
    pub(crate) fn at(source: &Source, span: Option<&Range<usize>>, key: &str, message: impl AsRef<str>) -> Self {
        let place = span.map(|span| source.place(span.start));
        Self {
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            key: masked(key).into_owned(),
            excerpt: span.map(|span| Excerpt::new(source, span)),
            ..Self::of_file(source.path(), message)
        }
    }

    /// With what to do about it.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into().map(|help| masked(&help).into_owned());
        self
    }

    fn by_position(&self, other: &Self) -> Ordering {
        let position = |problem: &Self| (problem.line, problem.column);
        position(self).cmp(&position(other))
    }
}

impl ConfigErrors {
    /// More are not read, and arbitrary data could have any number of them.
    const MOST: usize = 100;

    /// Nothing, if there is no problem.
    pub(crate) fn check(mut problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() {
            return Ok(());
        }
        problems.sort_by(Problem::by_position);
        problems.dedup();
        problems.truncate(Self::MOST);
        Err(Self(problems))
    }

    /// The problems, sorted by position; at least one, at most 100.
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

impl From<Problem> for ConfigErrors {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        let margin = self.excerpt.as_ref().map_or(1, Excerpt::margin);
        if !self.file.as_os_str().is_empty() {
            write!(f, "\n{:margin$}--> {}", "", self.file.display())?;
            if let (Some(line), Some(column)) = (self.line, self.column) {
                write!(f, ":{line}:{column}")?;
            }
        }
        if let Some(excerpt) = &self.excerpt {
            write!(f, "\n{excerpt}")?;
        }
        if !self.key.is_empty() {
            write!(f, "\n{:margin$} = key: {}", "", self.key)?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n{:margin$} = help: {help}", "")?;
        }
        Ok(())
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
