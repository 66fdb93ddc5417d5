//! `cargo xtask bench`: runs the benchmarks and remembers what they measured.
//!
//! The raw output goes to `target/bench/<date>.txt`; every number becomes a line of `target/bench/history.jsonl`, with the date and the
//! commit; and the end of a run compares each median with the one before it. Both files are of one machine and are not committed.

mod date;
mod divan;
mod history;

use std::fs;
use std::process::Command;

use crate::command;
use crate::error::{Doing, Error, Result};
use crate::workspace::Workspace;
use history::{Entry, Run};

/// Runs all benchmarks, those of the target `name`, or else those whose own name contains it.
///
/// # Errors
/// If they do not build, fail, or cannot be written down.
pub(crate) fn run(workspace: &Workspace, name: Option<&str>) -> Result<()> {
    let targets: Vec<&str> = workspace
        .packages
        .iter()
        .flat_map(|package| package.targets("bench"))
        .map(|target| target.name.as_str())
        .collect();
    if targets.is_empty() {
        println!("bench: no package has a benchmark");
        return Ok(());
    }
    let mut cargo = command::cargo(&workspace.root);
    cargo.args(["bench", "--workspace", "--all-features"]);
    cargo.args(arguments(&targets, name));
    let finished = command::tee(&mut cargo)?;
    if !finished.status.success() {
        return Err(Error::new("the benchmarks failed, see above"));
    }
    let run = Run {
        date: date::now(),
        commit: commit(workspace),
    };
    let folder = workspace.root.join("target/bench");
    fs::create_dir_all(&folder).doing("cannot create target/bench")?;
    let raw = folder.join(format!("{}.txt", run.date.replace(':', "")));
    fs::write(&raw, &finished.out).doing(format_args!("cannot write {}", raw.display()))?;

    let measured = divan::read(&finished.out);
    let entries: Vec<Entry> = measured.into_iter().map(|bench| run.entry(bench)).collect();
    let before = history::append(&folder.join("history.jsonl"), &entries)?;
    print!("{}", history::compare(&before, &entries));
    println!(
        "bench: {} measured, raw output in {}",
        entries.len(),
        workspace.relative(&raw)
    );
    Ok(())
}

/// Which targets, and what to ask of them.
fn arguments(targets: &[&str], name: Option<&str>) -> Vec<String> {
    let chosen = targets.iter().filter(|target| name.is_none_or(|name| **target == name));
    let chosen: Vec<&str> = chosen.copied().collect();
    let (targets, filter) = if chosen.is_empty() {
        (targets, name)
    } else {
        (chosen.as_slice(), None)
    };
    let mut arguments: Vec<String> = targets
        .iter()
        .flat_map(|target| ["--bench".to_owned(), (*target).to_owned()])
        .collect();
    arguments.extend(filter.into_iter().flat_map(|name| ["--".to_owned(), name.to_owned()]));
    arguments
}

/// The commit that was measured, `unknown` outside of a checkout. Changes that are not committed show as `-dirty`.
fn commit(workspace: &Workspace) -> String {
    let mut git = Command::new("git");
    git.current_dir(&workspace.root)
        .args(["describe", "--always", "--dirty", "--exclude", "*"]);
    let said = command::read(&mut git).unwrap_or_else(|_| "unknown".into());
    said.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_target_if_there_is_one_and_a_filter_otherwise() {
        let targets = ["chain", "guards"];
        let words = |name| arguments(&targets, name).join(" ");
        assert_eq!(words(None), "--bench chain --bench guards");
        assert_eq!(words(Some("guards")), "--bench guards");
        assert_eq!(words(Some("pii")), "--bench chain --bench guards -- pii");
    }
}
