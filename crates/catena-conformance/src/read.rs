//! Reading JSON strictly, with the path of whatever is wrong.
//!
//! Scenarios hold many unions (a text or a pattern, a list or two lists), for which derived deserialisation reports neither the key nor the
//! place. A [`Node`] is a value that knows where it stands, and [`Read`] turns one into a type.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A value of a scenario that is not what the format says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {problem}")]
pub struct ReadError {
    /// Where, such as `models.main[0].tool_calls[1].id`.
    pub path: String,
    /// What is wrong there, and what would be right.
    pub problem: String,
}

/// A type that can be read from a JSON value.
pub trait Read: Sized {
    /// Reads the value at `node`.
    ///
    /// # Errors
    /// [`ReadError`] with the path of the first part that does not fit.
    fn read(node: &Node<'_>) -> Result<Self, ReadError>;
}

/// A JSON value together with its path in the file.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Node<'a> {
    /// The whole document.
    pub fn root(value: &'a Value) -> Self {
        Self {
            value,
            path: String::new(),
        }
    }

    /// The bare value.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// Reads this value as a `T`.
    ///
    /// # Errors
    /// Whatever `T` demands and does not find.
    pub fn read<T: Read>(&self) -> Result<T, ReadError> {
        T::read(self)
    }

    /// An error at this place.
    pub fn error(&self, problem: impl Into<String>) -> ReadError {
        let path = if self.path.is_empty() {
            ".".to_owned()
        } else {
            self.path.clone()
        };
        ReadError {
            path,
            problem: problem.into(),
        }
    }

    /// This value as an object that has no keys but `allowed`.
    ///
    /// # Errors
    /// [`ReadError`] if it is no object, or at the first key that is not allowed.
    pub fn fields(&self, allowed: &[&str]) -> Result<Fields<'a>, ReadError> {
        let object = self.object()?;
        match object.keys().find(|key| !allowed.contains(&key.as_str())) {
            None => Ok(Fields {
                object,
                node: self.clone(),
            }),
            Some(key) => Err(self
                .child(key)
                .error(format!("unknown key; known here: {}", allowed.join(", ")))),
        }
    }

    fn object(&self) -> Result<&'a Map<String, Value>, ReadError> {
        self.value.as_object().ok_or_else(|| self.expected("an object"))
    }

    fn child(&self, key: &str) -> Node<'a> {
        let value = self.value.get(key).unwrap_or(&Value::Null);
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        Node { value, path }
    }

    fn expected(&self, what: &str) -> ReadError {
        let kind = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.error(format!("expected {what}, found {kind}"))
    }
}

/// The keys of an object, checked against what is allowed there.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    node: Node<'a>,
}

impl Fields<'_> {
    /// Whether the key is present.
    pub fn has(&self, key: &str) -> bool {
        self.object.contains_key(key)
    }

    /// The value of a key that must be there.
    ///
    /// # Errors
    /// [`ReadError`] if the key is missing or its value does not fit.
    pub fn required<T: Read>(&self, key: &str) -> Result<T, ReadError> {
        if self.has(key) {
            self.node.child(key).read()
        } else {
            Err(self.node.error(format!("the key `{key}` is missing")))
        }
    }

    /// The value of a key that may be absent.
    ///
    /// # Errors
    /// [`ReadError`] if the key is present and its value does not fit.
    pub fn optional<T: Read>(&self, key: &str) -> Result<Option<T>, ReadError> {
        if self.has(key) {
            self.node.child(key).read().map(Some)
        } else {
            Ok(None)
        }
    }

    /// The value of a key, or the type's default if the key is absent.
    ///
    /// # Errors
    /// [`ReadError`] if the key is present and its value does not fit.
    pub fn or_default<T: Read + Default>(&self, key: &str) -> Result<T, ReadError> {
        Ok(self.optional(key)?.unwrap_or_default())
    }

    /// Exactly one of `keys` must be present: which one it is.
    ///
    /// # Errors
    /// [`ReadError`] if none is present, or more than one.
    pub fn exactly_one<'k>(&self, keys: &[&'k str]) -> Result<&'k str, ReadError> {
        let mut present = keys.iter().filter(|key| self.has(key));
        match (present.next(), present.next()) {
            (Some(key), None) => Ok(key),
            _ => Err(self
                .node
                .error(format!("exactly one of these keys is needed: {}", keys.join(", ")))),
        }
    }

    /// An error at this object.
    pub fn error(&self, problem: impl Into<String>) -> ReadError {
        self.node.error(problem)
    }
}

impl Read for String {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        node.value
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| node.expected("a string"))
    }
}

impl Read for bool {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        node.value.as_bool().ok_or_else(|| node.expected("a boolean"))
    }
}

impl Read for u64 {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        node.value
            .as_u64()
            .ok_or_else(|| node.expected("a whole number, not negative"))
    }
}

impl Read for f64 {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        node.value.as_f64().ok_or_else(|| node.expected("a number"))
    }
}

impl Read for Value {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        Ok(node.value.clone())
    }
}

impl Read for Map<String, Value> {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        node.object().cloned()
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let items = node.value.as_array().ok_or_else(|| node.expected("a list"))?;
        items
            .iter()
            .enumerate()
            .map(|(index, value)| {
                Node {
                    value,
                    path: format!("{}[{index}]", node.path),
                }
                .read()
            })
            .collect()
    }
}

impl<T: Read> Read for BTreeMap<String, T> {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        node.object()?
            .keys()
            .map(|key| Ok((key.clone(), node.child(key).read()?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::json;

    use super::*;

    #[derive(Debug)]
    struct Pair {
        _left: String,
    }

    impl Read for Pair {
        fn read(node: &Node<'_>) -> Result<Self, ReadError> {
            let fields = node.fields(&["left", "right"])?;
            Ok(Self {
                _left: fields.required("left")?,
            })
        }
    }

    fn error<T: Read + std::fmt::Debug>(value: Value) -> String {
        Node::root(&value).read::<T>().unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_named_with_its_path_and_the_known_keys() {
        let value = json!({"a": [{"left": "x"}, {"left": "x", "lefft": 1}]});
        assert_eq!(
            error::<BTreeMap<String, Vec<Pair>>>(value),
            "`a[1].lefft`: unknown key; known here: left, right"
        );
    }

    #[test]
    fn a_missing_key_is_named_at_the_object_that_lacks_it() {
        assert_eq!(error::<Vec<Pair>>(json!([{}])), "`[0]`: the key `left` is missing");
        assert_eq!(error::<Pair>(json!({})), "`.`: the key `left` is missing");
    }

    #[test]
    fn a_wrong_type_says_what_was_expected_and_found() {
        assert_eq!(
            error::<Pair>(json!({"left": null})),
            "`left`: expected a string, found null"
        );
        assert_eq!(
            error::<u64>(json!(-1)),
            "`.`: expected a whole number, not negative, found a number"
        );
        assert_eq!(
            error::<Vec<bool>>(json!([true, "x"])),
            "`[1]`: expected a boolean, found a string"
        );
    }

    #[test]
    fn one_of_several_keys_means_neither_none_nor_two() {
        let which = |value: Value| Node::root(&value).fields(&["a", "b"])?.exactly_one(&["a", "b"]);
        assert_eq!(which(json!({"b": 1})).unwrap(), "b");
        assert!(which(json!({})).is_err());
        assert!(which(json!({"a": 1, "b": 1})).is_err());
    }
}
