//! Runs every scenario of a directory and says what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::compare::compare;
use crate::known::Known;
use crate::load::{self, LoadError};
use crate::mismatch::Mismatch;
use crate::observed::Observed;
use crate::scenario::Scenario;

/// Plays scenarios on some agent.
pub trait Runner {
    /// Plays one scenario and records what happens. A run that fails is a record, not an error.
    ///
    /// # Errors
    /// [`RunError`] if the scenario cannot be played at all.
    fn run(&self, scenario: &Scenario) -> Result<Observed, RunError>;
}

/// Why a scenario could not be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Some middlewares, by their names in the format, cannot be built.
    #[error("no middleware {}; add it to the registry, or to known.toml while it does not exist", list(.0))]
    MissingMiddleware(BTreeSet<String>),
    /// The scenario or the agent has something that the runner cannot play or record.
    #[error("cannot be played: {0}")]
    Unplayable(String),
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().cloned().collect::<Vec<_>>().join(", ")
}

/// How a case that does not pass is judged.
#[derive(Clone, Copy, Debug)]
pub enum Judge<'a> {
    /// By the project's own list of what is missing or different. The list itself is judged too.
    Known(&'a Known),
    /// Every case has to pass: scenarios from elsewhere know no excuses.
    Strict,
}

/// What came of the scenarios of a directory. Cases are named by their path below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Cases that passed.
    pub passed: Vec<String>,
    /// Cases that failed, each with what was wrong.
    pub failed: Vec<(String, String)>,
    /// Listed missing middlewares, each with the cases that wait for it.
    pub missing: BTreeMap<String, Vec<String>>,
    /// Listed deviations that do deviate, each with its reason.
    pub deviating: Vec<(String, String)>,
    /// Entries of the list that are no longer true; they count as failures.
    pub stale: Vec<String>,
}

enum Verdict {
    Passed,
    Failed(String),
    Waiting(BTreeSet<String>),
}

impl Report {
    /// Runs every scenario below `dir`, in order of their paths.
    ///
    /// # Errors
    /// [`LoadError`] if the directory cannot be read or holds no scenario. A file that is not a scenario is a failed case.
    pub fn run(dir: &Path, runner: &dyn Runner, judge: Judge<'_>) -> Result<Self, LoadError> {
        let files = load::find(dir)?;
        if files.is_empty() {
            return Err(LoadError::Empty { path: dir.to_owned() });
        }
        let mut report = Self::default();
        let mut seen = BTreeSet::new();
        for file in files {
            let case = file.strip_prefix(dir).unwrap_or(&file).display().to_string();
            match load::scenario(&file) {
                Ok(scenario) => {
                    report.judge(case, &scenario.name, play(runner, &scenario), judge);
                    seen.insert(scenario.name);
                }
                Err(error) => report.failed.push((case, chain(&error))),
            }
        }
        if let Judge::Known(known) = judge {
            report.find_stale(known, &seen);
        }
        Ok(report)
    }

    fn judge(&mut self, case: String, name: &str, verdict: Verdict, judge: Judge<'_>) {
        let reason = match judge {
            Judge::Known(known) => known.reason(name),
            Judge::Strict => None,
        };
        match (verdict, reason) {
            (Verdict::Passed, None) => self.passed.push(case),
            (Verdict::Passed, Some(_)) => {
                self.stale
                    .push(format!("{name} is a known deviation but passes; take it off the list"));
                self.passed.push(case);
            }
            (Verdict::Failed(why), None) => self.failed.push((case, why)),
            (Verdict::Failed(_), Some(reason)) => self.deviating.push((case, reason.to_owned())),
            (Verdict::Waiting(names), _) => match judge {
                Judge::Known(known) if names.is_subset(&known.missing) => {
                    for name in names {
                        self.missing.entry(name).or_default().push(case.clone());
                    }
                }
                Judge::Known(_) | Judge::Strict => {
                    self.failed.push((case, RunError::MissingMiddleware(names).to_string()))
                }
            },
        }
    }

    fn find_stale(&mut self, known: &Known, seen: &BTreeSet<String>) {
        for name in known.missing.iter().filter(|name| !self.missing.contains_key(*name)) {
            self.stale.push(format!(
                "{name} is listed as missing but no scenario waits for it; take it off the list"
            ));
        }
        for deviation in known
            .deviations
            .iter()
            .filter(|deviation| !seen.contains(&deviation.scenario))
        {
            self.stale.push(format!(
                "{} is a known deviation but no such scenario exists",
                deviation.scenario
            ));
        }
    }

    /// How many failures there are, stale entries of the list included.
    pub fn failures(&self) -> usize {
        self.failed.len() + self.stale.len()
    }

    /// Prints every failure, what is missing and what deviates, and as the last line `N passed, N failed`.
    ///
    /// # Errors
    /// If writing fails.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        for (case, why) in &self.failed {
            writeln!(out, "FAILED {case}\n  {}", why.replace('\n', "\n  "))?;
        }
        for entry in &self.stale {
            writeln!(out, "FAILED {}: {entry}", crate::known::FILE)?;
        }
        for (name, cases) in &self.missing {
            writeln!(out, "MISSING {name}: {} scenarios: {}", cases.len(), cases.join(", "))?;
        }
        for (case, reason) in &self.deviating {
            writeln!(out, "DEVIATES {case}: {reason}")?;
        }
        writeln!(out, "{} passed, {} failed", self.passed.len(), self.failures())
    }
}

fn play(runner: &dyn Runner, scenario: &Scenario) -> Verdict {
    // One case that panics must not hide the others; a runner starts afresh for each case.
    match catch_unwind(AssertUnwindSafe(|| runner.run(scenario))) {
        Ok(Ok(observed)) => compare(&scenario.expect, &observed).map_or_else(
            |mismatch: Mismatch| Verdict::Failed(mismatch.to_string()),
            |()| Verdict::Passed,
        ),
        Ok(Err(RunError::MissingMiddleware(names))) => Verdict::Waiting(names),
        Ok(Err(error)) => Verdict::Failed(error.to_string()),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            Verdict::Failed(format!("panicked: {}", text.unwrap_or("without a message")))
        }
    }
}

/// An error with its causes, in one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
