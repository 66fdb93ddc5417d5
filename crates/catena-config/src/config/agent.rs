//! `[agents.NAME]`

use std::collections::BTreeMap;
use std::path::PathBuf;

use catena_core::agent::OnMaxTurns;
use catena_core::chain::Order;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An agent: a model, a prompt, tools, and a chain of middleware.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AgentConfig {
    /// A name from `[models]`, or `provider:model`. Default: the model named `default`, or the only one there is; without any model in the
    /// file the program chooses one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the agent is told about itself and its work, at the start of its system prompt. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What the agent is for, in a sentence: for people, and for agents that delegate to it. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Tools it has, by name. Tools of middlewares need not be listed. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Agents it can delegate to, by name; not itself, directly or through others. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<String>,
    /// What is in its chain beside the base, or in place of it: each with `use` and the options of that middleware. Default: only the base.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub middleware: Vec<MiddlewareConfig>,
    /// How the chain is ordered. Default: `priority`; with `compat`, `listed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Whether the middlewares that every agent should have are there without being listed. Default: `true`; with `compat`, `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<bool>,
    /// The framework whose defaults hold where this file says nothing. Default: catena's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<Compat>,
    /// Whether middlewares that keep the agent safe may be switched off. Default: `false`.
    pub allow_unsafe: bool,
    /// Model turns in one run. Default: 50; with `compat = "langchain"`, 25.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_turns: Option<u32>,
    /// What happens when they are used up. Default: `answer`; with `compat`, `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_max_turns: Option<OnMaxTurns>,
    /// Tools at work at once. Default: 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub parallel_tools: Option<u32>,
    /// One JSON object in place of an answer in words: a JSON Schema, or the file that holds it. Default: an answer in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputConfig>,
}

impl AgentConfig {
    /// The agent that is meant when nothing says otherwise.
    pub const DEFAULT_NAME: &'static str = "assistant";

    /// The agent of a configuration that nobody wrote.
    pub(crate) fn sensible() -> Self {
        Self {
            prompt: Some("You are a helpful assistant.".to_owned()),
            ..Self::default()
        }
    }
}

/// A middleware of a chain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["use"]))]
#[non_exhaustive]
pub struct MiddlewareConfig {
    /// Which middleware, by name. The same one may be listed several times.
    #[serde(rename = "use")]
    pub kind: String,
    /// Takes it out of the chain. Default: `false`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub off: bool,
    /// The options of that middleware.
    #[serde(flatten)]
    pub options: BTreeMap<String, Value>,
}

/// A framework whose defaults an agent takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Compat {
    /// LangChain's agents.
    Langchain,
    /// Deep Agents.
    Deepagents,
}

/// What an answer must look like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[non_exhaustive]
pub enum OutputConfig {
    /// A file that holds a JSON Schema, relative to this one.
    File(PathBuf),
    /// A JSON Schema.
    Schema(BTreeMap<String, Value>),
}
