//! Text patterns: equal, or any of `contains`, `excludes`, `ordered`, `any`.

use super::Check;
use crate::mismatch::{Mismatch, quote};
use crate::read::{Node, Read, ReadError};
use crate::text::Text;

const KEYS: [&str; 4] = ["contains", "excludes", "ordered", "any"];

/// What a text must look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPattern {
    /// Exactly this.
    Equal(Text),
    /// All of these conditions; none means that the text is not judged.
    Parts {
        /// Every item occurs.
        contains: Vec<Text>,
        /// No item occurs.
        excludes: Vec<Text>,
        /// The items occur one after the other, without overlap.
        ordered: Vec<Text>,
    },
}

impl TextPattern {
    /// Checks a text.
    ///
    /// # Errors
    /// The first condition that does not hold.
    pub fn check(&self, got: &str) -> Check {
        match self {
            Self::Equal(text) if text.as_str() == got => Ok(()),
            Self::Equal(text) => Err(Mismatch::texts(text.as_str(), got)),
            Self::Parts {
                contains,
                excludes,
                ordered,
            } => {
                let has = |item: &Text| got.contains(item.as_str());
                if let Some(index) = contains.iter().position(|item| !has(item)) {
                    let wanted = format!("a text with {}", quote(contains[index].as_str()));
                    return Err(part(wanted, got, "contains", index));
                }
                if let Some(index) = excludes.iter().position(has) {
                    let wanted = format!("a text without {}", quote(excludes[index].as_str()));
                    return Err(part(wanted, got, "excludes", index));
                }
                check_order(ordered, got)
            }
        }
    }
}

fn check_order(ordered: &[Text], got: &str) -> Check {
    let mut rest = got;
    for (index, item) in ordered.iter().enumerate() {
        match rest.find(item.as_str()) {
            Some(start) => rest = &rest[start + item.as_str().len()..],
            None => {
                let place = if index == 0 {
                    String::new()
                } else {
                    format!(" after {}", quote(ordered[index - 1].as_str()))
                };
                return Err(part(
                    format!("a text with {}{place}", quote(item.as_str())),
                    got,
                    "ordered",
                    index,
                ));
            }
        }
    }
    Ok(())
}

fn part(wanted: String, got: &str, key: &str, index: usize) -> Mismatch {
    Mismatch::new(wanted, quote(got)).at_index(index).at(key)
}

impl Read for TextPattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let parts = node
            .value()
            .as_object()
            .is_some_and(|object| !object.contains_key("repeat"));
        if !parts {
            return node.read().map(Self::Equal);
        }
        let fields = node.fields(&KEYS)?;
        if !KEYS.iter().any(|key| fields.has(key)) {
            return Err(node.error(format!("a text pattern needs one of {}", KEYS.join(", "))));
        }
        if fields.optional::<bool>("any")? == Some(false) {
            return Err(node.error("`any` can only be true; leave the key out to have the text judged"));
        }
        Ok(Self::Parts {
            contains: fields.or_default("contains")?,
            excludes: fields.or_default("excludes")?,
            ordered: fields.or_default("ordered")?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn pattern(value: Value) -> TextPattern {
        Node::root(&value).read().unwrap()
    }

    fn check(value: Value, got: &str) -> Result<(), String> {
        pattern(value).check(got).map_err(|mismatch| mismatch.path())
    }

    #[test]
    fn a_text_must_be_equal_to_the_last_character() {
        assert_eq!(check(json!("ab"), "ab"), Ok(()));
        assert!(check(json!("ab"), "ab ").is_err());
        assert!(check(json!("ab"), "AB").is_err());
        assert_eq!(check(json!({"repeat": "ab", "times": 2}), "abab"), Ok(()));
        assert!(check(json!({"repeat": "ab", "times": 2}), "ab").is_err());
    }

    #[test]
    fn contains_demands_every_item() {
        assert_eq!(check(json!({"contains": ["b", "a"]}), "ab"), Ok(()));
        assert_eq!(check(json!({"contains": ["a", "c"]}), "ab"), Err("contains[1]".into()));
        assert_eq!(
            check(json!({"contains": [{"repeat": "a", "times": 3}]}), "aa"),
            Err("contains[0]".into())
        );
    }

    #[test]
    fn excludes_forbids_every_item() {
        assert_eq!(check(json!({"excludes": ["c"]}), "ab"), Ok(()));
        assert_eq!(check(json!({"excludes": ["c", "b"]}), "ab"), Err("excludes[1]".into()));
        assert_eq!(
            check(json!({"contains": ["a"], "excludes": ["a"]}), "a"),
            Err("excludes[0]".into())
        );
    }

    #[test]
    fn ordered_demands_the_items_one_after_the_other_without_overlap() {
        assert_eq!(check(json!({"ordered": ["a", "b", "a"]}), "x a b a"), Ok(()));
        assert_eq!(check(json!({"ordered": ["b", "a"]}), "ab"), Err("ordered[1]".into()));
        assert_eq!(check(json!({"ordered": ["aa", "aa"]}), "aaa"), Err("ordered[1]".into()));
        assert_eq!(check(json!({"ordered": ["z"]}), "a"), Err("ordered[0]".into()));
    }

    #[test]
    fn any_judges_nothing() {
        assert_eq!(check(json!({"any": true}), ""), Ok(()));
        assert_eq!(check(json!({"any": true}), "whatever"), Ok(()));
    }

    #[test]
    fn a_pattern_with_an_unknown_key_or_no_key_is_an_error() {
        for bad in [
            json!({}),
            json!({"contain": ["a"]}),
            json!({"any": false}),
            json!({"contains": "a"}),
            json!({"repeat": "a", "times": 1, "any": true}),
        ] {
            assert!(Node::root(&bad).read::<TextPattern>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_ordered_is_contained(items in prop::collection::vec("[ab]{1,2}", 1..4), got in "[ab]{0,8}") {
            let ordered = pattern(json!({"ordered": items})).check(&got).is_ok();
            let contained = pattern(json!({"contains": items})).check(&got).is_ok();
            prop_assert!(!ordered || contained);
        }

        #[test]
        fn the_items_written_one_after_the_other_are_in_order(items in prop::collection::vec("[abé]{1,3}", 1..5), gap in "[xy]{0,2}") {
            let fits = pattern(json!({"ordered": items})).check(&items.join(&gap)).is_ok();
            prop_assert!(fits);
        }
    }
}
