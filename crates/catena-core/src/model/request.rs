//! What a model is asked, and its answer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Model, StreamFilter};
use crate::message::{AssistantMessage, Message};
use crate::output::OutputFormat;
use crate::prompt::Prompt;
use crate::shared::Shared;
use crate::tool::{Tool, ToolSpec};

/// One model call, to be edited freely by middlewares before it is made. Nothing here changes the thread's record.
///
/// Cloning copies pointers, not messages.
#[derive(Clone)]
pub struct ModelRequest {
    /// The model to ask; a fallback puts another here.
    pub model: Arc<dyn Model>,
    /// The system prompt, section by section.
    pub prompt: Prompt,
    /// The conversation as the model will see it.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The tools that are offered. What is not offered cannot be called.
    pub tools: Arc<Vec<Arc<dyn Tool>>>,
    /// Whether tools may, must or must not be called.
    pub tool_choice: ToolChoice,
    /// One JSON object instead of text.
    pub output: Option<OutputFormat>,
    /// Temperature and the like.
    pub settings: ModelSettings,
    /// Applied to every delta before anyone sees it, in this order.
    pub filters: Vec<Arc<dyn StreamFilter>>,
}

impl ModelRequest {
    /// A request that only has messages.
    pub fn new(model: Arc<dyn Model>, messages: Vec<Message>) -> Self {
        Self {
            model,
            prompt: Prompt::default(),
            messages: Arc::new(messages.into_iter().map(Arc::new).collect()),
            tools: Arc::default(),
            tool_choice: ToolChoice::Auto,
            output: None,
            settings: ModelSettings::default(),
            filters: Vec::new(),
        }
    }

    /// The messages, to edit. Copies the pointers if someone else holds the list.
    pub fn messages_mut(&mut self) -> &mut Vec<Arc<Message>> {
        Arc::make_mut(&mut self.messages)
    }

    /// The offered tools, to edit.
    pub fn tools_mut(&mut self) -> &mut Vec<Arc<dyn Tool>> {
        Arc::make_mut(&mut self.tools)
    }

    /// The specifications of the offered tools.
    pub fn tool_specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|tool| tool.spec())
    }

    /// The offered tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }
}

impl fmt::Debug for ModelRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRequest")
            .field("model", &self.model.name())
            .field("messages", &self.messages.len())
            .field("tools", &self.tool_specs().map(|spec| &*spec.name).collect::<Vec<_>>())
            .field("tool_choice", &self.tool_choice)
            .finish_non_exhaustive()
    }
}

/// Whether tools may be called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called.
    None,
    /// Some tool must be called.
    Required,
    /// This tool must be called.
    Tool(String),
}

/// Settings of a model call. What is not set is left to the provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelSettings {
    /// Randomness, usually from 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Tokens to write at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Provider parameters that have no name of their own here, merged into the request's body.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Value>,
}

/// A complete answer.
#[derive(Clone, Debug)]
pub struct ModelResponse {
    /// What the model said; usage, stop reason and the model's name are in it.
    pub message: Shared<AssistantMessage>,
    /// The object that was asked for, once it fits its schema.
    pub structured: Option<Value>,
}

impl ModelResponse {
    /// An answer in the model's place.
    pub fn new(message: AssistantMessage) -> Self {
        Self {
            message: message.into(),
            structured: None,
        }
    }

    /// An answer of just these words in the model's place.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(AssistantMessage::new(vec![crate::message::Part::text(text)]))
    }
}
