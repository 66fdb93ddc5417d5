//! Patterns for JSON values: arguments of calls, entries of state.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Check, TextPattern};
use crate::mismatch::Mismatch;
use crate::read::{Node, Read, ReadError};

/// Which keys an object must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// The same as the pattern: arguments.
    Same,
    /// At least those of the pattern: state.
    Listed,
}

/// What a JSON value must look like.
#[derive(Clone, Debug, PartialEq)]
pub enum ValuePattern {
    /// A string that fits.
    Text(TextPattern),
    /// An object, key by key. One that could also be a text pattern is that when it meets a string: only the value at hand tells.
    Object {
        /// The pattern of each key.
        fields: BTreeMap<String, ValuePattern>,
        /// The same object read as a text pattern.
        text: Option<TextPattern>,
    },
    /// A list, item by item.
    List(Vec<ValuePattern>),
    /// A number, a boolean or null.
    Plain(Value),
}

impl ValuePattern {
    /// Checks a value.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, got: &Value, keys: Keys) -> Check {
        match (self, got) {
            (
                Self::Text(pattern)
                | Self::Object {
                    text: Some(pattern), ..
                },
                Value::String(got),
            ) => pattern.check(got),
            (Self::Object { fields, .. }, Value::Object(got)) => check_object(fields, got, keys),
            (Self::List(items), Value::Array(got)) => check_list(items, got, keys),
            (Self::Plain(wanted), got) if same(wanted, got) => Ok(()),
            _ => Err(Mismatch::new(self.to_string(), got.to_string())),
        }
    }
}

fn check_object(fields: &BTreeMap<String, ValuePattern>, got: &Map<String, Value>, keys: Keys) -> Check {
    for (key, pattern) in fields {
        let value = got
            .get(key)
            .ok_or_else(|| Mismatch::new(pattern.to_string(), "no such key").at(key))?;
        pattern.check(value, keys).map_err(|mismatch| mismatch.at(key))?;
    }
    match got
        .iter()
        .find(|(key, _)| keys == Keys::Same && !fields.contains_key(*key))
    {
        Some((key, value)) => Err(Mismatch::new("no such key", value.to_string()).at(key)),
        None => Ok(()),
    }
}

fn check_list(items: &[ValuePattern], got: &[Value], keys: Keys) -> Check {
    for (index, (pattern, value)) in items.iter().zip(got).enumerate() {
        pattern
            .check(value, keys)
            .map_err(|mismatch| mismatch.at_index(index))?;
    }
    if items.len() == got.len() {
        return Ok(());
    }
    Err(Mismatch::new(
        format!("{} items", items.len()),
        format!("{} items: {}", got.len(), Value::from(got.to_vec())),
    ))
}

/// JSON does not tell 12 from 12.0.
fn same(wanted: &Value, got: &Value) -> bool {
    match (wanted, got) {
        (Value::Number(wanted), Value::Number(got)) => {
            wanted == got || (wanted.as_f64() == got.as_f64() && (wanted.is_f64() || got.is_f64()))
        }
        _ => wanted == got,
    }
}

impl std::fmt::Display for ValuePattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(TextPattern::Equal(text)) => f.write_str(&crate::mismatch::quote(text.as_str())),
            Self::Text(_) | Self::Object { text: Some(_), .. } => f.write_str("a text that fits the pattern"),
            Self::Object { fields, .. } => {
                write!(f, "an object with {:?}", fields.keys().collect::<Vec<_>>())
            }
            Self::List(items) => write!(f, "a list of {} items", items.len()),
            Self::Plain(value) => value.fmt(f),
        }
    }
}

