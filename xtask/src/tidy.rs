//! `cargo xtask tidy`: prints the sizes of our code and fails where a rule of the house is broken.
//!
//! What is checked: sizes (`sizes`), what a Rust file must and must not hold (`manners`), row ids of tests (`rows`), examples with their
//! expected output, licences of what we use (`licences`), and that no committed text names a machine or a package registry (`committed`).
//! Whether each cargo feature builds alone (`features`) is asked for separately, because it takes minutes.

mod committed;
mod features;
mod licences;
mod manners;
mod rows;
mod sizes;

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::source::Source;
use crate::workspace::{Role, Workspace, read_text};

pub(crate) use features::run as features;

/// A Rust file of ours, read.
struct RustFile {
    /// From the root, as it is shown.
    shown: String,
    role: Role,
    text: String,
    source: Source,
}

impl RustFile {
    /// Whether it is part of the product: neither a sample nor a test.
    fn is_product(&self) -> bool {
        self.role == Role::Product
    }

    /// The reason its first comments give for breaking a rule about files: `// tidy: <reason>`.
    fn excuse(&self) -> Option<&str> {
        let comments = self
            .text
            .lines()
            .map(str::trim)
            .take_while(|line| line.is_empty() || line.starts_with("//") || line.starts_with("#!["));
        let mut reasons = comments.filter_map(|line| line.strip_prefix("// tidy:"));
        reasons.next().map(str::trim).filter(|reason| !reason.is_empty())
    }
}

/// Runs all checks but the slow one.
///
/// # Errors
/// If a rule is broken; the text lists every place.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let files = rust_files(workspace)?;
    let mut problems = sizes::check(&files);
    problems.extend(files.iter().flat_map(manners::check));
    problems.extend(files.iter().flat_map(rows::check));
    problems.extend(examples_without_output(workspace, &files));
    problems.extend(licences::check(workspace)?);
    problems.extend(committed::check(&workspace.root)?);
    Error::unless_empty("tidy", &problems)?;
    println!("tidy: nothing to repair");
    Ok(())
}

fn rust_files(workspace: &Workspace) -> Result<Vec<RustFile>> {
    let mut files = Vec::new();
    let mut for_tests: Vec<PathBuf> = Vec::new();
    let mut paths = Vec::new();
    for package in &workspace.packages {
        for (role, path) in package.rust_files()? {
            let source = Source::read(&path)?;
            for_tests.extend(source.test_paths(&path));
            files.push(RustFile {
                shown: workspace.relative(&path),
                role,
                text: read_text(&path)?,
                source,
            });
            paths.push(path);
        }
    }
    // Only now all test modules are known.
    for (file, path) in files.iter_mut().zip(&paths) {
        if for_tests.iter().any(|test| path.starts_with(test)) {
            file.role = Role::Test;
        }
    }
    Ok(files)
}

fn examples_without_output(workspace: &Workspace, files: &[RustFile]) -> Vec<String> {
    let examples = workspace
        .packages
        .iter()
        .flat_map(|package| package.targets("example"))
        .filter(|example| !example.path.with_extension("stdout").is_file())
        .map(|example| workspace.relative(&example.path));
    let excused = |shown: &String| files.iter().any(|file| file.shown == *shown && file.excuse().is_some());
    examples
        .filter(|shown| !excused(shown))
        .map(|shown| {
            format!("{shown}: an example needs its output beside it, in a file of its name ending in .stdout (or `// tidy: <reason>` at its top)")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A file for the tests of the checks.
    pub(super) fn file(shown: &str, role: Role, text: &str) -> RustFile {
        RustFile {
            shown: shown.into(),
            role,
            text: text.into(),
            source: Source::parse(text).unwrap(),
        }
    }

    #[test]
    fn an_excuse_needs_a_reason_and_stands_at_the_top() {
        let excuse = |text: &str| file("a.rs", Role::Product, text).excuse().map(str::to_owned);
        assert_eq!(
            excuse("//! Doc.\n#![allow(x)]\n\n// tidy: one table\nfn a() {}\n").as_deref(),
            Some("one table")
        );
        assert_eq!(excuse("// tidy:\nfn a() {}\n"), None);
        assert_eq!(excuse("fn a() {}\n// tidy: too late\n"), None);
    }
}
