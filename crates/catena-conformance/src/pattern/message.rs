//! Message patterns and the calls in them.

use super::{Check, Keys, TextPattern, ValuePattern};
use crate::mismatch::{Mismatch, quote};
use crate::observed::{Message, Role, ToolCall};
use crate::read::{Node, Read, ReadError};
use crate::scenario::Status;

/// What a message must look like.
#[derive(Clone, Debug, PartialEq)]
pub struct MessagePattern {
    /// Who speaks.
    pub role: Role,
    /// Its text, if judged.
    pub text: Option<TextPattern>,
    /// The call it answers, if judged.
    pub tool_call_id: Option<String>,
    /// Whether it must be a failure (true) or must not be one (false), if judged.
    pub failed: Option<bool>,
    /// Its calls: the same, in the same order. A pattern without demands that there is none.
    pub tool_calls: Vec<ToolCallPattern>,
    /// Whether the message may be missing.
    pub optional: bool,
}

/// What a call in a message must look like.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCallPattern {
    /// The call's id, if judged.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments, if judged.
    pub args: Option<ValuePattern>,
}

impl MessagePattern {
    /// Checks a message.
    ///
    /// # Errors
    /// The first difference: role, calls, id, status, then text.
    pub fn check(&self, got: &Message) -> Check {
        if self.role != got.role {
            return Err(Mismatch::new(self.role.name(), describe(got)).at("role"));
        }
        self.check_calls(got)?;
        if self.tool_call_id.is_some() && self.tool_call_id != got.tool_call_id {
            return Err(
                Mismatch::new(format!("{:?}", self.tool_call_id), format!("{:?}", got.tool_call_id)).at("tool_call_id"),
            );
        }
        if self.failed.is_some_and(|failed| failed != got.failed) {
            let status = |failed| if failed { "error" } else { "success" };
            return Err(Mismatch::new(
                status(!got.failed),
                format!("{} in {}", status(got.failed), describe(got)),
            )
            .at("status"));
        }
        self.text.as_ref().map_or(Ok(()), |text| {
            text.check(&got.text).map_err(|mismatch| mismatch.at("text"))
        })
    }

    fn check_calls(&self, got: &Message) -> Check {
        for (index, (pattern, call)) in self.tool_calls.iter().zip(&got.tool_calls).enumerate() {
            pattern
                .check(call)
                .map_err(|mismatch| mismatch.at_index(index).at("tool_calls"))?;
        }
        if self.tool_calls.len() == got.tool_calls.len() {
            return Ok(());
        }
        let wanted: Vec<_> = self.tool_calls.iter().map(|call| call.name.as_str()).collect();
        Err(Mismatch::new(format!("{} calls {wanted:?}", wanted.len()), describe(got)).at("tool_calls"))
    }
}

impl ToolCallPattern {
    fn check(&self, got: &ToolCall) -> Check {
        if self.name != got.name {
            return Err(Mismatch::new(quote(&self.name), quote(&got.name)).at("name"));
        }
        if let Some(id) = self.id.as_ref().filter(|&id| *id != got.id) {
            return Err(Mismatch::new(quote(id), quote(&got.id)).at("id"));
        }
        self.args.as_ref().map_or(Ok(()), |args| {
            args.check(&got.args, Keys::Same)
                .map_err(|mismatch| mismatch.at("args"))
        })
    }
}

/// A message in one line.
pub(crate) fn describe(message: &Message) -> String {
    let calls: Vec<_> = message
        .tool_calls
        .iter()
        .map(|call| format!("{}({})", call.name, call.args))
        .collect();
    let calls = if calls.is_empty() {
        String::new()
    } else {
        format!(" calling {}", calls.join(", "))
    };
    let id = message
        .tool_call_id
        .as_ref()
        .map_or_else(String::new, |id| format!(" for {id}"));
    format!("{}{id} {}{calls}", message.role, quote(&message.text))
}

impl Read for MessagePattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["role", "text", "tool_calls", "tool_call_id", "status", "optional"])?;
        Ok(Self {
            role: fields.required("role")?,
            text: fields.optional("text")?,
            tool_call_id: fields.optional("tool_call_id")?,
            failed: fields
                .optional::<Status>("status")?
                .map(|status| status == Status::Error),
            tool_calls: fields.or_default("tool_calls")?,
            optional: fields.or_default("optional")?,
        })
    }
}

