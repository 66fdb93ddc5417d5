//! `cargo xtask test`: everything that must hold before a change goes in, and how much of it ran.
//!
//! In order: tidy, generated docs, unit and integration tests (with cargo-nextest where it is installed), doc tests, examples against their
//! committed output, conformance scenarios, the schema. A failing step does not stop the later ones. The last line is `N passed, N failed`
//! over all of them, where a check such as tidy counts as one. Fewer than `xtask/test-floor.txt` says is a failure too: tests that are no
//! longer run do not fail by themselves.

mod examples;
mod totals;

use std::process::{Command, ExitCode, Stdio};

use crate::artifacts::Artifacts;
use crate::command;
use crate::conformance;
use crate::docs;
use crate::error::{Error, Result};
use crate::generated::Mode;
use crate::schema;
use crate::tidy;
use crate::workspace::{Workspace, read_text};
use totals::Totals;

/// Where the number of tests stands that must at least run.
const FLOOR: &str = "xtask/test-floor.txt";

/// Steps and what they counted.
#[derive(Default)]
struct Report {
    steps: Vec<(&'static str, Totals)>,
}

/// Runs everything.
///
/// # Errors
/// If a program cannot be started. Failing tests are not an error but the exit code.
pub(crate) fn all(workspace: &Workspace) -> Result<ExitCode> {
    let mut report = Report::default();
    report.check("tidy", tidy::run(workspace));
    report.check("docs", docs::run(workspace, Mode::Check));
    report.runs("tests", unit_tests(workspace, &[])?);
    if has_nextest(workspace) {
        report.runs("doc tests", doc_tests(workspace, &[])?);
    }
    match Artifacts::build(workspace) {
        Ok(artifacts) => {
            report.runs("examples", examples::run(workspace, &artifacts)?);
            if conformance::exists(workspace) {
                let finished = conformance::with(workspace, &artifacts, None)?;
                let totals = totals::last_line(&finished.out);
                report.runs("conformance", totals.or_failure(finished.status.success()));
            }
            report.check("schema", schema::with(workspace, &artifacts, Mode::Check));
        }
        Err(error) => report.check("programs", Err(error)),
    }
    let floor = floor(workspace)?;
    Ok(report.finish(floor))
}

/// Runs the tests and doc tests whose name contains one of `names`, and nothing else.
///
/// # Errors
/// If a program cannot be started.
pub(crate) fn named(workspace: &Workspace, names: &[&str]) -> Result<ExitCode> {
    let mut report = Report::default();
    report.runs("tests", unit_tests(workspace, names)?);
    if has_nextest(workspace) {
        report.runs("doc tests", doc_tests(workspace, names)?);
    }
    Ok(report.finish(0))
}

/// Unit and integration tests; without nextest doc tests as well, because cargo runs them together.
fn unit_tests(workspace: &Workspace, names: &[&str]) -> Result<Totals> {
    let mut cargo = command::cargo(&workspace.root);
    if has_nextest(workspace) {
        cargo.args(["nextest", "run", "--no-tests", "pass"]);
        let finished = command::tee(with_everything(&mut cargo, names))?;
        return Ok(totals::nextest(&finished.err).or_failure(finished.status.success()));
    }
    let finished = command::tee(with_everything(cargo.arg("test"), names))?;
    Ok(totals::cargo_test(&finished.out).or_failure(finished.status.success()))
}

fn doc_tests(workspace: &Workspace, names: &[&str]) -> Result<Totals> {
    let mut cargo = command::cargo(&workspace.root);
    let finished = command::tee(with_everything(cargo.args(["test", "--doc"]), names))?;
    Ok(totals::cargo_test(&finished.out).or_failure(finished.status.success()))
}

fn with_everything<'a>(cargo: &'a mut Command, names: &[&str]) -> &'a mut Command {
    cargo.args(["--workspace", "--all-features", "--no-fail-fast"]);
    if !names.is_empty() {
        cargo.arg("--").args(names);
    }
    cargo
}

fn has_nextest(workspace: &Workspace) -> bool {
    let mut cargo = command::cargo(&workspace.root);
    cargo.args(["nextest", "--version"]);
    cargo.stdout(Stdio::null()).stderr(Stdio::null());
    cargo.status().is_ok_and(|status| status.success())
}

/// The committed number; 0 if there is no such file.
fn floor(workspace: &Workspace) -> Result<usize> {
    let path = workspace.root.join(FLOOR);
    if !path.exists() {
        return Ok(0);
    }
    let text = read_text(&path)?;
    let number = text.trim().parse();
    number.map_err(|_| Error::new(format!("{FLOOR} must hold one number, not `{}`", text.trim())))
}

impl Report {
    fn runs(&mut self, step: &'static str, totals: Totals) {
        self.steps.push((step, totals));
    }

    fn check(&mut self, step: &'static str, result: Result<()>) {
        if let Err(error) = &result {
            println!("{step} failed: {error}");
        }
        self.runs(step, Totals::one(result.is_ok()));
    }

    /// Prints the steps and the last line.
    fn finish(&self, floor: usize) -> ExitCode {
        println!();
        for (step, totals) in &self.steps {
            println!("{step:<12} {totals}");
        }
        let sum = self.steps.iter().map(|(_, totals)| *totals).sum::<Totals>();
        let ran = sum.passed + sum.failed;
        if ran < floor {
            println!(
                "only {ran} ran, {FLOOR} asks for {floor}: find what is no longer run, or lower the number in the same change and say why"
            );
        } else if ran > floor && floor > 0 {
            println!("{ran} ran, {FLOOR} asks for {floor}: raise it when tests were added");
        }
        println!("{sum}");
        if sum.failed == 0 && ran >= floor {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(totals: &[(usize, usize)]) -> Report {
        let steps = totals.iter().map(|(passed, failed)| {
            (
                "step",
                Totals {
                    passed: *passed,
                    failed: *failed,
                },
            )
        });
        Report { steps: steps.collect() }
    }

    #[test]
    fn a_run_succeeds_when_nothing_failed_and_enough_ran() {
        let code = |totals: &[(usize, usize)], floor| format!("{:?}", report(totals).finish(floor));
        let good = format!("{:?}", ExitCode::SUCCESS);
        assert_eq!(code(&[(3, 0), (1, 0)], 4), good);
        assert_eq!(code(&[], 0), good);
        assert_ne!(code(&[(3, 0), (1, 0)], 5), good);
        assert_ne!(code(&[(9, 1)], 0), good);
    }
}
