//! The pieces of an answer as they arrive, and how they become one message.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ModelError, ModelErrorKind, StopReason, Usage};
use crate::id::{CallId, MessageId};
use crate::message::{AssistantMessage, InvalidInput, Part, Reasoning, ToolCall};

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "delta", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelDelta {
    /// More words.
    Text {
        /// The words.
        text: String,
    },
    /// More of a thought.
    Reasoning {
        /// The words.
        text: String,
    },
    /// The end of a thought, with its proof; the text in it is not used.
    ReasoningEnd(Reasoning),
    /// A part that arrives whole.
    Part(Part),
    /// A piece of a call. See [`Fold`] for which call it belongs to.
    ToolCall {
        /// The provider's number for the call within the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<u32>,
        /// The call's id, usually on its first piece.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<CallId>,
        /// The tool's name, usually on its first piece.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// More of the arguments' JSON text.
        arguments: String,
    },
    /// The call's tokens so far; a later report replaces an earlier one.
    Usage(Usage),
    /// The answer is complete.
    End {
        /// Why the model stopped.
        stop: StopReason,
    },
}

/// Puts the pieces of an answer together.
///
/// Providers number parallel calls in different ways, so a piece is placed by these rules: a new id starts a new call, even at an index
/// that is in use, and so does a used id with a name at an index of its own; a piece with the id or the index of a call continues it; a
/// piece with neither continues the call that started last.
/// Empty arguments mean an empty object. Arguments that are not a JSON object make the call [invalid](ToolCall::invalid); it is kept,
/// and the loop answers it with the reason.
#[derive(Debug, Default)]
pub struct Fold {
    slots: Vec<Slot>,
    usage: Usage,
    stop: Option<StopReason>,
    /// Bytes so far.
    size: usize,
}

#[derive(Debug)]
enum Slot {
    Done(Part),
    Text(String),
    Thought(String),
    Call(OpenCall),
}

#[derive(Debug)]
struct OpenCall {
    index: Option<u32>,
    id: Option<CallId>,
    name: String,
    arguments: String,
}

impl Fold {
    /// Bytes that an answer may have, 32 MiB: a hundred times what the longest models write, and room for some pictures. A stream that
    /// goes on for ever ends here.
    pub const MAX_BYTES: usize = 32 << 20;

    /// Takes the next piece. Once the answer is [full](Self::is_full), pieces are dropped.
    pub fn push(&mut self, delta: ModelDelta) {
        self.size = self.size.saturating_add(size(&delta));
        if self.is_full() {
            self.slots.clear();
            return;
        }
        let parts = self.slots.len();
        match delta {
            ModelDelta::Text { text } => match self.slots.last_mut() {
                Some(Slot::Text(so_far)) => so_far.push_str(&text),
                _ if text.is_empty() => {}
                _ => self.slots.push(Slot::Text(text)),
            },
            ModelDelta::Reasoning { text } => match self.slots.last_mut() {
                Some(Slot::Thought(so_far)) => so_far.push_str(&text),
                _ if text.is_empty() => {}
                _ => self.slots.push(Slot::Thought(text)),
            },
            ModelDelta::ReasoningEnd(mut end) => {
                end.text = match self.slots.pop() {
                    Some(Slot::Thought(text)) => text,
                    other => {
                        self.slots.extend(other);
                        String::new()
                    }
                };
                self.slots.push(Slot::Done(Part::Reasoning(end)));
            }
            ModelDelta::Part(part) => self.slots.push(Slot::Done(part)),
            ModelDelta::ToolCall {
                index,
                id,
                name,
                arguments,
            } => self.call(index, id, name, &arguments),
            ModelDelta::Usage(usage) => self.usage = usage,
            ModelDelta::End { stop } => self.stop = Some(stop),
        }
        // Their places count too: they are all that an endless stream of empty calls takes up.
        self.size += self.slots.len().saturating_sub(parts) * size_of::<Slot>();
    }

    fn call(&mut self, index: Option<u32>, id: Option<CallId>, name: Option<String>, arguments: &str) {
        let id = id.filter(|id| !id.is_empty());
        let name = name.filter(|name| !name.is_empty());
        let mut calls = self.slots.iter_mut().rev().filter_map(|slot| match slot {
            Slot::Call(call) => Some(call),
            _ => None,
        });
        let found = match (&id, index) {
            (Some(id), _) => calls.find(|call| match &call.id {
                Some(known) => {
                    known == id && !(name.is_some() && index.is_some_and(|i| call.index.is_some_and(|j| i != j)))
                }
                // The id comes after the first piece: it belongs to the call at its index.
                None => index.is_some() && call.index == index,
            }),
            (None, Some(index)) => calls.find(|call| call.index == Some(index)),
            // A piece with a name but neither id nor index is a whole call of its own (Ollama's native stream).
            (None, None) if name.is_some() => None,
            (None, None) => calls.next(),
        };
        match found {
            Some(call) => {
                call.id = call.id.take().or(id);
                if call.name.is_empty() {
                    call.name = name.unwrap_or_default();
                }
                call.arguments.push_str(arguments);
            }
            None => self.slots.push(Slot::Call(OpenCall {
                index,
                id,
                name: name.unwrap_or_default(),
                arguments: arguments.to_owned(),
            })),
        }
    }

