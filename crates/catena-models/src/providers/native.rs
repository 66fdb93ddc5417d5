//! A provider's own form of a block, taken apart for the record and put together again for a replay.
//!
//! rig keeps beside each block the item the provider sent. catena records blocks of its own, so what they have no room for goes two ways:
//! the proof of a thought or of a call has a field, and everything else that must come back (citations of a text, the id of a message) is a
//! small [provider block](catena_core::message::ProviderBlock) behind the block it belongs to. That block never repeats the text: a filter
//! may have taken something out of it.

use catena_core::message::{Reasoning, ToolCall};
use rig_core::message::Api;
use serde_json::{Map, Value, json};

/// The `type` of a block that completes the text before it.
pub(super) const OF_TEXT: &str = "catena.text";
/// The `type` of a block that completes the call named in it.
pub(super) const OF_CALL: &str = "catena.call";

/// Which of rig's formats a wire speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Native {
    Chat,
    Responses,
    Messages,
    Gemini,
    Ollama,
}

impl Native {
    pub(super) fn of(api: &Api) -> Self {
        match api.as_str() {
            "openai.responses" => Self::Responses,
            "anthropic.messages" => Self::Messages,
            "gemini.generate_content" => Self::Gemini,
            "ollama.chat" => Self::Ollama,
            _ => Self::Chat,
        }
    }

