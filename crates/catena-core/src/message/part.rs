//! The parts of a message.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolCall;

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Words.
    Text(Text),
    /// A picture.
    Image(Image),
    /// A document.
    File(File),
    /// What a model thought before it answered.
    Reasoning(Reasoning),
    /// A call of a tool; only in assistant messages.
    ToolCall(ToolCall),
    /// What only one provider understands, kept to be sent back to it unchanged.
    Provider(ProviderBlock),
}

/// See [`Part::Text`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The words.
    pub text: String,
}

/// See [`Part::Image`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// The picture.
    pub data: Data,
}

/// See [`Part::File`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The file's name as the person gave it; data, never a path to open.
    pub name: String,
    /// Such as `application/pdf`.
    pub media_type: String,
    /// The contents.
    pub data: Data,
}

/// Where the bytes of an image or a file are.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// The bytes, in standard base64.
    Base64(String),
    /// An address that the provider fetches by itself.
    Url(String),
    /// The contents of a text file.
    Text(String),
}

// Whole files do not belong in a log.
impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base64(data) => write!(f, "Base64({} characters)", data.len()),
            Self::Url(url) => write!(f, "Url({url:?})"),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
        }
    }
}

/// See [`Part::Reasoning`].
///
/// A signed block is replayed to the provider that signed it byte for byte, or dropped whole; other providers never see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The thought, or its summary; may be empty when the provider keeps it to itself.
    pub text: String,
    /// The provider's proof that the block is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The provider's id of the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The provider that wrote it; a block without one may be sent to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The thought in the provider's encryption, when it is not readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<String>,
}

/// See [`Part::Provider`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderBlock {
    /// The provider, as in `provider:model`.
    pub provider: String,
    /// The block as it came.
    pub block: Value,
}

impl Part {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into() })
    }

    /// The words, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// The call, if it is one.
    pub fn as_call(&self) -> Option<&ToolCall> {
        match self {
            Self::ToolCall(call) => Some(call),
            _ => None,
        }
    }

    /// The call, if it is one.
    pub fn as_call_mut(&mut self) -> Option<&mut ToolCall> {
        match self {
            Self::ToolCall(call) => Some(call),
            _ => None,
        }
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}
