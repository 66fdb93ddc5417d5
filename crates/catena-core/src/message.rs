//! Messages: what people, models and tools say to each other.
//!
//! A message has an id and a list of [parts](Part). Messages are shared by [`Arc`](std::sync::Arc) and never edited in place:
//! once admitted to a thread's record they stay as they are, and what a model sees is a [view](crate::record) of them.

mod part;

pub use part::{Data, File, Image, Part, ProviderBlock, Reasoning, Text};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{CallId, MessageId};
use crate::model::{StopReason, Usage};

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Instructions inside the conversation. The agent's own prompt is not a message: it is [prompt sections](crate::prompt).
    System(SystemMessage),
    /// What a person (or a program in a person's place) said.
    User(UserMessage),
    /// What a model said, and the calls it asks for.
    Assistant(AssistantMessage),
    /// The result of one call.
    Tool(ToolMessage),
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// See [`Message::System`].
    System,
    /// See [`Message::User`].
    User,
    /// See [`Message::Assistant`].
    Assistant,
    /// See [`Message::Tool`].
    Tool,
}

impl Role {
    /// The role's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// See [`Message::System`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemMessage {
    /// Unique in its thread.
    pub id: MessageId,
    /// What it says.
    pub parts: Vec<Part>,
}

/// See [`Message::User`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Unique in its thread.
    pub id: MessageId,
    /// Who of several people speaks, if that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What was said.
    pub parts: Vec<Part>,
    /// Which middleware wrote it in a person's place, such as a summary. Absent on what a person said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_by: Option<String>,
}

/// See [`Message::Assistant`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// Unique in its thread.
    pub id: MessageId,
    /// The agent that speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Text, reasoning, calls and provider blocks in the order the model produced them.
    pub parts: Vec<Part>,
    /// Why the model stopped.
    #[serde(default)]
    pub stop: StopReason,
    /// The model that answered, as `provider:model`; absent on messages that no model wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the provider reported for the call.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
}

/// See [`Message::Tool`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolMessage {
    /// Unique in its thread.
    pub id: MessageId,
    /// The call this answers.
    pub call: CallId,
    /// The tool's name.
    pub name: String,
    /// What the model reads.
    pub parts: Vec<Part>,
    /// Whether the call succeeded.
    #[serde(default)]
    pub status: ToolStatus,
    /// What programs read and the model does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Value>,
}

/// How a call ended, as the model is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The result is what the tool is for.
    #[default]
    Success,
    /// The result says what went wrong.
    Error,
}

/// A model's wish to have a tool called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// Always a JSON object, so that it can be replayed to any provider; empty when `invalid` is set.
    pub input: Value,
    /// Set when the arguments that the model wrote are not a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<InvalidInput>,
    /// An opaque token that the provider wants back with the call (Gemini's thought signature).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl ToolCall {
    /// A call as a model would make it; `input` should be a JSON object.
    pub fn new(id: impl Into<CallId>, name: impl Into<String>, input: Value) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            input,
            invalid: None,
            signature: None,
        }
    }
}

/// Arguments that could not be understood, kept as the model wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvalidInput {
    /// The text the model wrote.
    pub text: String,
    /// What is wrong with it, in words that the model can act on.
    pub reason: String,
}

impl Message {
    /// A message from a person.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(UserMessage {
            id: MessageId::fresh(),
            name: None,
            parts: vec![Part::text(text)],
            written_by: None,
        })
    }

    /// A message from a person with several parts, such as a question and an image.
    pub fn user_parts(parts: Vec<Part>) -> Self {
        Self::User(UserMessage {
            id: MessageId::fresh(),
            name: None,
            parts,
            written_by: None,
        })
    }

    /// Instructions inside the conversation.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System(SystemMessage {
            id: MessageId::fresh(),
            parts: vec![Part::text(text)],
        })
    }

    /// A message from a model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant(AssistantMessage::new(vec![Part::text(text)]))
    }

    /// The message's id.
    pub fn id(&self) -> &MessageId {
        match self {
            Self::System(m) => &m.id,
            Self::User(m) => &m.id,
            Self::Assistant(m) => &m.id,
            Self::Tool(m) => &m.id,
        }
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        match self {
            Self::System(_) => Role::System,
            Self::User(_) => Role::User,
            Self::Assistant(_) => Role::Assistant,
            Self::Tool(_) => Role::Tool,
        }
    }

    /// What is said, part by part.
    pub fn parts(&self) -> &[Part] {
        match self {
            Self::System(m) => &m.parts,
            Self::User(m) => &m.parts,
            Self::Assistant(m) => &m.parts,
            Self::Tool(m) => &m.parts,
        }
    }

    /// The parts, to write a changed copy of a message that is not in the record yet.
    pub fn parts_mut(&mut self) -> &mut Vec<Part> {
        match self {
            Self::System(m) => &mut m.parts,
            Self::User(m) => &mut m.parts,
            Self::Assistant(m) => &mut m.parts,
            Self::Tool(m) => &mut m.parts,
        }
    }

    /// The text parts, joined without a separator.
    pub fn text(&self) -> String {
        text_of(self.parts())
    }

    /// The calls it asks for; empty for every role but the assistant's.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts().iter().filter_map(Part::as_call)
    }

    /// The assistant message, if it is one.
    pub fn as_assistant(&self) -> Option<&AssistantMessage> {
        match self {
            Self::Assistant(m) => Some(m),
            _ => None,
        }
    }

    /// The tool message, if it is one.
    pub fn as_tool(&self) -> Option<&ToolMessage> {
        match self {
            Self::Tool(m) => Some(m),
            _ => None,
        }
    }
}

impl AssistantMessage {
    /// A message with a fresh id that no model wrote.
    pub fn new(parts: Vec<Part>) -> Self {
        Self {
            id: MessageId::fresh(),
            name: None,
            parts,
            stop: StopReason::default(),
            model: None,
            usage: Usage::default(),
        }
    }

    /// The text parts, joined without a separator.
    pub fn text(&self) -> String {
        text_of(&self.parts)
    }

    /// The calls it asks for, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(Part::as_call)
    }

    /// The calls it asks for, to change a message that is not in the record yet.
    pub fn calls_mut(&mut self) -> impl Iterator<Item = &mut ToolCall> {
        self.parts.iter_mut().filter_map(Part::as_call_mut)
    }

    /// Whether it says nothing: no text, no call, nothing from the provider. Reasoning alone is nothing.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Text(text) => text.text.is_empty(),
            Part::Reasoning(_) => true,
            _ => false,
        })
    }
}

fn text_of(parts: &[Part]) -> String {
    let mut texts = parts.iter().filter_map(Part::as_text);
    let first = texts.next().unwrap_or_default();
    texts.fold(first.to_owned(), |joined, text| joined + text)
}

#[cfg(test)]
mod tests;
