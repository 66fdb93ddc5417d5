//! The conformance scenarios, played on catena.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::collections::BTreeSet;
use std::path::Path;

use catena_conformance::adapter::Catena;
use catena_conformance::command::{DIR_VARIABLE, Scenarios};
use catena_conformance::report::{Judge, Report};
use catena_conformance::{known::Known, load};

const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance");

fn printed(report: &Report) -> String {
    let mut out = Vec::new();
    report.print(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Strict both ways: what is not known to be missing or different has to pass, and what is known has to be so.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "whoever brings scenarios names them by this variable"
)]
fn every_scenario_passes_or_is_known_not_to() {
    let scenarios = Scenarios::choose(None, std::env::var_os(DIR_VARIABLE), Path::new(OWN));
    let report = scenarios.run(&Catena).unwrap();
    assert_eq!(report.failures(), 0, "{}", printed(&report));
    assert!(!report.passed.is_empty(), "{}", printed(&report));
}

/// Nothing excuses the loop itself.
#[test]
fn the_core_scenarios_pass_completely() {
    let report = Report::run(&Path::new(OWN).join("core"), &Catena, Judge::Strict).unwrap();
    assert_eq!(
        (report.passed.len(), report.failures()),
        (12, 0),
        "{}",
        printed(&report)
    );
}

/// A case is judged, excused with its reason, or named with what it waits for; none disappears.
#[test]
fn every_file_is_accounted_for() {
    let own = Path::new(OWN);
    let report = Report::run(own, &Catena, Judge::Known(&Known::load(own).unwrap())).unwrap();
    let judged = report.passed.iter().chain(report.failed.iter().map(|(case, _)| case));
    let excused = report.deviating.iter().map(|(case, _)| case);
    let waiting = report.missing.values().flatten();
    let told: BTreeSet<&String> = judged.chain(excused).chain(waiting).collect();
    assert_eq!(told.len(), load::find(own).unwrap().len());
}
