//! How many tests passed and failed, read from what the runners print.

use std::fmt::{self, Display};
use std::iter::Sum;

/// Numbers of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl Totals {
    /// One check, which passed or did not.
    pub(crate) fn one(passed: bool) -> Self {
        Self {
            passed: usize::from(passed),
            failed: usize::from(!passed),
        }
    }

    /// A runner that fails without a failed test did not get as far as its tests, or lost one on the way: that is one failure.
    pub(crate) fn or_failure(mut self, succeeded: bool) -> Self {
        if !succeeded && self.failed == 0 {
            self.failed = 1;
        }
        self
    }
}

impl Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)
    }
}

impl Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, next| Self {
            passed: sum.passed + next.passed,
            failed: sum.failed + next.failed,
        })
    }
}

/// Sums the lines `test result: ok. 5 passed; 0 failed; …`, one for each test binary.
pub(crate) fn cargo_test(output: &str) -> Totals {
    output
        .lines()
        .filter_map(|line| line.strip_prefix("test result: "))
        .map(counts)
        .sum()
}

/// The line `Summary [ 0.1s] 7 tests run: 5 passed (1 slow), 1 failed, 1 timed out, 2 skipped`. Tests that a runner stopped or could not
/// start have failed, too.
pub(crate) fn nextest(output: &str) -> Totals {
    let mut summaries = output.lines().filter(|line| line.trim_start().starts_with("Summary ["));
    let counts_of_last = summaries.next_back().and_then(|line| line.split_once("run:"));
    counts_of_last.map(|(_, rest)| counts(rest)).unwrap_or_default()
}

/// The last line, if it is `N passed, N failed`.
pub(crate) fn last_line(output: &str) -> Totals {
    output.lines().next_back().map(counts).unwrap_or_default()
}

fn counts(text: &str) -> Totals {
    let words: Vec<&str> = text
        .split([' ', ',', ';', '.', '(', ')'])
        .filter(|word| !word.is_empty())
        .collect();
    let mut totals = Totals::default();
    for pair in words.windows(2) {
        let [number, what] = pair else { continue };
        let Ok(number) = number.parse::<usize>() else {
            continue;
        };
        match *what {
            "passed" => totals.passed += number,
            // "timed out", "exec failed"
            "failed" | "timed" | "exec" => totals.failed += number,
            _ => {}
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(passed: usize, failed: usize) -> Totals {
        Totals { passed, failed }
    }

    #[test]
    fn cargos_lines_are_summed() {
        let output = "running 5 tests\ntest result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\
            test result: FAILED. 1 passed; 2 failed; 3 ignored; 0 measured; 4 filtered out; finished in 0.00s\n";
        assert_eq!(cargo_test(output), totals(6, 2));
        assert_eq!(cargo_test("error: could not compile"), totals(0, 0));
    }

    #[test]
    fn nextests_summary_counts_every_way_to_fail() {
        let line = "     Summary [   1.234s] 12/14 tests run: 8 passed (1 slow, 2 flaky), 1 failed, 2 timed out, 1 exec failed, 3 skipped\n";
        assert_eq!(nextest(line), totals(8, 4));
        assert_eq!(
            nextest("     Summary [   0.000s] 1 test run: 1 passed, 0 skipped\n  later"),
            totals(1, 0)
        );
        assert_eq!(nextest("error: could not compile"), totals(0, 0));
    }

    #[test]
    fn only_the_last_line_of_conformance_counts() {
        assert_eq!(last_line("1 passed, 9 failed\n31 passed, 2 failed\n"), totals(31, 2));
        assert_eq!(last_line("it broke"), totals(0, 0));
    }

    #[test]
    fn a_runner_that_fails_without_a_failed_test_is_one_failure() {
        assert_eq!(totals(3, 0).or_failure(false), totals(3, 1));
        assert_eq!(totals(3, 2).or_failure(false), totals(3, 2));
        assert_eq!(totals(3, 0).or_failure(true), totals(3, 0));
        assert_eq!(totals(3, 0).to_string(), "3 passed, 0 failed");
    }
}
