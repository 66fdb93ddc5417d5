//! The end of another program's output, safe to show.

use std::collections::VecDeque;
use std::fmt;

/// Lines kept: a Python traceback with its message.
const MAX_LINES: usize = 20;

/// Characters kept of one line.
const MAX_CHARS: usize = 400;

/// The last lines of an output. Bounded, whatever the program writes.
#[derive(Debug, Default)]
pub(super) struct Tail {
    lines: VecDeque<String>,
}

impl Tail {
    pub(super) fn push(&mut self, line: &str) {
        let line = clean(line);
        if line.trim().is_empty() {
            return;
        }
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub(super) fn of(text: &str) -> Self {
        let mut tail = Self::default();
        text.lines().for_each(|line| tail.push(line));
        tail
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// What a disk without space makes Python programs say. The number is looked for too, since the words may be translated.
    pub(super) fn tells_of_full_disk(&self) -> bool {
        let signs = [
            "[Errno 28]",
            "[Errno 122]",
            "No space left on device",
            "Disk quota exceeded",
        ];
        self.lines
            .iter()
            .any(|line| signs.iter().any(|sign| line.contains(sign)))
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.lines.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{line}")?;
        }
        Ok(())
    }
}

/// One line without escape sequences, control characters and credentials in addresses, shortened.
pub(super) fn clean(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        if char == '\u{1b}' {
            if chars.next_if_eq(&'[').is_some() {
                while chars.next().is_some_and(|char| !('@'..='~').contains(&char)) {}
            }
        } else if char == '\t' {
            out.push(' ');
        } else if !char.is_control() {
            out.push(char);
        }
    }
    hide_credentials(&out).trim_end().chars().take(MAX_CHARS).collect()
}

/// pip hides passwords itself, but not in every message, and other programs do not.
fn hide_credentials(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let host_end = after
            .find(|char: char| char == '/' || char.is_whitespace())
            .unwrap_or(after.len());
        rest = match after.get(..host_end).and_then(|authority| authority.rfind('@')) {
            Some(sign) => {
                out.push_str("****");
                after.split_at(sign).1
            }
            None => after,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn keeps_only_the_last_lines() {
        let text: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let shown = Tail::of(&text).to_string();
        assert_eq!(shown.lines().count(), MAX_LINES);
        assert!(shown.starts_with("line 80\n") && shown.ends_with("line 99"), "{shown}");
    }

    #[test]
    fn drops_escape_sequences_and_control_characters() {
        assert_eq!(clean("\u{1b}[2K\u{1b}[31mred\u{1b}[0m\u{7}\ttext\r"), "red text");
    }

    #[test]
    fn hides_credentials_in_addresses() {
        assert_eq!(
            clean("at https://me:s3cr@t@host.test/simple, http://b.test/@x"),
            "at https://****@host.test/simple, http://b.test/@x"
        );
    }

    #[test]
    fn a_full_disk_is_recognised_in_any_language() {
        assert!(
            Tail::of("OSError: [Errno 28] Auf dem Gerät ist kein Speicherplatz mehr verfügbar").tells_of_full_disk()
        );
        assert!(!Tail::of("ERROR: no matching distribution").tells_of_full_disk());
    }
}
