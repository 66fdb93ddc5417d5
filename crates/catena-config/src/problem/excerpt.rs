//! The line of a problem, with carets under the place.

use std::fmt;
use std::ops::Range;

use crate::secret::masked;
use crate::source::Source;

/// A line, ready to be printed: nothing in it looks like a key, and no character of it can move the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    number: usize,
    line: String,
    /// Blank columns before the carets.
    indent: usize,
    carets: usize,
}

/// Columns of a line that are shown; a longer one is cut on both sides of the place.
const WIDTH: usize = 120;
/// Columns that are shown before the place then.
const BEFORE: usize = 40;

impl Excerpt {
    pub(super) fn new(source: &Source, span: &Range<usize>) -> Self {
        let (line, marked) = source.line(span);
        let line = masked(line);
        let before = columns(&line[..marked.start]);
        let cut = columns(&line) > WIDTH && before > BEFORE;
        let mut skip = if cut { before - BEFORE } else { 0 };
        let mut excerpt = Self {
            number: source.place(span.start).line,
            line: if cut { "…".to_owned() } else { String::new() },
            indent: usize::from(cut),
            carets: 0,
        };
        let mut shown = 0;
        for (at, character) in line.char_indices() {
            let width = width(character);
            if skip > 0 {
                skip = skip.saturating_sub(width);
                continue;
            }
            shown += width;
            if shown > WIDTH {
                excerpt.line.push('…');
                break;
            }
            excerpt.line.push(printable(character));
            if at < marked.start {
                excerpt.indent += width;
            } else if at < marked.end {
                excerpt.carets += width;
            }
        }
        excerpt.carets = excerpt.carets.max(1);
        excerpt
    }

    /// Columns before the bar.
    pub(super) fn margin(&self) -> usize {
        self.number.to_string().len()
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (margin, number, line) = (self.margin(), self.number, &self.line);
        writeln!(f, "{:margin$} |", "")?;
        writeln!(f, "{number:>margin$} | {line}")?;
        write!(
            f,
            "{:margin$} | {:indent$}{}",
            "",
            "",
            "^".repeat(self.carets),
            indent = self.indent
        )
    }
}

fn printable(character: char) -> char {
    match character {
        '\t' => ' ',
        control if control.is_control() => '\u{fffd}',
        other => other,
    }
}

fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Columns that a terminal gives a character: two for the scripts and pictures that are drawn square.
fn width(character: char) -> usize {
    match u32::from(character) {
        0x0300..=0x036f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::expect;

    use super::*;

    fn shown(text: &str, marked: &str) -> String {
        let start = text.find(marked).unwrap_or_default();
        Excerpt::new(&Source::new(Path::new("x"), text), &(start..start + marked.len())).to_string()
    }

    #[test]
    fn carets_stand_under_wide_and_tabbed_text() {
        expect![[r#"
              |
            2 |  名前 = 值
              |         ^^"#]]
        .assert_eq(&shown("\n\t名前 = 值", "值"));
    }

    #[test]
    fn a_long_line_is_cut_on_both_sides_of_the_place() {
        let text = format!("{} here {}", "a".repeat(300), "b".repeat(300));
        let shown = shown(&text, "here");
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].chars().count() < 130, "{shown}");
        assert_eq!(
            lines[1].chars().position(|c| c == 'h'),
            lines[2].chars().position(|c| c == '^'),
            "{shown}"
        );
    }

    #[test]
    fn control_characters_and_keys_are_not_printed() {
        let shown = shown("a = \"\u{1b}[2J sk-proj-abcdefghijklmnop\"", "a");
        assert!(!shown.contains('\u{1b}') && !shown.contains("abcdef"), "{shown}");
    }
}
