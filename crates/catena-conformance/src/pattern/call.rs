//! Model call patterns.

use serde_json::Value;

use super::{Check, MessagePattern, NamesPattern, TextPattern};
use crate::compare::{ResultsOrder, check_messages};
use crate::mismatch::{Mismatch, quote};
use crate::observed::ModelCall;
use crate::read::{Node, Read, ReadError};

/// What a request to a model must look like.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCallPattern {
    /// The model's name.
    pub model: String,
    /// The complete list of its messages, if judged.
    pub messages: Option<Vec<MessagePattern>>,
    /// The texts of all messages joined by line breaks, if judged: for requests that a middleware words itself.
    pub all_text: Option<TextPattern>,
    /// The tools offered, in any order, if judged.
    pub tools: Option<NamesPattern>,
    /// The tool choice as sent, if judged.
    pub tool_choice: Option<Value>,
}

impl ModelCallPattern {
    /// Checks a request.
    ///
    /// # Errors
    /// The first difference: model, messages, texts, tools, tool choice.
    pub fn check(&self, got: &ModelCall, order: ResultsOrder) -> Check {
        if self.model != got.model {
            return Err(Mismatch::new(quote(&self.model), quote(&got.model)).at("model"));
        }
        if let Some(messages) = &self.messages {
            check_messages(messages, &got.messages, order).map_err(|mismatch| mismatch.at("messages"))?;
        }
        if let Some(pattern) = &self.all_text {
            let texts: Vec<_> = got.messages.iter().map(|message| message.text.as_str()).collect();
            pattern
                .check(&texts.join("\n"))
                .map_err(|mismatch| mismatch.at("all_text"))?;
        }
        if let Some(tools) = &self.tools {
            tools.check_set(&got.tools).map_err(|mismatch| mismatch.at("tools"))?;
        }
        if self.tool_choice.is_some() && self.tool_choice != got.tool_choice {
            let show =
                |choice: &Option<Value>| choice.as_ref().map_or_else(|| "none sent".to_owned(), Value::to_string);
            return Err(Mismatch::new(show(&self.tool_choice), show(&got.tool_choice)).at("tool_choice"));
        }
        Ok(())
    }
}

impl Read for ModelCallPattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["model", "messages", "all_text", "tools", "tool_choice"])?;
        Ok(Self {
            model: fields.required("model")?,
            messages: fields.optional("messages")?,
            all_text: fields.optional("all_text")?,
            tools: fields.optional("tools")?,
            tool_choice: fields.optional("tool_choice")?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::json;

    use super::*;
    use crate::observed::{Message, Role};

    fn check(pattern: Value) -> Result<(), String> {
        let message = |role, text: &str| Message {
            role,
            text: text.into(),
            ..Message::default()
        };
        let got = ModelCall {
            model: "main".into(),
            messages: vec![message(Role::System, "be brief"), message(Role::User, "hi")],
            tools: vec!["a".into(), "b".into()],
            tool_choice: Some(json!("auto")),
        };
        Node::root(&pattern)
            .read::<ModelCallPattern>()
            .unwrap()
            .check(&got, ResultsOrder::Listed)
            .map_err(|mismatch| mismatch.path())
    }

    #[test]
    fn the_model_is_equal_and_the_rest_is_judged_only_if_given() {
        assert_eq!(check(json!({"model": "main"})), Ok(()));
        assert_eq!(check(json!({"model": "sub"})), Err("model".into()));
    }

    #[test]
    fn messages_are_a_complete_list() {
        assert_eq!(
            check(json!({"model": "main", "messages": [{"role": "system"}, {"role": "user", "text": "hi"}]})),
            Ok(())
        );
        assert_eq!(
            check(json!({"model": "main", "messages": [{"role": "system"}]})),
            Err("messages[1]".into())
        );
        assert_eq!(
            check(json!({"model": "main", "messages": [{"role": "system"}, {"role": "user", "text": "ho"}]})),
            Err("messages[1].text".into())
        );
    }

    #[test]
    fn all_text_joins_the_texts_of_all_messages_by_line_breaks() {
        assert_eq!(check(json!({"model": "main", "all_text": "be brief\nhi"})), Ok(()));
        assert_eq!(
            check(json!({"model": "main", "all_text": {"excludes": ["brief"]}})),
            Err("all_text.excludes[0]".into())
        );
    }

    #[test]
    fn tools_are_a_set_and_the_choice_is_equal() {
        assert_eq!(
            check(json!({"model": "main", "tools": ["b", "a"], "tool_choice": "auto"})),
            Ok(())
        );
        assert_eq!(check(json!({"model": "main", "tools": ["a"]})), Err("tools".into()));
        assert_eq!(
            check(json!({"model": "main", "tools": {"excludes": ["a"]}})),
            Err("tools.excludes[0]".into())
        );
        assert_eq!(
            check(json!({"model": "main", "tool_choice": "none"})),
            Err("tool_choice".into())
        );
    }
}
