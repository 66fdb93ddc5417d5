//! From a configuration to an agent.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use catena_core::agent::Agent;
use catena_core::chain::ChainReport;
use catena_core::checkpoint::{Checkpointer, StoreError};
use catena_core::model::Model;
use catena_core::prompt::Trusted;
use catena_store::SqliteCheckpointer;

use crate::config::{Config, StoreConfig};
use crate::environment::Environment;
use crate::problem::ConfigErrors;

/// What a configuration does not say and the program knows.
#[derive(Clone)]
pub struct Setup {
    /// Reads environment variables; [`environment`](crate::environment) is the process's own.
    pub env: Environment,
    /// The model of agents for which the configuration names none.
    pub default_model: Option<Arc<dyn Model>>,
    /// Where the store is unless the configuration says otherwise. Made if it does not exist.
    pub data_dir: PathBuf,
}

/// An agent, and what there is to know about it.
#[derive(Debug)]
pub struct Built {
    /// The agent.
    pub agent: Agent,
    /// Its chain, with the built-in middlewares that are not in it and why.
    pub report: ChainReport,
    /// What works and is probably not meant, a sentence each.
    pub warnings: Vec<String>,
}

/// An agent cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The configuration has to be changed, or the environment that it names.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The store cannot be opened.
    #[error("the store cannot be used")]
    Store(#[from] StoreError),
    /// The parts do not fit together.
    #[error("agent `{agent}` cannot be built")]
    Agent {
        /// The agent.
        agent: String,
        /// What is wrong.
        #[source]
        source: catena_core::Error,
    },
}

impl BuildError {
    /// A stable, snake_case word for programs: `config` or `store`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Config(_) | Self::Agent { .. } => "config",
            Self::Store(_) => "store",
        }
    }
}

/// Builds an agent: connects its models, opens the store, puts its chain together.
///
/// # Errors
/// A [`BuildError`] with every problem found.
///
/// # Cancel safety
/// Nothing is left behind but a database file that may have been made.
pub async fn build(config: &Config, agent: &str, setup: &Setup) -> Result<Built, BuildError> {
    let name = config.agent_name(Some(agent))?.to_owned();
    let store = open_store(config, setup).await?;
    let missing = || ConfigErrors::one(std::path::Path::new(""), "no model is configured");
    let model = setup.default_model.clone().ok_or_else(missing)?;
    let mut builder = Agent::builder(model).name(name.clone()).store(store);
    if let Some(prompt) = config.agents.get(&name).and_then(|agent| agent.prompt.clone()) {
        builder = builder.prompt(Trusted(prompt));
    }
    let agent = builder
        .build()
        .map_err(|source| BuildError::Agent { agent: name, source })?;
    Ok(Built {
        report: agent.chain(),
        agent,
        warnings: Vec::new(),
    })
}

/// Opens the store of a configuration, for work on threads that needs no agent.
///
/// # Errors
/// [`BuildError::Store`] says what is wrong with the database or its directory.
///
/// # Cancel safety
/// Nothing is left behind but a database file that may have been made.
pub async fn open_store(config: &Config, setup: &Setup) -> Result<Arc<dyn Checkpointer>, BuildError> {
    let default = || setup.data_dir.join(StoreConfig::FILE).to_string_lossy().into_owned();
    let location = config.store.url.clone().unwrap_or_else(default);
    Ok(Arc::new(
        SqliteCheckpointer::open(&location, config.store.options()).await?,
    ))
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("default_model", &self.default_model.as_ref().map(|model| model.name()))
            .field("data_dir", &self.data_dir)
            .finish_non_exhaustive()
    }
}