    /// The thought in an item. Its text is not taken: it has streamed.
    pub(super) fn thought(self, item: &Value, provider: &str) -> Reasoning {
        let text = |key: &str| item[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let (signature, id, encrypted) = match self {
            Self::Messages => (text("signature"), None, text("data")),
            Self::Responses => (None, text("id"), text("encrypted_content")),
            Self::Gemini => (text("thoughtSignature"), None, None),
            // OpenRouter passes on what the model behind it signed.
            Self::Chat => (item.get("reasoning_details").map(Value::to_string), None, None),
            Self::Ollama => (None, None, None),
        };
        Reasoning {
            text: String::new(),
            signature,
            id,
            provider: Some(provider.to_owned()),
            encrypted,
        }
    }

    /// The item of a thought that the provider vouched for; none if it did not.
    pub(super) fn signed(self, thought: &Reasoning) -> Option<Value> {
        let text = &thought.text;
        match self {
            Self::Messages => match (&thought.encrypted, &thought.signature) {
                (Some(data), _) => Some(json!({"type": "redacted_thinking", "data": data})),
                (None, Some(signature)) => Some(json!({"type": "thinking", "thinking": text, "signature": signature})),
                (None, None) => None,
            },
            Self::Responses => {
                let summary: Vec<Value> = (!text.is_empty())
                    .then(|| json!({"type": "summary_text", "text": text}))
                    .into_iter()
                    .collect();
                let mut item = json!({"type": "reasoning", "id": thought.id.as_ref()?, "summary": summary});
                if let Some(encrypted) = &thought.encrypted {
                    item["encrypted_content"] = json!(encrypted);
                }
                Some(item)
            }
            Self::Gemini => {
                Some(json!({"text": text, "thought": true, "thoughtSignature": thought.signature.as_ref()?}))
            }
            Self::Chat => {
                let details: Value = serde_json::from_str(thought.signature.as_ref()?).ok()?;
                Some(json!({"reasoning_details": details}))
            }
            Self::Ollama => None,
        }
    }

    /// The item of a thought that goes back as plain text.
    pub(super) fn plain(self, text: &str) -> Value {
        match self {
            Self::Ollama => json!({"thinking": text}),
            _ => json!({"reasoning_content": text}),
        }
    }

    /// What an item says about a text beside the text.
    pub(super) fn beside_text(self, item: &Value) -> Option<Map<String, Value>> {
        let mut fields = item.as_object()?.clone();
        match self {
            Self::Messages => drop_keys(&mut fields, &["type", "text"]),
            Self::Gemini => drop_keys(&mut fields, &["text", "thought"]),
            Self::Responses => {
                let parts = fields.remove("content");
                let notes: Vec<Value> = parts
                    .iter()
                    .flat_map(|parts| parts.as_array())
                    .flatten()
                    .flat_map(annotations)
                    .collect();
                drop_keys(&mut fields, &["type", "role"]);
                if !notes.is_empty() {
                    fields.insert("annotations".to_owned(), Value::Array(notes));
                }
            }
            // Content is a string there; audio and the like are not asked for.
            Self::Chat | Self::Ollama => return None,
        }
        drop_empty(&mut fields);
        (!fields.is_empty()).then_some(fields)
    }

    /// A text's item, from the text and from what was beside it.
    pub(super) fn text(self, text: &str, beside: &Map<String, Value>) -> Value {
        let mut item = beside.clone();
        match self {
            Self::Messages => {
                item.insert("type".to_owned(), json!("text"));
                item.insert("text".to_owned(), json!(text));
            }
            Self::Responses => {
                let notes = item.remove("annotations").unwrap_or_else(|| json!([]));
                item.insert("type".to_owned(), json!("message"));
                item.insert("role".to_owned(), json!("assistant"));
                item.insert(
                    "content".to_owned(),
                    json!([{"type": "output_text", "text": text, "annotations": notes}]),
                );
            }
            _ => {
                item.insert("text".to_owned(), json!(text));
            }
        }
        Value::Object(item)
    }

    /// What an item says about a call beside its id, name and arguments.
    pub(super) fn beside_call(self, item: &Value) -> Option<Map<String, Value>> {
        let mut fields = item.as_object()?.clone();
        match self {
            Self::Chat => drop_keys(&mut fields, &["id", "index", "type", "function", "custom"]),
            Self::Ollama => drop_keys(&mut fields, &["id", "function"]),
            Self::Messages => drop_keys(&mut fields, &["type", "id", "name", "input"]),
            Self::Responses => {
                drop_keys(&mut fields, &["call_id", "name", "arguments", "input"]);
                if fields.get("type").is_some_and(|kind| kind == "function_call") {
                    fields.remove("type");
                }
            }
            // Its one extra field has a place in the call.
            Self::Gemini => return None,
        }
        drop_empty(&mut fields);
        (!fields.is_empty()).then_some(fields)
    }

    /// A call's item; none where the canonical call says it all.
    pub(super) fn call(self, call: &ToolCall, beside: Option<&Map<String, Value>>) -> Option<Value> {
        let (id, name, input) = (call.id.as_str(), &call.name, &call.input);
        let base = match self {
            // Every call, so that rig does not think the unsigned ones are another model's.
            Self::Gemini => {
                let mut item = json!({"functionCall": {"name": name, "args": input, "id": id}});
                if let Some(signature) = &call.signature {
                    item["thoughtSignature"] = json!(signature);
                }
                return Some(item);
            }
            Self::Chat => {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": input.to_string()}})
            }
            Self::Ollama => json!({"id": id, "function": {"name": name, "arguments": input}}),
            Self::Messages => json!({"type": "tool_use", "id": id, "name": name, "input": input}),
            Self::Responses
                if beside
                    .and_then(|b| b.get("type"))
                    .is_some_and(|kind| kind == "custom_tool_call") =>
            {
                json!({"call_id": id, "name": name, "input": input["input"].as_str().unwrap_or_default()})
            }
            Self::Responses => {
                json!({"type": "function_call", "call_id": id, "name": name, "arguments": input.to_string()})
            }
        };
        let Value::Object(mut item) = base else { return None };
        item.extend(beside?.clone());
        Some(Value::Object(item))
    }
}

fn annotations(part: &Value) -> Vec<Value> {
    part["annotations"].as_array().cloned().unwrap_or_default()
}

fn drop_keys(fields: &mut Map<String, Value>, keys: &[&str]) {
    fields.retain(|key, _| !keys.contains(&key.as_str()));
}

fn drop_empty(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !(value.is_null() || value.as_array().is_some_and(Vec::is_empty)));
}
