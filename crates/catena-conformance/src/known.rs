//! What is known to be missing or different: `known.toml`, strict both ways.
//!
//! A scenario that needs a middleware listed as missing is not a failure, and neither is a listed deviation that fails. But an entry that is
//! no longer true is: the list can only be trusted if it shrinks by itself.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

/// The file's name, in the directory of the scenarios.
pub const FILE: &str = "known.toml";

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Known {
    /// Middlewares, by their names in the format, that cannot be built yet.
    pub missing: BTreeSet<String>,
    /// Scenarios whose expectation is deliberately not met.
    pub deviations: Vec<Deviation>,
}

/// A scenario whose expectation is deliberately not met.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// The scenario's name, such as `pii/mask_input`.
    pub scenario: String,
    /// Why catena does something else.
    pub reason: String,
}

/// A list that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnownError {
    /// The file could not be read.
    #[error("known.toml cannot be read")]
    Io(#[source] std::io::Error),
    /// The file is not what it should be.
    #[error("known.toml is not a list of known differences; its keys are missing and deviations")]
    Parse(#[source] toml::de::Error),
    /// A deviation without a reason, or one that is listed twice.
    #[error("known.toml: the deviation {0:?} needs a reason and is listed once")]
    Deviation(String),
}

impl Known {
    /// Reads the list of a directory; a directory without the file has an empty one.
    ///
    /// # Errors
    /// [`KnownError`] if the file is there and cannot be used.
    pub fn load(dir: &Path) -> Result<Self, KnownError> {
        match std::fs::read_to_string(dir.join(FILE)) {
            Ok(text) => Self::parse(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(KnownError::Io(error)),
        }
    }

    /// Reads the list from its text.
    ///
    /// # Errors
    /// [`KnownError`] if the text is not such a list.
    pub fn parse(text: &str) -> Result<Self, KnownError> {
        let known: Self = toml::from_str(text).map_err(KnownError::Parse)?;
        let mut names = BTreeSet::new();
        match known
            .deviations
            .iter()
            .find(|deviation| deviation.reason.trim().is_empty() || !names.insert(&deviation.scenario))
        {
            Some(bad) => Err(KnownError::Deviation(bad.scenario.clone())),
            None => Ok(known),
        }
    }

    /// The reason for the deviation of a scenario, if it is listed.
    pub fn reason(&self, scenario: &str) -> Option<&str> {
        self.deviations
            .iter()
            .find(|deviation| deviation.scenario == scenario)
            .map(|deviation| deviation.reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_list_of_the_project_is_readable() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance");
        assert!(Path::new(dir).join(FILE).exists());
        Known::load(dir.as_ref()).unwrap();
    }

    #[test]
    fn both_lists_are_read_and_may_be_left_out() {
        let known =
            Known::parse("missing = [\"pii\"]\n[[deviations]]\nscenario = \"a/b\"\nreason = \"because\"").unwrap();
        assert!(known.missing.contains("pii"));
        assert_eq!(known.reason("a/b"), Some("because"));
        assert_eq!(known.reason("a/c"), None);
        assert_eq!(Known::parse("").unwrap(), Known::default());
    }

    #[test]
    fn unknown_keys_repeated_entries_and_empty_reasons_are_errors() {
        let entry = "[[deviations]]\nscenario = \"a/b\"\nreason = \"because\"\n";
        assert!(Known::parse("absent = []").is_err());
        assert!(Known::parse(&entry.replace("reason", "why")).is_err());
        assert!(Known::parse(&entry.repeat(2)).is_err());
        assert!(Known::parse(&entry.replace("because", " ")).is_err());
    }

    #[test]
    fn a_directory_without_the_file_knows_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Known::load(dir.path()).unwrap(), Known::default());
    }
}
