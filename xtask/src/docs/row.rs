//! Row ids: which rows of the specifications, or cases from the field, a test proves.

use std::fmt::{self, Display};

/// Names with a number that are no row ids.
const OTHER_NUMBERS: [&str; 4] = ["UTF", "SHA", "ISO", "RFC"];

/// Longest part of an id between two dashes.
const PART_MAX: usize = 8;

/// An id such as `LC-SUM-03`. Sorted by family first and by number then: `FC-9` stands before `FC-10`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    family: String,
    number: u32,
    /// The number as written, with its zeros.
    written: String,
}

/// A behaviour and the ids it goes by.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) ids: Vec<Id>,
    /// One sentence, usually.
    pub(crate) behaviour: String,
}

/// What the start of a doc comment is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Row(Row),
    /// An id is there but not as it must be written; holds how it starts.
    Malformed(String),
    Nothing,
}

impl Id {
    fn parse(text: &str) -> Option<Self> {
        let (family, written) = text.rsplit_once('-')?;
        let is_part = |part: &str| {
            (1..=PART_MAX).contains(&part.len())
                && part
                    .chars()
                    .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit())
        };
        let is_family = family.len() >= 2
            && family.starts_with(|letter: char| letter.is_ascii_uppercase())
            && family.split('-').all(is_part)
            && !OTHER_NUMBERS.contains(&family);
        let is_number = written.chars().all(|letter| letter.is_ascii_digit());
        (is_family && is_number).then(|| {
            Some(Self {
                family: family.to_owned(),
                number: written.parse().ok()?,
                written: written.to_owned(),
            })
        })?
    }
}

impl Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.family, self.written)
    }
}

/// Reads `/// LC-SUM-03: the behaviour.` or `/// LC-SUM-03, FC-001: the behaviour.`; the behaviour reaches to the end of the paragraph.
pub(crate) fn read(doc: &[String]) -> Found {
    let paragraph: Vec<&str> = doc
        .iter()
        .map(|line| line.trim())
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = paragraph.join(" ");
    let first = paragraph.split([' ', ',', ':', ';']).next().unwrap_or_default();
    if Id::parse(first.trim_matches(['`', '*', '[', ']'])).is_none() {
        return Found::Nothing;
    }
    let row = paragraph.split_once(": ").and_then(|(ids, behaviour)| {
        let ids: Option<Vec<Id>> = ids.split(", ").map(Id::parse).collect();
        let behaviour = behaviour.trim().to_owned();
        Some(Row { ids: ids?, behaviour }).filter(|row| !row.behaviour.is_empty())
    });
    row.map_or_else(|| Found::Malformed(paragraph.chars().take(40).collect()), Found::Row)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn found(doc: &[&str]) -> Found {
        let doc: Vec<String> = doc.iter().map(|line| (*line).to_owned()).collect();
        read(&doc)
    }

    #[test]
    fn a_row_is_its_ids_and_the_first_paragraph() {
        let Found::Row(row) = found(&[
            " LC-SUM-03, FC-001: a cut never separates",
            " a call: from its results.",
            "",
            " More.",
        ]) else {
            panic!("no row");
        };
        let ids: Vec<String> = row.ids.iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["LC-SUM-03", "FC-001"]);
        assert_eq!(row.behaviour, "a cut never separates a call: from its results.");
    }

    #[test]
    fn an_id_that_would_be_missed_is_malformed() {
        for line in [
            "LC-SUM-03 a cut.",
            "LC-SUM-03:",
            "`FC-001`: a cut.",
            "FC-001 and FC-002: a cut.",
            "FC-001,FC-002: a cut.",
        ] {
            assert!(matches!(found(&[line]), Found::Malformed(_)), "{line}");
        }
    }

    #[test]
    fn ordinary_docs_hold_no_row() {
        for line in [
            "UTF-8: text is kept.",
            "SHA-256: a digest.",
            "Fits: it does.",
            "A-1: too short.",
            "see FC-001: later.",
            "",
        ] {
            assert_eq!(found(&[line]), Found::Nothing, "{line}");
        }
    }

    #[test]
    fn ids_are_sorted_by_number_inside_their_family() {
        let mut ids: Vec<Id> = ["ZC-1", "FC-10", "FC-9", "FC-010"]
            .iter()
            .map(|id| Id::parse(id).unwrap())
            .collect();
        ids.sort();
        let shown: Vec<String> = ids.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["FC-9", "FC-010", "FC-10", "ZC-1"]);
    }
}
