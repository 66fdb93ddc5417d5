//! What a person writes.
//!
//! The types here are the file, key by key; what they mean together is worked out when an agent is built. The JSON Schema of the file is
//! derived from them, and the file is checked against that schema, so a key that is documented is a key that is read.

mod agent;
mod discover;
mod model;
mod store;

pub use agent::{AgentConfig, Compat, MiddlewareConfig, OutputConfig};
pub use discover::discover;
pub use model::ModelConfig;
pub use store::StoreConfig;

use std::collections::BTreeMap;
use std::path::Path;

use catena_core::principal::Principal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::ConfigErrors;

/// A catena configuration: models, agents, and where threads are kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The agent that is meant when none is named. Default: the only agent there is, or the one named `assistant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_agent: Option<String>,
    /// Models by the names that agents and middlewares use. Default: none; the program chooses one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelConfig>,
    /// Agents by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentConfig>,
    /// Where threads are kept.
    pub store: StoreConfig,
    /// People and programs that runs can be for, by the names that `--as` takes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub principals: BTreeMap<String, Principal>,
}

impl Config {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// Everything that is wrong with the file, sorted by position.
    pub fn load(path: &Path) -> Result<Self, ConfigErrors> {
        let text = std::fs::read_to_string(path).map_err(|error| ConfigErrors::one(path, error.to_string()))?;
        Self::parse(&text, path)
    }

    /// Checks a text. Relative paths in it are relative to `origin`, the file that it came from.
    ///
    /// # Errors
    /// Everything that is wrong with the text, sorted by position.
    pub fn parse(text: &str, origin: &Path) -> Result<Self, ConfigErrors> {
        toml::from_str(text).map_err(|error| ConfigErrors::one(origin, error.message()))
    }

    /// What holds without any file: one agent, `assistant`, of the model that the program chooses.
    pub fn sensible() -> Self {
        Self {
            agents: BTreeMap::from([(AgentConfig::DEFAULT_NAME.to_owned(), AgentConfig::sensible())]),
            ..Self::default()
        }
    }

    /// The agent that is meant: the one `asked` for, else `default_agent`, else the only one, else `assistant`.
    ///
    /// # Errors
    /// If there is no such agent, with the nearest name; if several could be meant, with all of them.
    pub fn agent_name(&self, asked: Option<&str>) -> Result<&str, ConfigErrors> {
        let named = asked
            .or(self.default_agent.as_deref())
            .unwrap_or(AgentConfig::DEFAULT_NAME);
        let found = self.agents.get_key_value(named);
        found
            .map(|(name, _)| name.as_str())
            .ok_or_else(|| ConfigErrors::one(Path::new(""), format!("there is no agent `{named}`")))
    }
}

/// The JSON Schema of the file.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Config).to_value()
}
