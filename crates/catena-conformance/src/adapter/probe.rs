//! The test middleware `probe`: it notes its visits, adds to the system prompt, and may end the run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use catena_core::chain::{NextModel, NextTool};
use catena_core::context::{Intake, RunContext, Turn};
use catena_core::message::ToolCall;
use catena_core::middleware::{AfterModel, Ending, Flow, Middleware, middleware};
use catena_core::model::{ModelRequest, ModelResponse};
use catena_core::prompt::{Stability, Trusted};
use catena_core::record::OutcomeRecord;
use catena_core::tool::ToolOutcome;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::log::Log;
use super::registry::BuildError;
use super::stage::Stage;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    name: String,
    hooks: Option<BTreeSet<HookName>>,
    append_system: Option<String>,
    jump: Option<Jump>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HookName {
    BeforeAgent,
    BeforeModel,
    WrapModel,
    AfterModel,
    WrapTool,
    AfterAgent,
}

/// Ends the run at one visit of a hook.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Jump {
    hook: JumpHook,
    #[serde(rename = "to")]
    _to: Target,
    /// At which visit, from 1.
    #[serde(default = "first")]
    at: u64,
    /// The agent's last words.
    say: Option<String>,
    #[serde(skip)]
    visits: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JumpHook {
    BeforeAgent,
    BeforeModel,
    AfterModel,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Target {
    End,
}

fn first() -> u64 {
    1
}

struct Probe {
    /// Its name in the chain.
    name: String,
    options: Options,
    log: Arc<Log>,
}

/// A probe from the options of a scenario. Wrong ones are the scenario's fault: no scenario tests how a probe is configured.
pub(super) fn build(options: &Map<String, Value>, stage: &Stage) -> Result<Arc<dyn Middleware>, BuildError> {
    let options: Options = Options::deserialize(Value::Object(options.clone()))
        .map_err(|error| BuildError::Scenario(format!("the options of a probe: {error}")))?;
    Ok(Arc::new(Probe {
        name: format!("probe:{}", options.name),
        options,
        log: stage.log().clone(),
    }))
}

impl Probe {
    /// Notes the visit of a hook that it has; `point` is the hook's name and, for wraps, which end of it. Returns whether it has the hook.
    fn visit(&self, hook: HookName, point: &str) -> bool {
        let has = self.options.hooks.as_ref().is_none_or(|hooks| hooks.contains(&hook));
        if has {
            self.log.hook(format!("{}.{point}", self.options.name));
        }
        has
    }

    /// The end of the run, if this visit is the one.
    fn jump(&self, hook: JumpHook) -> Option<Ending> {
        let jump = self.options.jump.as_ref().filter(|jump| jump.hook == hook)?;
        if jump.visits.fetch_add(1, Ordering::Relaxed) + 1 != jump.at {
            return None;
        }
        let ending = Ending::stopped("jump", format!("probe {} jumped to the end", self.options.name));
        Some(match &jump.say {
            Some(text) => ending.say(text),
            None => ending,
        })
    }
}

#[middleware]
impl Middleware for Probe {
    fn name(&self) -> &str {
        &self.name
    }

    async fn before_agent(&self, _: &mut Intake) -> catena_core::Result<Flow> {
        self.visit(HookName::BeforeAgent, "before_agent");
        Ok(self.jump(JumpHook::BeforeAgent).map_or(Flow::Continue, Flow::Stop))
    }

    async fn before_model(&self, _: &mut Turn) -> catena_core::Result<Flow> {
        self.visit(HookName::BeforeModel, "before_model");
        Ok(self.jump(JumpHook::BeforeModel).map_or(Flow::Continue, Flow::Stop))
    }

    async fn wrap_model_call(
        &self,
        mut request: ModelRequest,
        next: NextModel<'_>,
    ) -> catena_core::Result<ModelResponse> {
        let has = self.visit(HookName::WrapModel, "wrap_model.enter");
        if let Some(text) = self.options.append_system.as_ref().filter(|_| has) {
            request
                .prompt
                .push(&*self.name, Stability::PerTurn, Trusted(text.clone()));
        }
        let response = next.call(request).await?;
        self.visit(HookName::WrapModel, "wrap_model.exit");
        Ok(response)
    }

    async fn after_model(&self, _: &mut Turn, _: &mut ModelResponse) -> catena_core::Result<AfterModel> {
        self.visit(HookName::AfterModel, "after_model");
        let jump = self.jump(JumpHook::AfterModel);
        Ok(jump.map_or(AfterModel::Continue, AfterModel::Stop))
    }

    async fn wrap_tool_call(&self, call: ToolCall, next: NextTool<'_>) -> catena_core::Result<ToolOutcome> {
        self.visit(HookName::WrapTool, "wrap_tool.enter");
        let outcome = next.call(call).await?;
        self.visit(HookName::WrapTool, "wrap_tool.exit");
        Ok(outcome)
    }

    async fn after_agent(&self, _: &RunContext, _: &OutcomeRecord) -> catena_core::Result<()> {
        self.visit(HookName::AfterAgent, "after_agent");
        Ok(())
    }
}
