//! Everything a contributor runs: `cargo xtask test|tidy|docs|bench|schema|conformance`.
//!
//! A plain program without build steps of its own. Each command is one module; what several share is in `workspace` (what cargo knows about
//! the packages), `command` (running programs), `artifacts` (built programs), `source` (Rust files as tokens) and `generated` (files that are
//! written by one command and compared by its `--check`).

#![expect(clippy::print_stdout, reason = "a command line tool that reports on standard output")]

mod artifacts;
mod bench;
mod command;
mod conformance;
mod docs;
mod error;
mod generated;
mod schema;
mod source;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use error::{Error, Result};
use generated::Mode;
use workspace::Workspace;

const HELP: &str = "\
cargo xtask test [-- NAME]       all tests and checks; ends with `N passed, N failed`. NAME: only tests whose name contains it
cargo xtask tidy [--features]    sizes, manners, licences; --features: also builds each cargo feature alone (slow)
cargo xtask docs [--check]       writes docs/behaviours.md and docs/middleware/ from the code; --check: compares
cargo xtask schema [--check]     writes docs/catena.schema.json from `catena schema`; --check: compares
cargo xtask conformance [DIR]    runs the conformance scenarios, of DIR if given
cargo xtask bench [NAME]         runs the benchmarks, of one target or by name, and keeps a history under target/bench/";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<ExitCode> {
    if matches!(words, [] | ["help" | "--help" | "-h"]) {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    }
    let workspace = Workspace::load()?;
    let done = |()| ExitCode::SUCCESS;
    match words {
        ["test"] => test::all(&workspace),
        ["test", "--", names @ ..] => test::named(&workspace, names),
        ["tidy"] => tidy::run(&workspace).map(done),
        ["tidy", "--features"] => tidy::run(&workspace)
            .and_then(|()| tidy::features(&workspace))
            .map(done),
        ["docs"] => docs::run(&workspace, Mode::Write).map(done),
        ["docs", "--check"] => docs::run(&workspace, Mode::Check).map(done),
        ["schema"] => schema::run(&workspace, Mode::Write).map(done),
        ["schema", "--check"] => schema::run(&workspace, Mode::Check).map(done),
        ["conformance"] => conformance::run(&workspace, None),
        ["conformance", dir] => conformance::run(&workspace, Some(dir)),
        ["bench"] => bench::run(&workspace, None).map(done),
        ["bench", name] => bench::run(&workspace, Some(name)).map(done),
        _ => Err(Error::new(format!("`{}` is not a command\n\n{HELP}", words.join(" ")))),
    }
}
