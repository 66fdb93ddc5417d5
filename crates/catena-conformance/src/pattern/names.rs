//! Lists of names: a whole list, or what it includes and excludes.

use std::collections::BTreeSet;

use super::Check;
use crate::mismatch::Mismatch;
use crate::read::{Node, Read, ReadError};

/// What a list of names must look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamesPattern {
    /// These names and no others.
    Whole(Vec<String>),
    /// Some names that must be there and some that must not.
    Parts {
        /// Every one of these is there.
        includes: Vec<String>,
        /// None of these is there.
        excludes: Vec<String>,
    },
}

impl NamesPattern {
    /// Checks names whose order does not count, as the tools of a request.
    ///
    /// # Errors
    /// The difference, if there is one.
    pub fn check_set(&self, got: &[String]) -> Check {
        let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        match self {
            Self::Whole(names) if set(names) == set(got) => Ok(()),
            Self::Whole(names) => Err(Mismatch::new(format!("in any order {names:?}"), format!("{got:?}"))),
            Self::Parts { includes, excludes } => check_parts(includes, excludes, got),
        }
    }

    /// Checks names whose order counts, as the allowed decisions of a pause.
    ///
    /// # Errors
    /// The difference, if there is one.
    pub fn check_list(&self, got: &[String]) -> Check {
        match self {
            Self::Whole(names) if names == got => Ok(()),
            Self::Whole(names) => Err(Mismatch::new(format!("{names:?}"), format!("{got:?}"))),
            Self::Parts { includes, excludes } => check_parts(includes, excludes, got),
        }
    }
}

fn check_parts(includes: &[String], excludes: &[String], got: &[String]) -> Check {
    if let Some((index, name)) = includes.iter().enumerate().find(|(_, name)| !got.contains(name)) {
        return Err(Mismatch::new(format!("a list with {name:?}"), format!("{got:?}"))
            .at_index(index)
            .at("includes"));
    }
    if let Some((index, name)) = excludes.iter().enumerate().find(|(_, name)| got.contains(name)) {
        return Err(Mismatch::new(format!("a list without {name:?}"), format!("{got:?}"))
            .at_index(index)
            .at("excludes"));
    }
    Ok(())
}

impl Read for NamesPattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        if node.value().is_array() {
            return node.read().map(Self::Whole);
        }
        let fields = node.fields(&["includes", "excludes"])?;
        if !fields.has("includes") && !fields.has("excludes") {
            return Err(node.error("a list pattern needs includes, excludes or both"));
        }
        Ok(Self::Parts {
            includes: fields.or_default("includes")?,
            excludes: fields.or_default("excludes")?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::{Value, json};

    use super::*;

    fn pattern(value: Value) -> NamesPattern {
        Node::root(&value).read().unwrap()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_set_ignores_order_but_neither_a_missing_nor_an_extra_name() {
        let pattern = pattern(json!(["a", "b"]));
        assert!(pattern.check_set(&names(&["b", "a"])).is_ok());
        assert!(pattern.check_set(&names(&["a"])).is_err());
        assert!(pattern.check_set(&names(&["a", "b", "c"])).is_err());
    }

    #[test]
    fn a_list_is_equal_in_order() {
        let pattern = pattern(json!(["a", "b"]));
        assert!(pattern.check_list(&names(&["a", "b"])).is_ok());
        assert!(pattern.check_list(&names(&["b", "a"])).is_err());
    }

    #[test]
    fn includes_and_excludes_judge_only_what_they_name() {
        let pattern = pattern(json!({"includes": ["a", "b"], "excludes": ["x"]}));
        for check in [NamesPattern::check_set, NamesPattern::check_list] {
            assert!(check(&pattern, &names(&["c", "b", "a"])).is_ok());
            assert_eq!(check(&pattern, &names(&["a"])).unwrap_err().path(), "includes[1]");
            assert_eq!(
                check(&pattern, &names(&["a", "b", "x"])).unwrap_err().path(),
                "excludes[0]"
            );
        }
    }

    #[test]
    fn an_empty_list_demands_that_there_is_no_name() {
        assert!(pattern(json!([])).check_set(&[]).is_ok());
        assert!(pattern(json!([])).check_set(&names(&["a"])).is_err());
    }

    #[test]
    fn other_shapes_are_errors() {
        for bad in [json!({}), json!({"include": []}), json!("a"), json!([1])] {
            assert!(Node::root(&bad).read::<NamesPattern>().is_err(), "{bad}");
        }
    }
}
