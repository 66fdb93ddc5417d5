//! A middleware under another name and in another place, and the list of hooks that everything goes by.

use std::sync::Arc;
use std::time::Duration;

use catena::chain::{NextModel, NextTool};
use catena::event::RunEvent;
use catena::message::ToolCall;
use catena::middleware::{Configured, Hook, OnFailure};
use catena::prelude::*;
use catena::record::OutcomeRecord;
use catena::testing::{call, say, scripted};
use catena::tool::Tool;

use crate::kit::{Log, echo, spy, text};

/// Every hook there is; notes each that is called.
struct Every(Log);

#[middleware]
impl Middleware for Every {
    fn name(&self) -> &str {
        "every"
    }
    fn priority(&self) -> Priority {
        Priority(300)
    }
    async fn tools(&self, _: &RunContext) -> Result<Vec<Arc<dyn Tool>>> {
        self.0.add("tools");
        Ok(Vec::new())
    }
    async fn before_agent(&self, _: &mut Intake) -> Result<Flow> {
        self.0.add("before_agent");
        Ok(Flow::Continue)
    }
    async fn before_model(&self, _: &mut Turn) -> Result<Flow> {
        self.0.add("before_model");
        Ok(Flow::Continue)
    }
    async fn wrap_model_call(&self, request: ModelRequest, next: NextModel<'_>) -> Result<ModelResponse> {
        self.0.add("wrap_model_call");
        next.call(request).await
    }
    async fn after_model(&self, _: &mut Turn, _: &mut ModelResponse) -> Result<AfterModel> {
        self.0.add("after_model");
        Ok(AfterModel::Continue)
    }
    async fn before_tool_call(&self, _: &Turn, _: &ToolCall) -> Result<ToolDecision> {
        self.0.add("before_tool_call");
        Ok(ToolDecision::Allow)
    }
    async fn wrap_tool_call(&self, call: ToolCall, next: NextTool<'_>) -> Result<ToolOutcome> {
        self.0.add("wrap_tool_call");
        next.call(call).await
    }
    async fn after_tool_call(&self, _: &mut Turn, _: &ToolCall, _: &mut ToolOutput) -> Result<()> {
        self.0.add("after_tool_call");
        Ok(())
    }
    async fn after_agent(&self, _: &RunContext, _: &OutcomeRecord) -> Result<()> {
        self.0.add("after_agent");
        Ok(())
    }
    fn observe(&self, _: &RunContext, _: &RunEvent) {
        self.0.add("observe");
    }
}

/// The list that the attribute writes hooks from and the list that chains are planned by are one.
#[test]
fn the_attribute_and_the_chain_know_the_same_hooks() {
    assert_eq!(Every(Log::default()).hooks(), Hook::ALL.map(Hook::as_str));
}

/// What is not set is the inner one's, and every hook reaches it.
#[tokio::test]
async fn a_configured_middleware_does_all_that_the_inner_one_does() {
    let log = Log::default();
    let same: Arc<dyn Middleware> = Arc::new(Configured::new(Every(log.clone())));
    assert_eq!((same.name(), same.priority()), ("every", Priority(300)));
    assert_eq!(
        (same.on_failure(), same.budget()),
        (OnFailure::Close, Duration::from_secs(10))
    );
    let agent = Agent::builder(scripted([call("echo", text("x")), say("done")]))
        .tool(echo())
        .with_shared(same)
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    let called = log.lines();
    let missed: Vec<_> = Hook::ALL
        .iter()
        .filter(|hook| !called.iter().any(|line| line == hook.as_str()))
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
}

/// What is set holds: the same middleware twice, in other places, under names of its own.
#[tokio::test]
async fn a_configuration_overrides_what_the_author_chose() {
    let log = Log::default();
    let shared: Arc<dyn Middleware> = Arc::new(spy("inner", 500, &log));
    let late = Configured::shared(shared.clone())
        .name("inner:late")
        .priority(Priority(700))
        .on_failure(OnFailure::Open)
        .budget(Duration::from_secs(60));
    let agent = Agent::builder(scripted([say("done")]))
        .with(late)
        .with(spy("middle", 600, &log))
        .with_shared(shared)
        .build()
        .unwrap();
    assert_eq!(
        agent.chain().hooks[&Hook::BeforeModel],
        ["inner", "middle", "inner:late"]
    );
    let report = agent.chain();
    let row = report.rows.iter().find(|row| row.name == "inner:late").unwrap();
    assert_eq!(
        (row.priority, row.on_failure),
        (Some(Priority(700)), Some(OnFailure::Open))
    );
    agent.run("go").await.unwrap();
    let before: Vec<_> = log
        .take()
        .into_iter()
        .filter(|line| line.ends_with("before_model"))
        .collect();
    assert_eq!(
        before,
        ["inner.before_model", "middle.before_model", "inner.before_model"]
    );
    let set: Arc<dyn Middleware> = Arc::new(Configured::new(spy("a", 1, &log)).budget(Duration::from_secs(60)));
    assert_eq!(set.budget(), Duration::from_secs(60));
}

/// Says that it has a hook which nobody knows.
struct Misspelt;

#[async_trait::async_trait]
impl Middleware for Misspelt {
    fn name(&self) -> &str {
        "misspelt"
    }
    fn hooks(&self) -> &'static [&'static str] {
        &["before_modle"]
    }
}

/// A hook that would never be called is a mistake, and is found before anything runs.
#[test]
fn an_unknown_hook_is_refused_when_the_agent_is_built() {
    let error = Agent::builder(scripted([]))
        .with(Misspelt)
        .build()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`misspelt`") && error.contains("`before_modle`"),
        "{error}"
    );
    assert!(error.contains("before_model,"), "{error}");
}