impl Read for ToolCallPattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["id", "name", "args"])?;
        Ok(Self {
            id: fields.optional("id")?,
            name: fields.required("name")?,
            args: fields.optional("args")?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::{Value, json};

    use super::*;

    fn check(pattern: Value, got: &Message) -> Result<(), String> {
        Node::root(&pattern)
            .read::<MessagePattern>()
            .unwrap()
            .check(got)
            .map_err(|mismatch| mismatch.path())
    }

    fn assistant() -> Message {
        let call = |id: &str, q: &str| ToolCall {
            id: id.into(),
            name: "search".into(),
            args: json!({"q": q}),
        };
        Message {
            role: Role::Assistant,
            text: "let me see".into(),
            tool_calls: vec![call("c1", "a"), call("c2", "b")],
            ..Message::default()
        }
    }

    fn result() -> Message {
        Message {
            role: Role::Tool,
            text: "down".into(),
            tool_call_id: Some("c1".into()),
            failed: true,
            ..Message::default()
        }
    }

    #[test]
    fn the_role_is_equal_and_the_rest_is_judged_only_if_given() {
        assert_eq!(check(json!({"role": "tool"}), &result()), Ok(()));
        assert_eq!(check(json!({"role": "user"}), &result()), Err("role".into()));
    }

    #[test]
    fn text_and_call_id_must_fit_if_given() {
        assert_eq!(
            check(json!({"role": "tool", "text": "down", "tool_call_id": "c1"}), &result()),
            Ok(())
        );
        assert_eq!(
            check(json!({"role": "tool", "text": {"contains": ["up"]}}), &result()),
            Err("text.contains[0]".into())
        );
        assert_eq!(
            check(json!({"role": "tool", "tool_call_id": "c2"}), &result()),
            Err("tool_call_id".into())
        );
        assert_eq!(
            check(json!({"role": "user", "tool_call_id": "c2"}), &Message::default()),
            Err("tool_call_id".into())
        );
    }

    #[test]
    fn status_success_means_not_failed() {
        let fine = Message {
            failed: false,
            ..result()
        };
        assert_eq!(check(json!({"role": "tool", "status": "error"}), &result()), Ok(()));
        assert_eq!(
            check(json!({"role": "tool", "status": "success"}), &result()),
            Err("status".into())
        );
        assert_eq!(check(json!({"role": "tool", "status": "success"}), &fine), Ok(()));
        assert_eq!(
            check(json!({"role": "tool", "status": "error"}), &fine),
            Err("status".into())
        );
    }

    #[test]
    fn a_pattern_without_calls_demands_a_message_without_any() {
        assert_eq!(
            check(json!({"role": "assistant"}), &assistant()),
            Err("tool_calls".into())
        );
        assert_eq!(
            check(json!({"role": "assistant", "tool_calls": []}), &assistant()),
            Err("tool_calls".into())
        );
        assert_eq!(
            check(
                json!({"role": "assistant", "tool_calls": [{"name": "search"}]}),
                &Message {
                    role: Role::Assistant,
                    ..Message::default()
                }
            ),
            Err("tool_calls".into())
        );
    }

    #[test]
    fn calls_are_the_same_in_the_same_order() {
        let both = json!({"role": "assistant", "tool_calls": [{"id": "c1", "name": "search", "args": {"q": "a"}}, {"name": "search"}]});
        assert_eq!(check(both, &assistant()), Ok(()));
        let turned = json!({"role": "assistant", "tool_calls": [{"id": "c2", "name": "search"}, {"id": "c1", "name": "search"}]});
        assert_eq!(check(turned, &assistant()), Err("tool_calls[0].id".into()));
        let one = json!({"role": "assistant", "tool_calls": [{"id": "c1", "name": "search"}]});
        assert_eq!(check(one, &assistant()), Err("tool_calls".into()));
    }

    #[test]
    fn name_id_and_args_of_a_call_must_fit() {
        let call = |call: Value| {
            check(
                json!({"role": "assistant", "tool_calls": [call, {"name": "search"}]}),
                &assistant(),
            )
        };
        assert_eq!(call(json!({"name": "read"})), Err("tool_calls[0].name".into()));
        assert_eq!(
            call(json!({"name": "search", "id": "c9"})),
            Err("tool_calls[0].id".into())
        );
        assert_eq!(
            call(json!({"name": "search", "args": {"q": {"contains": ["z"]}}})),
            Err("tool_calls[0].args.q.contains[0]".into())
        );
        assert_eq!(
            call(json!({"name": "search", "args": {}})),
            Err("tool_calls[0].args.q".into())
        );
    }
}
