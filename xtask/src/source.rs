//! A Rust file as its tokens: functions with their docs, what is only compiled for tests, and what must not be there.
//!
//! Tokens and not lines, because `todo!` in a string is text and a `#[test]` inside `proptest!` is a test. Not a full parser, because a
//! parser stops at the door of every macro, and most of our property tests live behind one.

mod attribute;
mod walk;

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::TokenStream;

use crate::error::{Doing, Result};
use crate::workspace::read_text;
use walk::Walk;

/// What a Rust file holds, as far as our tasks care.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Lines of the file.
    pub(crate) lines: usize,
    /// The module's own doc (`//!`), one entry a line, as written.
    pub(crate) doc: Vec<String>,
    /// Functions with a body, nested ones too, in order.
    pub(crate) functions: Vec<Function>,
    /// Lines which are only compiled for tests, both ends included.
    pub(crate) test_lines: Vec<RangeInclusive<usize>>,
    /// Modules in files of their own which are only compiled for tests.
    pub(crate) test_modules: Vec<String>,
    /// What must not be there: line and reason.
    pub(crate) offences: Vec<(usize, String)>,
    /// Whether the file implements the `Middleware` trait for something, and not only in its tests.
    pub(crate) implements_middleware: bool,
}

/// A function with a body.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Inline modules around it, outermost first.
    pub(crate) modules: Vec<String>,
    /// Its doc comment, one entry a line, as written.
    pub(crate) doc: Vec<String>,
    /// Where `fn` stands.
    pub(crate) line: usize,
    /// Lines from `fn` to the closing brace.
    pub(crate) length: usize,
    /// Whether it is a test.
    pub(crate) is_test: bool,
    /// Whether it is only compiled for tests.
    pub(crate) in_test: bool,
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is not Rust.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        Self::parse(&read_text(path)?).doing(path.display())
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is not Rust.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let tokens = TokenStream::from_str(text).doing("cannot be read as Rust")?;
        let mut source = Walk::over(tokens);
        source.lines = text.lines().count();
        Ok(source)
    }

    /// Lines which are compiled into the product.
    pub(crate) fn product_lines(&self) -> usize {
        let tests: usize = self.test_lines.iter().map(|range| range.clone().count()).sum();
        self.lines.saturating_sub(tests)
    }

    /// Where the test modules of the file at `path` lie: a file or a folder each.
    pub(crate) fn test_paths(&self, path: &Path) -> Vec<PathBuf> {
        let dir = path.parent().unwrap_or(path);
        let stem = path.file_stem().unwrap_or_default();
        let is_root = ["lib", "main", "mod"].iter().any(|root| stem == *root);
        let home = if is_root { dir.to_owned() } else { dir.join(stem) };
        let modules = self.test_modules.iter();
        modules
            .flat_map(|name| [home.join(format!("{name}.rs")), home.join(name)])
            .collect()
    }
}

#[cfg(test)]
mod tests;
