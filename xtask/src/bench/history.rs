//! What was measured before: one line of JSON for each benchmark of each run.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::divan::Measured;
use crate::error::{Doing, Result};

/// Medians closer than this are not told apart, in percent: a machine at work is not quieter.
const NOISE: f64 = 5.0;

/// When and on what.
pub(super) struct Run {
    pub(super) date: String,
    pub(super) commit: String,
}

/// A line of the history.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    name: String,
    median_ns: f64,
    json: Value,
}

impl Run {
    /// The line for one benchmark.
    pub(super) fn entry(&self, bench: Measured) -> Entry {
        let json = json!({
            "date": self.date, "commit": self.commit, "bench": bench.name,
            "fastest_ns": bench.fastest_ns, "slowest_ns": bench.slowest_ns, "median_ns": bench.median_ns, "mean_ns": bench.mean_ns,
            "samples": bench.samples, "iters": bench.iters,
        });
        Entry {
            name: bench.name,
            median_ns: bench.median_ns,
            json,
        }
    }
}

/// Appends the entries and returns what the file held before. Lines that cannot be read are kept and passed over.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn append(path: &Path, entries: &[Entry]) -> Result<Vec<Entry>> {
    let before = fs::read_to_string(path).unwrap_or_default();
    let lines: String = entries.iter().map(|entry| format!("{}\n", entry.json)).collect();
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(lines.as_bytes()))
        .doing(format_args!("cannot write {}", path.display()))?;
    Ok(before.lines().filter_map(parse).collect())
}

fn parse(line: &str) -> Option<Entry> {
    let json: Value = serde_json::from_str(line).ok()?;
    Some(Entry {
        name: json.get("bench")?.as_str()?.to_owned(),
        median_ns: json.get("median_ns")?.as_f64()?,
        json,
    })
}

/// Each benchmark's median against its latest one before.
pub(super) fn compare(before: &[Entry], now: &[Entry]) -> String {
    let mut text = String::new();
    for entry in now {
        let last = before.iter().rev().find(|old| old.name == entry.name);
        let Some(last) = last.filter(|last| last.median_ns > 0.0) else {
            continue;
        };
        let change = (entry.median_ns / last.median_ns - 1.0) * 100.0;
        let verdict = match change {
            change if change > NOISE => "slower",
            change if change < -NOISE => "faster",
            _ => "same",
        };
        text.push_str(&format!(
            "{verdict:<7} {change:>+7.1} %  {}  ({} ns, was {} ns)\n",
            entry.name, entry.median_ns, last.median_ns
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn entry(name: &str, median_ns: f64) -> Entry {
        let run = Run {
            date: "2026-11-30T00:00:00Z".into(),
            commit: "abc".into(),
        };
        run.entry(Measured {
            name: name.into(),
            fastest_ns: 1.0,
            slowest_ns: 1.0,
            median_ns,
            mean_ns: 1.0,
            samples: 1,
            iters: 1,
        })
    }

    #[test]
    fn a_run_is_compared_with_the_latest_one_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.jsonl");
        assert!(append(&path, &[entry("chain/a", 50.0)]).unwrap().is_empty());
        assert_eq!(
            append(&path, &[entry("chain/a", 100.0), entry("chain/b", 7.0)])
                .unwrap()
                .len(),
            1
        );
        let now = [entry("chain/a", 150.0), entry("chain/b", 7.1), entry("chain/c", 1.0)];
        let before = append(&path, &now).unwrap();
        let text = compare(&before, &now);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].starts_with("slower    +50.0 %  chain/a"), "{text}");
        assert!(lines[1].starts_with("same       +1.4 %  chain/b"), "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 6);
    }
}
