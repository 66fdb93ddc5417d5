//! The command `catena-conformance [DIR]`: which directory is run, how strictly, and the exit status.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::known::{Known, KnownError};
use crate::load::LoadError;
use crate::report::{Judge, Report, Runner, chain};

/// The environment variable that names a directory of scenarios.
pub const DIR_VARIABLE: &str = "CATENA_CONFORMANCE_DIR";

/// The project's own scenarios, seen from its root.
pub const DEFAULT_DIR: &str = "tests/conformance";

/// A directory of scenarios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scenarios {
    /// The project's own, judged by its list of known differences.
    Own(PathBuf),
    /// Those of somebody who names a directory: every case has to pass.
    Named(PathBuf),
}

/// Why no scenario was run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The scenarios could not be loaded.
    #[error("no scenario was run")]
    Load(#[from] LoadError),
    /// The list of known differences is not usable.
    #[error("no scenario was run")]
    Known(#[from] KnownError),
}

impl Scenarios {
    /// The directory to run: the argument, else the environment's, else the project's own at `own`.
    pub fn choose(argument: Option<OsString>, variable: Option<OsString>, own: &Path) -> Self {
        let named = argument.or(variable).filter(|dir| !dir.is_empty());
        named.map_or_else(|| Self::Own(own.to_owned()), |dir| Self::Named(dir.into()))
    }

    /// Runs them all.
    ///
    /// # Errors
    /// [`CommandError`] if the directory cannot be read or holds no scenario, or if its list of known differences is not usable.
    pub fn run(&self, runner: &dyn Runner) -> Result<Report, CommandError> {
        match self {
            Self::Own(dir) => Ok(Report::run(dir, runner, Judge::Known(&Known::load(dir)?))?),
            Self::Named(dir) => Ok(Report::run(dir, runner, Judge::Strict)?),
        }
    }
}

/// Runs the scenarios and prints the report, whose last line is `N passed, N failed`. Returns whether nothing failed; scenarios that
/// could not even be loaded are one failure.
///
/// # Errors
/// If writing fails.
pub fn execute(scenarios: &Scenarios, runner: &dyn Runner, out: &mut dyn Write) -> io::Result<bool> {
    match scenarios.run(runner) {
        Ok(report) => {
            report.print(out)?;
            Ok(report.failures() == 0)
        }
        Err(error) => {
            writeln!(out, "{}\n0 passed, 1 failed", chain(&error))?;
            Ok(false)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::observed::Observed;
    use crate::report::RunError;
    use crate::scenario::Scenario;

    struct WithoutPii;

    impl Runner for WithoutPii {
        fn run(&self, _: &Scenario) -> Result<Observed, RunError> {
            Err(RunError::MissingMiddleware(["pii".to_owned()].into()))
        }
    }

    fn output(scenarios: &Scenarios) -> (bool, String) {
        let mut out = Vec::new();
        let good = execute(scenarios, &WithoutPii, &mut out).unwrap();
        (good, String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_argument_comes_before_the_environment_and_that_before_the_own_directory() {
        let own = Path::new("own");
        let choose = |argument: Option<&str>, variable: Option<&str>| {
            Scenarios::choose(argument.map(Into::into), variable.map(Into::into), own)
        };
        assert_eq!(choose(Some("a"), Some("b")), Scenarios::Named("a".into()));
        assert_eq!(choose(None, Some("b")), Scenarios::Named("b".into()));
        assert_eq!(choose(None, None), Scenarios::Own("own".into()));
        assert_eq!(choose(None, Some("")), Scenarios::Own("own".into()));
    }

    #[test]
    fn a_missing_middleware_is_excused_in_the_own_directory_only() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join("x.json"),
            r#"{"name": "a/x", "models": {}, "turns": [{"user": "go"}], "expect": {}}"#,
        )
        .unwrap();
        std::fs::write(dir.path().join("known.toml"), "missing = [\"pii\"]").unwrap();
        let (good, text) = output(&Scenarios::Own(dir.path().into()));
        assert!(good && text.ends_with("\n0 passed, 0 failed\n"), "{text}");
        let (good, text) = output(&Scenarios::Named(dir.path().into()));
        assert!(!good && text.ends_with("\n0 passed, 1 failed\n"), "{text}");
    }

    #[test]
    fn a_directory_that_cannot_be_used_is_one_failure() {
        let (good, text) = output(&Scenarios::Named("no/such/dir".into()));
        assert!(
            !good && text.contains("no/such/dir") && text.ends_with("\n0 passed, 1 failed\n"),
            "{text}"
        );
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("known.toml"), "excuses = []").unwrap();
        let (good, text) = output(&Scenarios::Own(dir.path().into()));
        assert!(
            !good && text.contains("known.toml") && text.ends_with("\n0 passed, 1 failed\n"),
            "{text}"
        );
    }
}