    /// Whether the answer has become larger than it [may be](Self::MAX_BYTES): the rest of the stream need not be read.
    pub fn is_full(&self) -> bool {
        self.size > Self::MAX_BYTES
    }

    /// What was reported so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The complete message.
    ///
    /// # Errors
    /// [`Truncated`](ModelErrorKind::Truncated) if no end came; [`Empty`](ModelErrorKind::Empty) if the answer says nothing;
    /// [`Malformed`](ModelErrorKind::Malformed) if it is [full](Self::is_full).
    pub fn finish(self, id: MessageId, model: &str) -> Result<AssistantMessage, ModelError> {
        if self.is_full() {
            let text = format!("the answer of `{model}` is larger than {} bytes", Self::MAX_BYTES);
            return Err(ModelError::new(ModelErrorKind::Malformed, text));
        }
        let Some(mut stop) = self.stop else {
            return Err(ModelError::new(
                ModelErrorKind::Truncated,
                format!("the stream of `{model}` was cut before the answer was complete"),
            ));
        };
        let parts: Vec<Part> = self.slots.into_iter().map(|slot| slot.into_part(stop)).collect();
        if stop == StopReason::End && parts.iter().any(|part| part.as_call().is_some()) {
            stop = StopReason::ToolCalls;
        }
        let message = AssistantMessage {
            id,
            name: None,
            parts,
            stop,
            model: Some(model.to_owned()),
            usage: self.usage,
        };
        if message.is_empty() {
            return Err(empty(model, stop));
        }
        Ok(message)
    }
}

/// What a piece adds to the answer.
fn size(delta: &ModelDelta) -> usize {
    match delta {
        ModelDelta::Text { text } | ModelDelta::Reasoning { text } => text.len(),
        ModelDelta::ReasoningEnd(end) => written(end),
        ModelDelta::Part(whole) => written(whole),
        ModelDelta::ToolCall {
            id, name, arguments, ..
        } => {
            let id = id.as_ref().map_or(0, |id| id.as_str().len());
            let name = name.as_ref().map_or(0, String::len);
            id + name + arguments.len()
        }
        ModelDelta::Usage(_) | ModelDelta::End { .. } => 0,
    }
}

/// Bytes of a part as JSON. Parts serialise: they are wire types.
fn written(part: &impl Serialize) -> usize {
    serde_json::to_vec(part).map_or(0, |json| json.len())
}

fn empty(model: &str, stop: StopReason) -> ModelError {
    match stop {
        StopReason::Refusal | StopReason::ContentFilter => {
            ModelError::new(ModelErrorKind::Refused, format!("`{model}` refused to answer"))
        }
        StopReason::Length => ModelError::new(
            ModelErrorKind::Empty,
            format!("`{model}` reached its output limit before it said anything; raise `max_tokens`"),
        ),
        _ => ModelError::new(ModelErrorKind::Empty, format!("`{model}` answered nothing")),
    }
}

impl Slot {
    fn into_part(self, stop: StopReason) -> Part {
        match self {
            Self::Done(part) => part,
            Self::Text(text) => Part::text(text),
            Self::Thought(text) => Part::Reasoning(Reasoning {
                text,
                ..Reasoning::default()
            }),
            Self::Call(call) => Part::ToolCall(call.close(stop)),
        }
    }
}

impl OpenCall {
    fn close(self, stop: StopReason) -> ToolCall {
        let id = self.id.unwrap_or_else(CallId::fresh);
        let parsed = parse_input(&self.arguments).and_then(|input| match self.name.is_empty() {
            true => Err("the call names no tool".to_owned()),
            false => Ok(input),
        });
        match parsed {
            Ok(input) => ToolCall::new(id, self.name, input),
            Err(reason) => {
                let reason = match stop {
                    StopReason::Length => format!("the output limit cut the arguments off ({reason})"),
                    _ => reason,
                };
                let invalid = Some(InvalidInput {
                    text: self.arguments,
                    reason,
                });
                ToolCall {
                    invalid,
                    ..ToolCall::new(id, self.name, Value::Object(Map::new()))
                }
            }
        }
    }
}

/// Reads the arguments of a call as a provider sends them.
///
/// # Errors
/// What is wrong with the text, in words for the model.
pub(crate) fn parse_input(text: &str) -> Result<Value, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        // Some models write the object as a JSON string, once more quoted.
        Ok(Value::String(inner)) => match serde_json::from_str::<Value>(&inner) {
            Ok(object @ Value::Object(_)) => Ok(object),
            _ => Err("the arguments must be a JSON object, not a string".to_owned()),
        },
        Ok(Value::Null) => Err("the arguments must be a JSON object, not null".to_owned()),
        Ok(Value::Array(_)) => Err("the arguments must be a JSON object, not an array".to_owned()),
        Ok(Value::Bool(_) | Value::Number(_)) => Err("the arguments must be a JSON object".to_owned()),
        // Some providers do not say that their output limit was reached.
        Err(error) if error.is_eof() => Err(format!(
            "the arguments must be a JSON object, but end before it does, as when the output limit cuts them off: {error}"
        )),
        Err(error) => Err(format!(
            "the arguments must be a JSON object, but are not valid JSON: {error}"
        )),
    }
}

#[cfg(test)]
mod tests;
