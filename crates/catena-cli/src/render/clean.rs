//! Text from outside, made harmless for a terminal.
//!
//! A model, a tool or a file may hold escape sequences that move the cursor, rename the window or write to the clipboard, and direction marks
//! that make a command look like another. They are shown as what they are, so that nothing is hidden and nothing is obeyed.

use std::borrow::Cow;

/// The text with control characters replaced by visible ones. Line ends and tabs stay; a carriage return, which would overwrite the line,
/// is dropped.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| replacement(c) != Some(c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter_map(replacement).collect())
}

/// The text on one line, cleaned and cut to `width` columns.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let flat: String = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let total: usize = flat.chars().map(columns).sum();
    if total <= width {
        return flat;
    }
    let mut used = 1;
    let mut cut: String = flat
        .chars()
        .take_while(|c| {
            used += columns(*c);
            used <= width
        })
        .collect();
    cut.push('…');
    cut
}

/// The text with its lines broken between words, so that none is wider than `width` columns; a longer word stays whole.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        let mut current = String::new();
        for word in line.split_whitespace() {
            let used: usize = current.chars().chain(word.chars()).map(columns).sum();
            if current.trim().is_empty() {
                current = format!("{indent}{word}");
            } else if used < width {
                current.push(' ');
                current.push_str(word);
            } else {
                lines.push(std::mem::replace(&mut current, format!("{indent}{word}")));
            }
        }
        lines.push(current);
    }
    lines.join("\n")
}

/// What is shown for a character; none if nothing is.
fn replacement(c: char) -> Option<char> {
    match c {
        '\n' | '\t' => Some(c),
        '\r' => None,
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)),
        '\x7f' => Some('\u{2421}'),
        // C1 controls, among them a one-character escape sequence introducer.
        '\u{80}'..='\u{9f}' => Some('\u{fffd}'),
        // Direction overrides, embeddings and isolates.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some('\u{fffd}'),
        c => Some(c),
    }
}

/// How many columns a character takes, near enough to cut a line.
fn columns(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        // East Asian scripts and emoji.
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' => 2,
        '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        assert_eq!(
            clean("\x1b]0;owned\x07 a\u{9b}31m \u{202e}gpj.exe"),
            "␛]0;owned␇ a\u{fffd}31m \u{fffd}gpj.exe"
        );
        assert_eq!(clean("line\r\nnext\tcell"), "line\nnext\tcell");
        assert!(matches!(clean("plain 日本 ok\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn prose_is_broken_between_words_and_keeps_its_indentation() {
        assert_eq!(
            wrapped("one two three\n\n  four five six", 11),
            "one two\nthree\n\n  four five\n  six"
        );
        assert_eq!(wrapped("unbreakable", 5), "unbreakable");
    }

    #[test]
    fn lines_are_cut_to_columns_not_to_characters() {
        assert_eq!(one_line("a\n  b   c", 80), "a b c");
        assert_eq!(one_line("abcdefgh", 5), "abcd…");
        assert_eq!(one_line("中间件中间件", 7), "中间件…");
    }
}
