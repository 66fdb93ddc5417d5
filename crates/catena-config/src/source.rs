//! A text, its lines and columns.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text and the file that it came from. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Source {
    path: Arc<PathBuf>,
    text: Arc<str>,
}

/// A place in a text, as people count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
}

impl Source {
    pub(crate) fn new(path: &Path, text: &str) -> Self {
        Self {
            path: Arc::new(path.to_owned()),
            text: text.into(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// A file's name seen from the directory of this one.
    pub(crate) fn beside(&self, file: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(file)
    }

    /// Where an offset in bytes is. One beyond the end is at the end.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let before = self.before(offset);
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        Place {
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
        }
    }

    /// The whole line of an offset, without its end, and what of `span` is in it, as a range of the line.
    pub(crate) fn line(&self, span: &Range<usize>) -> (&str, Range<usize>) {
        let before = self.before(span.start);
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let rest = &self.text[start..];
        let line = rest.split('\n').next().unwrap_or_default();
        let line = line.strip_suffix('\r').unwrap_or(line);
        let from = (before.len() - start).min(line.len());
        let to = span.end.saturating_sub(start).clamp(from, line.len());
        let to = (to..=line.len())
            .find(|&end| line.is_char_boundary(end))
            .unwrap_or(line.len());
        (line, from..to)
    }

    fn before(&self, offset: usize) -> &str {
        let mut end = offset.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        &self.text[..end]
    }
}

impl std::fmt::Debug for Source {
    // Not the text: somebody may have put a key into it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Source").field(&self.path).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_lines_and_characters() {
        let source = Source::new(Path::new("x"), "a\nüb = 1\r\nlast");
        assert_eq!(source.place(0), Place { line: 1, column: 1 });
        assert_eq!(source.place(4), Place { line: 2, column: 2 });
        assert_eq!(source.place(3), Place { line: 2, column: 1 }, "inside of a character");
        assert_eq!(source.place(999), Place { line: 3, column: 5 });
    }

    #[test]
    fn a_line_has_no_end_and_a_span_does_not_leave_it() {
        let source = Source::new(Path::new("x"), "a\nüb = 1\r\nlast");
        assert_eq!(source.line(&(4..5)), ("üb = 1", 2..3));
        assert_eq!(source.line(&(4..99)), ("üb = 1", 2..7));
        assert_eq!(source.line(&(99..120)), ("last", 4..4));
    }
}
