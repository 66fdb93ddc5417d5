//! The first place where a run differs from what was expected.

use std::fmt;

/// Longest excerpt of a text in a message, in characters: enough for a sentence, short enough for a terminal.
const EXCERPT: usize = 300;

/// Characters shown before the first difference of two long texts.
const LEAD: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// What was wanted at one place of `expect`, and what the run did instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Innermost step first: the path is known only on the way out.
    steps: Vec<Step>,
    /// What `expect` demands, in words or as JSON.
    pub wanted: String,
    /// What was observed.
    pub got: String,
}

impl Mismatch {
    /// A mismatch at the place the caller stands at; [`Self::at`] and [`Self::at_index`] lead outwards from there.
    pub fn new(wanted: impl Into<String>, got: impl Into<String>) -> Self {
        Self {
            steps: Vec::new(),
            wanted: wanted.into(),
            got: got.into(),
        }
    }

    /// Two texts that should be equal; long ones are cut around their first difference.
    pub fn texts(wanted: &str, got: &str) -> Self {
        let same = wanted.chars().zip(got.chars()).take_while(|(a, b)| a == b).count();
        let long = wanted.chars().count().max(got.chars().count()) > EXCERPT;
        let from = if long { same.saturating_sub(LEAD) } else { 0 };
        Self::new(excerpt(wanted, from), excerpt(got, from))
    }

    /// The same mismatch, seen from the object that holds it under `key`.
    #[must_use]
    pub fn at(mut self, key: &str) -> Self {
        self.steps.push(Step::Key(key.to_owned()));
        self
    }

    /// The same mismatch, seen from the list that holds it at `index`.
    #[must_use]
    pub fn at_index(mut self, index: usize) -> Self {
        self.steps.push(Step::Index(index));
        self
    }

    /// The path into the scenario, such as `expect.model_calls[1].messages[3].text`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            match step {
                Step::Index(index) => path.push_str(&format!("[{index}]")),
                Step::Key(key) if key.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                }
                Step::Key(key) => path.push_str(&format!("[{key:?}]")),
            }
        }
        path
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  wanted {}\n  got    {}", self.path(), self.wanted, self.got)
    }
}

/// A text in quotes, cut if it is long.
pub fn quote(text: &str) -> String {
    excerpt(text, 0)
}

fn excerpt(text: &str, from: usize) -> String {
    let total = text.chars().count();
    let shown: String = text.chars().skip(from).take(EXCERPT).collect();
    let (before, after) = (
        if from > 0 { "…" } else { "" },
        if from + EXCERPT < total { "…" } else { "" },
    );
    let note = if before.is_empty() && after.is_empty() {
        String::new()
    } else {
        format!(" ({total} characters, shown from {from})")
    };
    format!("{before}{shown:?}{after}{note}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_written_from_the_outside_in() {
        let mismatch = Mismatch::new("a", "b")
            .at("text")
            .at_index(3)
            .at("messages")
            .at_index(1)
            .at("model_calls")
            .at("expect");
        assert_eq!(mismatch.path(), "expect.model_calls[1].messages[3].text");
        assert_eq!(
            mismatch.to_string(),
            "expect.model_calls[1].messages[3].text\n  wanted a\n  got    b"
        );
    }

    #[test]
    fn a_key_that_is_no_word_is_quoted_in_the_path() {
        assert_eq!(
            Mismatch::new("", "").at("/a.txt").at("files").path(),
            "files[\"/a.txt\"]"
        );
    }

    #[test]
    fn short_texts_are_shown_whole_and_long_ones_around_the_difference() {
        let short = Mismatch::texts("one", "two");
        assert_eq!((short.wanted.as_str(), short.got.as_str()), ("\"one\"", "\"two\""));
        let head = "x".repeat(1000);
        let long = Mismatch::texts(&format!("{head}wanted"), &format!("{head}got"));
        assert!(
            long.wanted.ends_with("xwanted\" (1006 characters, shown from 960)"),
            "{}",
            long.wanted
        );
        assert!(
            long.got.starts_with('…') && long.got.contains("got\" (1003 characters"),
            "{}",
            long.got
        );
    }

    #[test]
    fn cutting_respects_characters() {
        assert!(quote(&"é".repeat(EXCERPT + 1)).starts_with("\"é"));
        assert_eq!(quote("ok"), "\"ok\"");
    }
}
