//! Expected virtual files: by path, by a path with `*`, or none.

use std::collections::BTreeMap;

use super::{Check, TextPattern};
use crate::mismatch::{Mismatch, quote};
use crate::read::{Node, Read, ReadError};

/// Paths, which may hold `*`, and what must be there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesPattern(BTreeMap<String, FilePattern>);

/// What must be at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePattern {
    /// No file whose path fits.
    Absent,
    /// A file whose path fits and whose text matches.
    Text(TextPattern),
}

impl FilesPattern {
    /// Checks the files of a thread; those that no path names are not judged.
    ///
    /// # Errors
    /// The first path that has not what it should have.
    pub fn check(&self, files: &BTreeMap<String, String>) -> Check {
        for (path, pattern) in &self.0 {
            let fitting: Vec<_> = files.iter().filter(|(name, _)| fits_glob(path, name)).collect();
            check_fitting(pattern, &fitting, files).map_err(|mismatch| mismatch.at(path))?;
        }
        Ok(())
    }
}

fn check_fitting(pattern: &FilePattern, fitting: &[(&String, &String)], files: &BTreeMap<String, String>) -> Check {
    match (pattern, fitting) {
        (FilePattern::Absent, []) => Ok(()),
        (FilePattern::Absent, [(name, text), ..]) => {
            Err(Mismatch::new("no such file", format!("{name} {}", quote(text))))
        }
        (FilePattern::Text(_), []) => Err(Mismatch::new(
            "a file",
            format!("only {:?}", files.keys().collect::<Vec<_>>()),
        )),
        (FilePattern::Text(pattern), [(_, first), rest @ ..]) => {
            let first = pattern.check(first);
            if rest.iter().any(|(_, text)| pattern.check(text).is_ok()) {
                Ok(())
            } else {
                first
            }
        }
    }
}

/// Whether a path fits a pattern in which `*` stands for any characters, slashes included.
pub fn fits_glob(pattern: &str, path: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|head| path.strip_prefix(head)) else {
        return false;
    };
    let pieces: Vec<_> = pieces.collect();
    let Some((tail, middle)) = pieces.split_last() else {
        return rest.is_empty();
    };
    for piece in middle {
        match rest.find(piece) {
            Some(start) => rest = &rest[start + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(tail)
}

impl Read for FilesPattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        node.read().map(Self)
    }
}

impl Read for FilePattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        if node.value().get("absent").is_none() {
            return node.read().map(Self::Text);
        }
        if node.fields(&["absent"])?.required("absent")? {
            Ok(Self::Absent)
        } else {
            Err(node.error("`absent` can only be true"))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::{Value, json};

    use super::*;

    fn check(pattern: Value) -> Result<(), String> {
        let files = [("/a.txt", "alpha"), ("/log/1.md", "one"), ("/log/2.md", "two")];
        let files = files
            .into_iter()
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .collect();
        Node::root(&pattern)
            .read::<FilesPattern>()
            .unwrap()
            .check(&files)
            .map_err(|mismatch| mismatch.path())
    }

    #[test]
    fn a_path_demands_a_file_with_a_text_that_fits() {
        assert_eq!(check(json!({"/a.txt": "alpha"})), Ok(()));
        assert_eq!(check(json!({"/a.txt": "beta"})), Err("[\"/a.txt\"]".into()));
        assert_eq!(check(json!({"/b.txt": {"any": true}})), Err("[\"/b.txt\"]".into()));
    }

    #[test]
    fn absent_demands_that_no_file_fits() {
        assert_eq!(
            check(json!({"/b.txt": {"absent": true}, "/blog*": {"absent": true}})),
            Ok(())
        );
        assert_eq!(check(json!({"/a.txt": {"absent": true}})), Err("[\"/a.txt\"]".into()));
        assert_eq!(check(json!({"/log*": {"absent": true}})), Err("[\"/log*\"]".into()));
    }

    #[test]
    fn a_path_with_a_star_demands_one_file_that_fits_in_path_and_text() {
        assert_eq!(check(json!({"/log/*": {"contains": ["two"]}})), Ok(()));
        assert_eq!(
            check(json!({"/log/*": {"contains": ["three"]}})),
            Err("[\"/log/*\"].contains[0]".into())
        );
        assert_eq!(
            check(json!({"/log/*": {"contains": ["alpha"]}})),
            Err("[\"/log/*\"].contains[0]".into())
        );
        assert_eq!(check(json!({"/blog/*": {"any": true}})), Err("[\"/blog/*\"]".into()));
    }

    #[test]
    fn absent_can_only_be_true_and_stands_alone() {
        for bad in [
            json!({"/a": {"absent": false}}),
            json!({"/a": {"absent": true, "contains": ["x"]}}),
        ] {
            assert!(Node::root(&bad).read::<FilesPattern>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_star_stands_for_any_characters_and_everything_else_for_itself() {
        for (pattern, path) in [
            ("*", ""),
            ("*up.txt", "/../up.txt"),
            ("/a*", "/a/b/c"),
            ("/a*c*", "/abcd"),
            ("a*a", "aa"),
            ("/x", "/x"),
        ] {
            assert!(fits_glob(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("/a*", "/b"),
            ("a*a", "a"),
            ("*b", "bc"),
            ("/x", "/xy"),
            ("/x", "/"),
            ("*b*b*", "abc"),
            ("/a.c", "/abc"),
        ] {
            assert!(!fits_glob(pattern, path), "{pattern} {path}");
        }
    }
}
