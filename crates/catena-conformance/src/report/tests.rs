//! Judging whole directories, with runners that do as they are told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use super::*;
use crate::observed::{Outcome, TurnRecord};

/// Passes, fails, panics or misses middlewares, as the scenario's system prompt says.
struct Obedient;

impl Runner for Obedient {
    fn run(&self, scenario: &Scenario) -> Result<Observed, RunError> {
        let outcome = match scenario.system_prompt.as_deref() {
            Some("fail") => Outcome::Error,
            Some("panic") => panic!("as told"),
            Some("unplayable") => return Err(RunError::Unplayable("as told".into())),
            Some(names) if names.starts_with("miss ") => {
                return Err(RunError::MissingMiddleware(
                    names.split(' ').skip(1).map(str::to_owned).collect(),
                ));
            }
            _ => Outcome::Done,
        };
        Ok(Observed {
            turns: vec![TurnRecord {
                outcome,
                ..TurnRecord::default()
            }],
            ..Observed::default()
        })
    }
}

fn run(cases: &[(&str, &str)], judge: Judge<'_>) -> Report {
    let dir = tempfile::tempdir().unwrap();
    for (name, order) in cases {
        let scenario = json!({
            "name": name, "system_prompt": order, "models": {}, "turns": [{"user": "go"}], "expect": {"outcome": "done"}
        });
        let path = dir.path().join(name).with_extension("json");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, scenario.to_string()).unwrap();
    }
    Report::run(dir.path(), &Obedient, judge).unwrap()
}

fn known(text: &str) -> Known {
    Known::parse(text).unwrap()
}

fn printed(report: &Report) -> String {
    let mut out = Vec::new();
    report.print(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn all_cases_run_even_if_some_fail_or_panic() {
    let report = run(
        &[
            ("a/1", "fail"),
            ("a/2", "panic"),
            ("a/3", "unplayable"),
            ("a/4", "pass"),
        ],
        Judge::Strict,
    );
    assert_eq!(report.passed, ["a/4.json"]);
    let reasons: Vec<_> = report
        .failed
        .iter()
        .map(|(_, why)| why.lines().next().unwrap())
        .collect();
    assert_eq!(
        reasons,
        ["expect.outcome", "panicked: as told", "cannot be played: as told"]
    );
}

#[test]
fn the_report_shows_the_first_mismatch_and_ends_with_the_totals() {
    let report = run(&[("a/1", "fail"), ("b/2", "pass")], Judge::Strict);
    assert_eq!(
        printed(&report),
        "FAILED a/1.json\n  expect.outcome\n    wanted done\n    got    error\n1 passed, 1 failed\n"
    );
}

#[test]
fn a_file_that_is_no_scenario_is_a_failed_case() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x.json"), "{\"nam\": 1}").unwrap();
    let report = Report::run(dir.path(), &Obedient, Judge::Strict).unwrap();
    assert!(report.failed[0].1.contains("`nam`: unknown key"), "{:?}", report.failed);
}

#[test]
fn a_directory_without_scenarios_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(
        Report::run(dir.path(), &Obedient, Judge::Strict),
        Err(LoadError::Empty { .. })
    ));
}

#[test]
fn a_scenario_that_waits_for_a_listed_middleware_is_not_a_failure() {
    let known = known("missing = [\"pii\", \"skills\"]");
    let report = run(
        &[("a/1", "miss pii"), ("a/2", "miss pii skills"), ("a/3", "pass")],
        Judge::Known(&known),
    );
    assert_eq!(report.failures(), 0);
    assert_eq!(report.missing["pii"], ["a/1.json", "a/2.json"]);
    let text = printed(&report);
    assert!(
        text.contains("MISSING pii: 2 scenarios: a/1.json, a/2.json\nMISSING skills: 1 scenarios: a/2.json\n"),
        "{text}"
    );
    assert!(text.ends_with("\n1 passed, 0 failed\n"), "{text}");
}

#[test]
fn a_middleware_that_is_missing_but_not_listed_is_a_failure() {
    let known = known("missing = [\"pii\"]");
    let report = run(&[("a/1", "miss pii"), ("a/2", "miss pii skills")], Judge::Known(&known));
    assert_eq!(report.failed.len(), 1);
    assert!(
        report.failed[0].1.contains("no middleware pii, skills"),
        "{:?}",
        report.failed
    );
}

#[test]
fn a_listed_middleware_that_nothing_waits_for_is_a_failure() {
    let known = known("missing = [\"pii\"]");
    let report = run(&[("a/1", "pass")], Judge::Known(&known));
    assert_eq!(report.failures(), 1);
    assert!(report.stale[0].contains("pii"), "{:?}", report.stale);
}

#[test]
fn scenarios_from_elsewhere_know_no_excuses() {
    let report = run(&[("a/1", "miss pii"), ("a/2", "fail")], Judge::Strict);
    assert_eq!((report.passed.len(), report.failures()), (0, 2));
    assert!(report.missing.is_empty() && report.deviating.is_empty());
}

#[test]
fn a_listed_deviation_that_fails_is_reported_but_not_counted() {
    let known = known("[[deviations]]\nscenario = \"a/1\"\nreason = \"because\"");
    let report = run(&[("a/1", "fail"), ("a/2", "pass")], Judge::Known(&known));
    assert_eq!(printed(&report), "DEVIATES a/1.json: because\n1 passed, 0 failed\n");
}

#[test]
fn a_listed_deviation_that_passes_or_does_not_exist_is_a_failure() {
    let known =
        known("[[deviations]]\nscenario = \"a/1\"\nreason = \"b\"\n[[deviations]]\nscenario = \"a/9\"\nreason = \"b\"");
    let report = run(&[("a/1", "pass")], Judge::Known(&known));
    assert_eq!((report.passed.len(), report.failures()), (1, 2));
    assert!(
        report.stale[0].contains("a/1 is a known deviation but passes"),
        "{:?}",
        report.stale
    );
    assert!(report.stale[1].contains("no such scenario"), "{:?}", report.stale);
}
