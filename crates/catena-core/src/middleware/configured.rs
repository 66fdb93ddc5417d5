//! A middleware whose place and manners are somebody else's choice: an application's, or a configuration's.

use std::sync::Arc;
use std::time::Duration;

use super::{AfterModel, Flow, Middleware, OnFailure, Priority, ToolDecision};
use crate::chain::{NextModel, NextTool};
use crate::context::{Intake, RunContext, Turn};
use crate::error::Result;
use crate::event::RunEvent;
use crate::message::ToolCall;
use crate::model::{ModelRequest, ModelResponse};
use crate::record::OutcomeRecord;
use crate::tool::{Tool, ToolOutcome, ToolOutput};

/// A middleware under another priority, name, failure mode or budget. What is not set is the inner one's; hooks are always its own.
///
/// ```
/// # use std::sync::Arc;
/// # use catena_core::middleware::{Configured, Flow, Priority, before_model_fn};
/// let early = Configured::new(before_model_fn("early", |_| Ok(Flow::Continue))).priority(Priority(120));
/// ```
#[must_use]
pub struct Configured {
    inner: Arc<dyn Middleware>,
    name: Option<String>,
    priority: Option<Priority>,
    on_failure: Option<OnFailure>,
    budget: Option<Duration>,
}

impl Configured {
    /// As the inner one says, until something is set.
    pub fn new(inner: impl Middleware) -> Self {
        Self::shared(Arc::new(inner))
    }

    /// As [`new`](Self::new), of one that is shared with others.
    pub fn shared(inner: Arc<dyn Middleware>) -> Self {
        Self {
            inner,
            name: None,
            priority: None,
            on_failure: None,
            budget: None,
        }
    }

    /// Another name, such as for a second instance. Begin it with the inner one's name and `:` where the order of others depends on it:
    /// that is how [`must_run_after`](Middleware::must_run_after) finds it.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Another place in the chain.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// What happens when a hook fails.
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = Some(on_failure);
        self
    }

    /// How long each of its `tools`, `before_*` and `after_*` hooks may take.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }
}

// What `#[middleware]` expands to, by hand: the attribute would list every hook that is written here, and the hooks are the inner one's.
#[async_trait::async_trait]
impl Middleware for Configured {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.inner.name())
    }

    fn hooks(&self) -> &'static [&'static str] {
        self.inner.hooks()
    }

    fn priority(&self) -> Priority {
        self.priority.unwrap_or_else(|| self.inner.priority())
    }

    fn parallel_safe(&self) -> bool {
        self.inner.parallel_safe()
    }

    fn on_failure(&self) -> OnFailure {
        self.on_failure.unwrap_or_else(|| self.inner.on_failure())
    }

    fn budget(&self) -> Duration {
        self.budget.unwrap_or_else(|| self.inner.budget())
    }

    fn must_run_after(&self) -> &[&str] {
        self.inner.must_run_after()
    }

    async fn tools(&self, run: &RunContext) -> Result<Vec<Arc<dyn Tool>>> {
        self.inner.tools(run).await
    }

    async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
        self.inner.before_agent(intake).await
    }

    async fn before_model(&self, turn: &mut Turn) -> Result<Flow> {
        self.inner.before_model(turn).await
    }

    async fn wrap_model_call(&self, request: ModelRequest, next: NextModel<'_>) -> Result<ModelResponse> {
        self.inner.wrap_model_call(request, next).await
    }

    async fn after_model(&self, turn: &mut Turn, response: &mut ModelResponse) -> Result<AfterModel> {
        self.inner.after_model(turn, response).await
    }

    async fn before_tool_call(&self, turn: &Turn, call: &ToolCall) -> Result<ToolDecision> {
        self.inner.before_tool_call(turn, call).await
    }

    async fn wrap_tool_call(&self, call: ToolCall, next: NextTool<'_>) -> Result<ToolOutcome> {
        self.inner.wrap_tool_call(call, next).await
    }

    async fn after_tool_call(&self, turn: &mut Turn, call: &ToolCall, output: &mut ToolOutput) -> Result<()> {
        self.inner.after_tool_call(turn, call, output).await
    }

    async fn after_agent(&self, run: &RunContext, outcome: &OutcomeRecord) -> Result<()> {
        self.inner.after_agent(run, outcome).await
    }

    fn observe(&self, run: &RunContext, event: &RunEvent) {
        self.inner.observe(run, event);
    }
}
