//! Messages between the format and catena.

use catena_core::id::MessageId;
use catena_core::message::{self as core, AssistantMessage, Part, ToolMessage, ToolStatus};
use serde_json::Value;

use crate::observed::{Message, Role, ToolCall};
use crate::scenario::InputMessage;

/// A message of catena as the format tells it.
pub(super) fn observed(message: &core::Message) -> Message {
    let result = message.as_tool();
    Message {
        role: match message.role() {
            core::Role::System => Role::System,
            core::Role::User => Role::User,
            core::Role::Assistant => Role::Assistant,
            core::Role::Tool => Role::Tool,
        },
        text: message.text(),
        tool_calls: message.calls().map(observed_call).collect(),
        tool_call_id: result.map(|result| result.call.to_string()),
        failed: result.is_some_and(|result| result.status == ToolStatus::Error),
    }
}

fn observed_call(call: &core::ToolCall) -> ToolCall {
    let args = match &call.invalid {
        Some(invalid) => Value::String(invalid.text.clone()),
        None => call.input.clone(),
    };
    ToolCall {
        id: call.id.to_string(),
        name: call.name.clone(),
        args,
    }
}

/// The messages of a turn for catena.
pub(super) fn input(messages: &[InputMessage]) -> Vec<core::Message> {
    messages
        .iter()
        .map(|message| {
            let text = message.text.0.clone();
            match message.role {
                Role::System => core::Message::system(text),
                Role::User => core::Message::user(text),
                Role::Assistant => core::Message::Assistant(AssistantMessage::new(assistant_parts(message))),
                Role::Tool => core::Message::Tool(ToolMessage {
                    id: MessageId::fresh(),
                    call: message.tool_call_id.clone().unwrap_or_default().into(),
                    name: tool_name(message, messages),
                    parts: vec![Part::text(text)],
                    status: match message.failed {
                        true => ToolStatus::Error,
                        false => ToolStatus::Success,
                    },
                    artifact: None,
                }),
            }
        })
        .collect()
}

fn assistant_parts(message: &InputMessage) -> Vec<Part> {
    let text = Some(&message.text.0).filter(|text| !text.is_empty());
    let calls = message
        .tool_calls
        .iter()
        .map(|call| core::ToolCall::new(call.id.clone(), &call.name, call.args.clone()));
    text.map(Part::text)
        .into_iter()
        .chain(calls.map(Part::ToolCall))
        .collect()
}

/// A result need not say its tool: the call does.
fn tool_name(result: &InputMessage, messages: &[InputMessage]) -> String {
    let call = || {
        let mut calls = messages.iter().flat_map(|message| &message.tool_calls);
        let call = calls.find(|call| Some(&call.id) == result.tool_call_id.as_ref())?;
        Some(call.name.clone())
    };
    result.name.clone().or_else(call).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text::Text;

    fn message(role: Role, text: &str) -> InputMessage {
        InputMessage {
            role,
            text: Text(text.to_owned()),
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
            failed: false,
        }
    }

    #[test]
    fn messages_of_every_role_are_the_same_after_the_way_through_catena() {
        let call = ToolCall {
            id: "c1".into(),
            name: "search".into(),
            args: json!({"q": "a"}),
        };
        let history = [
            message(Role::System, "rules"),
            message(Role::User, "go"),
            InputMessage {
                tool_calls: vec![call.clone()],
                ..message(Role::Assistant, "")
            },
            InputMessage {
                tool_call_id: Some("c1".into()),
                failed: true,
                ..message(Role::Tool, "down")
            },
        ];
        let messages = input(&history);
        assert_eq!(messages[3].as_tool().map(|result| result.name.as_str()), Some("search"));
        let told: Vec<Message> = messages.iter().map(observed).collect();
        assert_eq!(
            told.iter().map(|m| m.role).collect::<Vec<_>>(),
            history.iter().map(|m| m.role).collect::<Vec<_>>()
        );
        assert_eq!(told[2].tool_calls, [call]);
        assert_eq!((told[3].tool_call_id.as_deref(), told[3].failed), (Some("c1"), true));
    }

    #[test]
    fn arguments_that_are_not_json_are_told_as_their_text() {
        let mut call = core::ToolCall::new("c1", "search", json!({}));
        call.invalid = Some(core::InvalidInput {
            text: "{\"q".into(),
            reason: "cut".into(),
        });
        assert_eq!(observed_call(&call).args, json!("{\"q"));
    }
}
