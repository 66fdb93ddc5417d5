//! What a person writes.
//!
//! The types here are the file, key by key; what they mean together is worked out when an agent is built. The JSON Schema of the file is
//! derived from them, and the file is checked against that schema, so a key that is documented is a key that is read.

mod agent;
mod discover;
mod load;
mod model;
mod resolved;
mod store;

pub use agent::{AgentConfig, Compat, MiddlewareConfig, OutputConfig};
pub use discover::discover;
pub use model::ModelConfig;
pub(crate) use resolved::ModelChoice;
pub use store::StoreConfig;

use std::collections::BTreeMap;
use std::sync::Arc;

use catena_core::principal::Principal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nearest::instead;
use crate::node::Step;
use crate::origin::Origin;
use crate::problem::{ConfigErrors, Problem};

/// A configuration: models, agents, and where threads are kept.
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
    #[serde(skip)]
    pub(crate) origin: Arc<Origin>,
}

impl Config {
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
        let named = asked.or(self.default_agent.as_deref());
        let wanted = match (named, self.agents.len()) {
            (Some(name), _) => name,
            (None, 1) => self
                .agents
                .keys()
                .next()
                .map_or(AgentConfig::DEFAULT_NAME, String::as_str),
            (None, _) => AgentConfig::DEFAULT_NAME,
        };
        if let Some((name, _)) = self.agents.get_key_value(wanted) {
            return Ok(name);
        }
        let names = self.agents.keys().map(String::as_str);
        let path = self.origin.source.path();
        let problem = match named {
            Some(name) => Problem::of_file(path, format!("there is no agent `{name}`")).help(instead(name, names)),
            None => {
                let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                let message = format!("several agents could be meant: {}", names.join(", "));
                Problem::of_file(path, message).help("name one, or write `default_agent` into the file".to_owned())
            }
        };
        Err(problem.into())
    }

    /// A problem of what stands at the end of these steps.
    pub(crate) fn problem<'a>(&self, steps: impl IntoIterator<Item = Step<'a>>, message: impl AsRef<str>) -> Problem {
        self.origin.problem(steps, message)
    }
}
