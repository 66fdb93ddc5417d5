//! A TOML text as a tree that knows where everything stands.
//!
//! Each [`Node`] has its span in the text and the path of its key, so a problem found anywhere, at any time, can be shown in the file. The
//! tree can lose nodes that are wrong and goes on to say where the others are.

mod parse;

use std::ops::Range;

pub(crate) use parse::parse;

/// A value in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Where it stands, in bytes; absent if there is no text.
    pub(crate) span: Option<Range<usize>>,
    /// Its key, such as `agents.assistant.tools[0]`.
    pub(crate) path: String,
    pub(crate) value: Value,
}

/// What a [`Node`] holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// As it is written.
    Datetime(String),
    Array(Vec<Node>),
    Table(Vec<Member>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) key_span: Option<Range<usize>>,
    pub(crate) node: Node,
}

/// One step from a node to one in it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> From<&'a str> for Step<'a> {
    fn from(key: &'a str) -> Self {
        Self::Key(key)
    }
}

impl<'a> From<&'a String> for Step<'a> {
    fn from(key: &'a String) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl Node {
    /// A table without anything in it or around it.
    pub(crate) fn empty() -> Self {
        Self {
            span: None,
            path: String::new(),
            value: Value::Table(Vec::new()),
        }
    }

    /// The value as JSON. Numbers that JSON does not have become null.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::String(text) | Value::Datetime(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Boolean(value) => (*value).into(),
            Value::Array(items) => items.iter().map(Self::to_json).collect(),
            Value::Table(members) => members
                .iter()
                .map(|member| (member.key.clone(), member.node.to_json()))
                .collect(),
        }
    }

    /// The members of a table; of anything else there are none.
    pub(crate) fn members(&self) -> &[Member] {
        match &self.value {
            Value::Table(members) => members,
            _ => &[],
        }
    }

    /// The member of that name.
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.key == key)
    }

    /// The node at the end of these steps, if all of them are there.
    pub(crate) fn find<'a>(&self, steps: impl IntoIterator<Item = Step<'a>>) -> Option<&Self> {
        steps
            .into_iter()
            .try_fold(self, |node, step| match (step, &node.value) {
                (Step::Key(key), _) => node.member(key).map(|member| &member.node),
                (Step::Index(index), Value::Array(items)) => items.get(index),
                (Step::Index(_), _) => None,
            })
    }

    /// A copy of a table without these keys.
    pub(crate) fn without(&self, keys: &[&str]) -> Self {
        let mut copy = self.clone();
        if let Value::Table(members) = &mut copy.value {
            members.retain(|member| !keys.contains(&member.key.as_str()));
        }
        copy
    }

    /// What kind of value it is, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::String(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a number with a fraction",
            Value::Boolean(_) => "true or false",
            Value::Datetime(_) => "a date or time",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// The path of something in the value at `path`.
pub(crate) fn join(path: &str, step: Step<'_>) -> String {
    let key = match step {
        Step::Index(index) => return format!("{path}[{index}]"),
        Step::Key(key) => key,
    };
    let bare = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let key = if bare { key.to_owned() } else { format!("{key:?}") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::*;
    use crate::source::Source;

    #[test]
    fn every_value_knows_its_span_and_its_path() {
        let text = "[agents.\"a b\"]\ntools = [\"x\", \"y\"]\n";
        let root = parse(&Source::new(Path::new("x"), text)).unwrap();
        let node = root
            .find(["agents".into(), "a b".into(), "tools".into(), 1.into()])
            .unwrap();
        assert_eq!(node.path, r#"agents."a b".tools[1]"#);
        assert_eq!(&text[node.span.clone().unwrap()], "\"y\"");
        assert!(root.find(["agents".into(), 0.into()]).is_none());
    }

    #[test]
    fn a_tree_is_read_as_json_would_be() {
        let text = "a = [1, 2.5, true, 'x', { b = {} }]\nwhen = 2000-01-01";
        let root = parse(&Source::new(Path::new("x"), text)).unwrap();
        let json = serde_json::json!({"a": [1, 2.5, true, "x", {"b": {}}], "when": "2000-01-01"});
        assert_eq!(root.to_json(), json);
    }
}