impl Read for ValuePattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        Ok(match node.value() {
            Value::String(_) => Self::Text(node.read()?),
            Value::Object(_) => Self::Object {
                fields: node.read()?,
                text: node.read().ok(),
            },
            Value::Array(_) => Self::List(node.read()?),
            plain => Self::Plain(plain.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::json;

    use super::*;

    fn check(pattern: Value, got: Value, keys: Keys) -> Result<(), String> {
        Node::root(&pattern)
            .read::<ValuePattern>()
            .unwrap()
            .check(&got, keys)
            .map_err(|mismatch| mismatch.path())
    }

    #[test]
    fn arguments_have_the_same_keys() {
        assert_eq!(
            check(json!({"a": 1, "b": null}), json!({"b": null, "a": 1}), Keys::Same),
            Ok(())
        );
        assert_eq!(
            check(json!({"a": 1}), json!({"a": 1, "b": 2}), Keys::Same),
            Err("b".into())
        );
        assert_eq!(
            check(json!({"a": 1, "b": 2}), json!({"a": 1}), Keys::Same),
            Err("b".into())
        );
        assert_eq!(
            check(json!({"a": {"b": 1}}), json!({"a": {"b": 1, "c": 2}}), Keys::Same),
            Err("a.c".into())
        );
    }

    #[test]
    fn state_ignores_keys_that_are_not_listed_at_any_depth() {
        assert_eq!(
            check(
                json!([{"a": {"b": 1}}]),
                json!([{"a": {"b": 1, "c": 2}, "d": 3}]),
                Keys::Listed
            ),
            Ok(())
        );
        assert_eq!(
            check(json!([{"a": 1}]), json!([{"b": 1}]), Keys::Listed),
            Err("[0].a".into())
        );
        assert_eq!(
            check(json!([{"a": 1}]), json!([{"a": 2}]), Keys::Listed),
            Err("[0].a".into())
        );
    }

    #[test]
    fn lists_have_the_same_items_in_the_same_order() {
        assert_eq!(check(json!([1, 2]), json!([1, 2]), Keys::Same), Ok(()));
        assert_eq!(check(json!([1, 2]), json!([2, 1]), Keys::Same), Err("[0]".into()));
        assert_eq!(check(json!([1]), json!([1, 2]), Keys::Listed), Err(String::new()));
        assert_eq!(check(json!([1, 2]), json!([1]), Keys::Listed), Err(String::new()));
    }

    #[test]
    fn a_string_may_be_described_by_a_text_pattern_or_a_repetition() {
        let pattern = json!({"a": {"contains": ["x"], "excludes": ["y"]}, "b": {"repeat": "z", "times": 2}});
        assert_eq!(check(pattern.clone(), json!({"a": "x", "b": "zz"}), Keys::Same), Ok(()));
        assert_eq!(
            check(pattern.clone(), json!({"a": "xy", "b": "zz"}), Keys::Same),
            Err("a.excludes[0]".into())
        );
        assert_eq!(check(pattern, json!({"a": "x", "b": "z"}), Keys::Same), Err("b".into()));
        assert_eq!(
            check(json!({"x": {"b": 1}}), json!({"x": "b"}), Keys::Same),
            Err("x".into())
        );
    }

    #[test]
    fn an_object_that_looks_like_a_text_pattern_still_matches_that_object() {
        assert_eq!(
            check(
                json!({"a": {"contains": ["x"]}}),
                json!({"a": {"contains": ["x"]}}),
                Keys::Same
            ),
            Ok(())
        );
        assert_eq!(
            check(
                json!({"a": {"contains": ["x"]}}),
                json!({"a": {"contains": ["y"]}}),
                Keys::Same
            ),
            Err("a.contains[0]".into())
        );
    }

    #[test]
    fn types_are_not_converted_but_numbers_have_one_type() {
        assert_eq!(check(json!({"a": 12}), json!({"a": 12.0}), Keys::Same), Ok(()));
        assert_eq!(check(json!({"a": 12}), json!({"a": "12"}), Keys::Same), Err("a".into()));
        assert_eq!(check(json!({"a": "12"}), json!({"a": 12}), Keys::Same), Err("a".into()));
        assert_eq!(
            check(json!({"a": false}), json!({"a": null}), Keys::Same),
            Err("a".into())
        );
        assert_eq!(
            check(
                json!(9_007_199_254_740_993_u64),
                json!(9_007_199_254_740_992_u64),
                Keys::Same
            ),
            Err(String::new())
        );
    }
}
