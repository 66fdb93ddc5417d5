//! TEXT: a string, or `{"repeat": S, "times": N}` for S written N times.

use serde_json::{Map, Value};

use crate::read::{Node, Read, ReadError};

/// Longest text a scenario may ask for, in bytes. The largest in use is a few hundred kilobytes; a slip of a digit should be an error, not
/// a machine without memory.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// A text, written out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub String);

impl Text {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text with each `{name}` replaced by the argument of that name: strings as they are, other values as JSON. Braces that name no
    /// argument stay, and what was inserted is not searched again.
    pub fn fill(&self, args: &Value) -> String {
        let mut filled = String::with_capacity(self.0.len());
        let mut rest = self.0.as_str();
        while let Some(open) = rest.find('{') {
            let (before, from_brace) = rest.split_at(open);
            filled.push_str(before);
            let argument = from_brace
                .find('}')
                .and_then(|close| args.get(&from_brace[1..close]).map(|value| (close, value)));
            match argument {
                Some((close, value)) => {
                    filled.push_str(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                    rest = &from_brace[close + 1..];
                }
                None => {
                    filled.push('{');
                    rest = &from_brace[1..];
                }
            }
        }
        filled.push_str(rest);
        filled
    }
}

impl Read for Text {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        if node.value().is_string() {
            return node.read().map(Self);
        }
        let fields = node.fields(&["repeat", "times"])?;
        let unit: String = fields.required("repeat")?;
        let times: u64 = fields.required("times")?;
        repeat(&unit, times)
            .map(Self)
            .ok_or_else(|| node.error(format!("a text may have at most {MAX_BYTES} bytes")))
    }
}

/// Writes out every TEXT inside a JSON value, as the arguments of scripted tool calls may hold them at any depth.
pub fn expand(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(expand).collect(),
        Value::Object(object) => match repeated(object) {
            Some(text) => Value::String(text),
            None => Value::Object(object.iter().map(|(key, value)| (key.clone(), expand(value))).collect()),
        },
        other => other.clone(),
    }
}

fn repeated(object: &Map<String, Value>) -> Option<String> {
    match (object.len(), object.get("repeat")?, object.get("times")?) {
        (2, Value::String(unit), Value::Number(times)) => repeat(unit, times.as_u64()?),
        _ => None,
    }
}

fn repeat(unit: &str, times: u64) -> Option<String> {
    let times = usize::try_from(times).ok()?;
    (unit.len().checked_mul(times)? <= MAX_BYTES).then(|| unit.repeat(times))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::json;

    use super::*;

    fn text(value: Value) -> Result<Text, ReadError> {
        Node::root(&value).read()
    }

    #[test]
    fn a_text_is_a_string_or_a_repetition() {
        assert_eq!(text(json!("ab")).unwrap().as_str(), "ab");
        assert_eq!(
            text(json!({"repeat": "ab ", "times": 3})).unwrap().as_str(),
            "ab ab ab "
        );
        assert_eq!(text(json!({"repeat": "ab", "times": 0})).unwrap().as_str(), "");
    }

    #[test]
    fn a_text_with_other_keys_or_of_absurd_length_is_refused() {
        assert!(text(json!({"repeat": "a", "times": 2, "sep": ","})).is_err());
        assert!(text(json!({"repeat": "a", "times": u64::MAX})).is_err());
        assert!(text(json!(7)).is_err());
    }

    #[test]
    fn arguments_fill_their_names_once_and_other_braces_stay() {
        let filled = |template: &str| Text(template.into()).fill(&json!({"q": "{n}", "n": 12, "o": {"a": 1}}));
        assert_eq!(filled("found {q}, {n}, {o}"), "found {n}, 12, {\"a\":1}");
        assert_eq!(filled("{x} {{n}} {"), "{x} {12} {");
        assert_eq!(Text("{q}".into()).fill(&Value::Null), "{q}");
    }

    #[test]
    fn texts_inside_arguments_are_written_out_at_any_depth() {
        let args = json!({"a": {"repeat": "x", "times": 2}, "b": [{"c": {"repeat": "y", "times": 3}}], "d": {"repeat": "z"}, "e": {"repeat": "z", "times": 1, "sep": ""}});
        assert_eq!(
            expand(&args),
            json!({"a": "xx", "b": [{"c": "yyy"}], "d": {"repeat": "z"}, "e": {"repeat": "z", "times": 1, "sep": ""}})
        );
    }
}
