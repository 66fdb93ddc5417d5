//! From a configuration to an agent.

mod agents;
mod chain;
mod draft;
mod models;
mod settings;
mod store;

pub(crate) use models::Models;
pub use store::open_store;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use catena_core::agent::Agent;
use catena_core::chain::ChainReport;
use catena_core::checkpoint::StoreError;
use catena_core::model::Model;

use crate::config::Config;
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
#[non_exhaustive]
pub struct Built {
    /// The agent.
    pub agent: Agent,
    /// Its chain, with the registered middlewares that are not in it and why.
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
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The runtime ended, or a part of the agent panicked.
    #[error("building the agent was interrupted")]
    Interrupted(#[source] tokio::task::JoinError),
}

impl BuildError {
    /// A stable, snake_case word for programs: `config`, `store` or `interrupted`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Config(_) => "config",
            Self::Store(_) => "store",
            Self::Interrupted(_) => "interrupted",
        }
    }
}

/// Builds an agent: connects its models, puts its chain together, opens the store. Its subagents are built with it and share the store.
///
/// # Errors
/// [`BuildError::Config`] with every problem of this agent and its subagents, a missing key among them; [`BuildError::Store`] if the
/// database cannot be used.
///
/// # Cancel safety
/// Nothing is left behind but a database file that may have been made.
pub async fn build(config: &Config, agent: &str, setup: &Setup) -> Result<Built, BuildError> {
    let name = config.agent_name(Some(agent))?.to_owned();
    // Certificates and schemas are read from the disk.
    let drawn = tokio::task::spawn_blocking({
        let (config, setup) = (config.clone(), setup.clone());
        move || draft::all(config, &name, &setup)
    });
    let drafts = drawn.await.map_err(BuildError::Interrupted)??;
    let store = open_store(config, setup).await?;
    Ok(agents::assemble(config, drafts, store)?)
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("default_model", &self.default_model.as_ref().map(|model| model.name()))
            .field("data_dir", &self.data_dir)
            .finish_non_exhaustive()
    }
}
