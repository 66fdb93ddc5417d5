//! The process's environment, as every command is given it.
//!
//! The reader itself is catena-config's, the only one there is; nothing else in the command looks a variable up. Tests put others in its place.

use std::ffi::OsString;

/// Turns colours and other terminal effects off when it is not empty, whatever its value.
const NO_COLOR: &str = "NO_COLOR";
/// The kind of terminal; `dumb` ones get no effects.
const TERM: &str = "TERM";

/// Looks environment variables up.
#[derive(Clone)]
pub(crate) struct Environment {
    reader: catena_config::Environment,
}

impl Environment {
    /// The environment of this process.
    pub(crate) fn of_process() -> Self {
        Self {
            reader: catena_config::environment(),
        }
    }

    /// These variables and no others.
    #[cfg(test)]
    pub(crate) fn fixed(variables: &[(&str, &str)]) -> Self {
        let owned: std::collections::BTreeMap<String, String> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Self {
            reader: std::sync::Arc::new(move |name| owned.get(name).cloned()),
        }
    }

    /// The reader, for those who look up on their own.
    pub(crate) fn reader(&self) -> &catena_config::Environment {
        &self.reader
    }

    /// A variable; one that is not UTF-8 counts as unset.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        (self.reader)(name)
    }

    /// A variable that may hold a path.
    pub(crate) fn os(&self, name: &str) -> Option<OsString> {
        self.text(name).map(OsString::from)
    }

    /// Whether a variable holds more than blanks.
    pub(crate) fn is_filled(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| !value.trim().is_empty())
    }

    /// Whether a person asked for plain output.
    pub(crate) fn wants_plain(&self) -> bool {
        self.text(NO_COLOR).is_some_and(|value| !value.is_empty())
            || self.text(TERM).is_some_and(|value| value == "dumb")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_no_color_asks_for_nothing() {
        assert!(!Environment::fixed(&[("NO_COLOR", "")]).wants_plain());
        assert!(Environment::fixed(&[("NO_COLOR", "0")]).wants_plain());
        assert!(Environment::fixed(&[("TERM", "dumb")]).wants_plain());
    }

    #[test]
    fn a_key_of_blanks_is_no_key() {
        assert!(!Environment::fixed(&[("OPENAI_API_KEY", "  ")]).is_filled("OPENAI_API_KEY"));
    }
}
