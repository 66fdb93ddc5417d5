//! Agents: a model, some tools, and a chain.
//!
//! Build one with [`Agent::builder`]; it starts empty. An agent is cheap to clone and serves any number of threads at once.

mod background;
mod builder;
mod cancel;
mod desk;
mod handle;
mod invocation;
mod limits;
mod result;
mod standing;
mod threads;
mod tree;

pub use builder::AgentBuilder;
pub(crate) use desk::{Desk, Place};
pub use handle::RunHandle;
pub use invocation::{Input, Invocation, OnBusy, OnInterrupt, Resume};
pub(crate) use invocation::{Launch, RunOptions};
pub use limits::{Limits, OnMaxTurns};
pub use result::{Outcome, RunResult};
pub(crate) use standing::Standing;
pub(crate) use tree::Tree;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::chain::{Chain, ChainReport};
use crate::checkpoint::Checkpointer;
use crate::error::Result;
use crate::live::LiveStore;
use crate::model::{Model, ModelSettings};
use crate::output::OutputFormat;
use crate::principal::{Agents, ResourcesFor};
use crate::prompt::Prompt;
use crate::tool::Tool;
use background::Tasks;

/// A model, some tools, and a chain of middleware.
#[derive(Clone)]
pub struct Agent {
    pub(crate) shared: Arc<AgentShared>,
}

pub(crate) struct AgentShared {
    pub(crate) name: String,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) models: BTreeMap<String, Arc<dyn Model>>,
    pub(crate) tools: Arc<Vec<Arc<dyn Tool>>>,
    pub(crate) chain: Arc<Chain>,
    pub(crate) prompt: Prompt,
    pub(crate) output: Option<OutputFormat>,
    pub(crate) settings: ModelSettings,
    pub(crate) limits: Limits,
    pub(crate) store: Arc<dyn Checkpointer>,
    pub(crate) agents: Arc<dyn Agents>,
    pub(crate) resources: ResourcesFor,
    pub(crate) background: Tasks,
    pub(crate) live: LiveStore,
    pub(crate) desk: Desk,
}

impl Agent {
    /// An agent of this model, with nothing else in it yet.
    pub fn builder(model: impl Model) -> AgentBuilder {
        AgentBuilder::new(Arc::new(model))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Its model.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.shared.model
    }

    /// Its own tools; those of middlewares depend on the run.
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.shared.tools
    }

    /// Where its threads are kept.
    pub fn store(&self) -> &Arc<dyn Checkpointer> {
        &self.shared.store
    }

    /// Its chain, hook by hook.
    pub fn chain(&self) -> ChainReport {
        self.shared.chain.report()
    }

    /// Runs an input, or resumes a paused or interrupted run, and waits for the outcome.
    ///
    /// # Errors
    /// Whatever ended the run, its type unchanged: [`Error::Model`](crate::Error::Model), [`Error::Middleware`](crate::Error::Middleware),
    /// [`Error::Busy`](crate::Error::Busy) and others. A pause, a graceful stop and a cancellation are outcomes, not errors; only a run
    /// that is cancelled while it waits for its thread, and so leaves no trace, fails with [`Error::Cancelled`](crate::Error::Cancelled).
    ///
    /// # Cancel safety
    /// Dropping the future cancels the run; the thread stays valid.
    pub async fn run(&self, invocation: impl Into<Invocation>) -> Result<RunResult> {
        RunHandle::launch(self, invocation.into(), false).outcome().await
    }

    /// Starts a run and hands out its events. Must be called within a Tokio runtime.
    pub fn start(&self, invocation: impl Into<Invocation>) -> RunHandle {
        RunHandle::launch(self, invocation.into(), true)
    }

    /// Waits until runs and background work are done, at most `limit`. Returns whether everything was done. Background work that is not
    /// is cancelled then: its model calls and its waiting for the thread end at once.
    pub async fn shutdown(&self, limit: Duration) -> bool {
        self.shared.background.drain(limit).await
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.shared.name)
            .field("model", &self.shared.model.name())
            .field("chain", &self.shared.chain)
            .finish_non_exhaustive()
    }
}
