//! How an agent is put together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::background::Tasks;
use super::{Agent, AgentShared, Desk, Limits};
use crate::chain::{Chain, Order};
use crate::checkpoint::{Checkpointer, MemoryCheckpointer};
use crate::error::{Error, Result};
use crate::live::LiveStore;
use crate::middleware::Middleware;
use crate::model::{Model, ModelSettings};
use crate::output::OutputFormat;
use crate::principal::{Agents, AllVisible, NoAgents, Principal, Resources, ResourcesFor};
use crate::prompt::{Prompt, PromptText, Stability};
use crate::tool::Tool;

/// Puts an agent together. See [`Agent::builder`].
#[must_use]
pub struct AgentBuilder {
    name: String,
    model: Arc<dyn Model>,
    models: BTreeMap<String, Arc<dyn Model>>,
    tools: Vec<Arc<dyn Tool>>,
    middlewares: Vec<Arc<dyn Middleware>>,
    order: Order,
    prompt: Prompt,
    output: Option<OutputFormat>,
    settings: ModelSettings,
    limits: Limits,
    store: Option<Arc<dyn Checkpointer>>,
    agents: Arc<dyn Agents>,
    resources: ResourcesFor,
}

impl AgentBuilder {
    pub(super) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            name: "agent".into(),
            model,
            models: BTreeMap::new(),
            tools: Vec::new(),
            middlewares: Vec::new(),
            order: Order::Priority,
            prompt: Prompt::default(),
            output: None,
            settings: ModelSettings::default(),
            limits: Limits::default(),
            store: None,
            agents: Arc::new(NoAgents),
            resources: Arc::new(|_| Arc::new(AllVisible)),
        }
    }

    /// Its name, on its messages and events. Default: `agent`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds to its system prompt.
    pub fn prompt(mut self, text: impl PromptText) -> Self {
        self.prompt.push("agent", Stability::Static, text);
        self
    }

    /// Adds a tool.
    pub fn tool(self, tool: impl Tool) -> Self {
        self.shared_tool(Arc::new(tool))
    }

    /// Adds a tool that is shared with others.
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a middleware.
    pub fn with(self, middleware: impl Middleware) -> Self {
        self.with_shared(Arc::new(middleware))
    }

    /// Adds a middleware that is shared with others.
    pub fn with_shared(mut self, middleware: Arc<dyn Middleware>) -> Self {
        self.middlewares.push(middleware);
        self
    }

    /// Runs the chain as listed, by LangChain's rule. Default: by priority.
    pub fn in_listed_order(mut self) -> Self {
        self.order = Order::Listed;
        self
    }

    /// Another model that middlewares may ask, by name.
    pub fn named_model(mut self, name: impl Into<String>, model: impl Model) -> Self {
        self.models.insert(name.into(), Arc::new(model));
        self
    }

    /// One JSON object in place of an answer in words.
    pub fn output(mut self, format: OutputFormat) -> Self {
        self.output = Some(format);
        self
    }

    /// Temperature and the like.
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        self.settings = settings;
        self
    }

    /// The bounds of its runs.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Model turns in one run. Default: 50.
    pub fn max_turns(mut self, max_turns: u32) -> Self {
        self.limits.max_turns = max_turns;
        self
    }

    /// Where its threads are kept. Default: in memory, as long as the agent lives.
    pub fn store(mut self, store: impl Checkpointer) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// The agents that it can delegate to.
    pub fn agents(mut self, agents: Arc<dyn Agents>) -> Self {
        self.agents = agents;
        self
    }

    /// What its runs may see, by whom they are for; asked when a run begins and again when it is resumed, unless the invocation or a
    /// parent says. It must be quick. Default: everything.
    pub fn resources(mut self, of: impl Fn(&Principal) -> Arc<dyn Resources> + Send + Sync + 'static) -> Self {
        self.resources = Arc::new(of);
        self
    }

    /// Checks everything and builds the agent.
    ///
    /// # Errors
    /// [`Error::Build`] with every problem of the chain, the tools and the limits.
    pub fn build(self) -> Result<Agent> {
        let mut problems = self.problems();
        let chain = match Chain::new(self.middlewares, self.order) {
            Ok(chain) => chain,
            Err(more) => {
                problems.extend(more);
                return Err(Error::Build { problems });
            }
        };
        if !problems.is_empty() {
            return Err(Error::Build { problems });
        }
        let shared = AgentShared {
            name: self.name,
            model: self.model,
            models: self.models,
            tools: Arc::new(self.tools),
            chain: Arc::new(chain),
            prompt: self.prompt,
            output: self.output,
            settings: self.settings,
            limits: self.limits,
            store: self.store.unwrap_or_else(|| Arc::new(MemoryCheckpointer::new())),
            agents: self.agents,
            resources: self.resources,
            background: Tasks::new(),
            live: LiveStore::default(),
            desk: Desk::default(),
        };
        Ok(Agent {
            shared: Arc::new(shared),
        })
    }

    fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = self.tools.iter().filter_map(|tool| tool.spec().check().err()).collect();
        let mut names = BTreeSet::new();
        for tool in &self.tools {
            let name = tool.spec().name.as_str();
            if !names.insert(name) {
                problems.push(format!("two tools are named `{name}`"));
            }
        }
        if let Some(format) = &self.output {
            problems.extend(format.spec().check().err());
            if names.contains(format.spec().name.as_str()) {
                problems.push(format!(
                    "the output format and a tool are both named `{}`",
                    format.spec().name
                ));
            }
        }
        problems.extend(self.limits.problems());
        problems
    }
}
