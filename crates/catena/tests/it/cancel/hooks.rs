//! Cancelling while a hook works.

use std::sync::Arc;

use catena::chain::{NextModel, NextTool};
use catena::message::ToolCall;
use catena::middleware::Hook;
use catena::prelude::*;
use catena::testing::{call, scripted};
use catena::tool::Tool;
use serde_json::json;

use super::{agent, cancelled, goes_on};
use crate::support::{Hold, counting};

/// Waits in one of its hooks, the first time.
struct Waits {
    hook: Hook,
    hold: Hold,
    waited: std::sync::atomic::AtomicBool,
}

impl Waits {
    async fn at(&self, hook: Hook) {
        if hook == self.hook && !self.waited.swap(true, std::sync::atomic::Ordering::SeqCst) {
            self.hold.here().await;
        }
    }
}

#[middleware]
impl Middleware for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    async fn tools(&self, _: &RunContext) -> Result<Vec<Arc<dyn Tool>>> {
        self.at(Hook::Tools).await;
        Ok(Vec::new())
    }

    async fn before_agent(&self, _: &mut Intake) -> Result<Flow> {
        self.at(Hook::BeforeAgent).await;
        Ok(Flow::Continue)
    }

    async fn before_model(&self, _: &mut Turn) -> Result<Flow> {
        self.at(Hook::BeforeModel).await;
        Ok(Flow::Continue)
    }

    async fn wrap_model_call(&self, request: ModelRequest, next: NextModel<'_>) -> Result<ModelResponse> {
        let response = next.call(request).await;
        self.at(Hook::WrapModelCall).await;
        response
    }

    async fn after_model(&self, _: &mut Turn, _: &mut ModelResponse) -> Result<AfterModel> {
        self.at(Hook::AfterModel).await;
        Ok(AfterModel::Continue)
    }

    async fn before_tool_call(&self, _: &Turn, _: &ToolCall) -> Result<ToolDecision> {
        self.at(Hook::BeforeToolCall).await;
        Ok(ToolDecision::Allow)
    }

    async fn wrap_tool_call(&self, call: ToolCall, next: NextTool<'_>) -> Result<ToolOutcome> {
        let outcome = next.call(call).await;
        self.at(Hook::WrapToolCall).await;
        outcome
    }

    async fn after_tool_call(&self, _: &mut Turn, _: &ToolCall, _: &mut ToolOutput) -> Result<()> {
        self.at(Hook::AfterToolCall).await;
        Ok(())
    }
}

/// The input is part of the thread once it is admitted, an answer once it is recorded; a call that had started says that it is not known
/// what it did.
#[tokio::test(start_paused = true)]
async fn in_any_hook_the_run_ends_and_what_was_recorded_stays() {
    let (not_run, unknown) = (
        "not run: the run was cancelled",
        "not finished: the run was cancelled; whether it took effect is not known",
    );
    let cases: [(Hook, &[&str]); 8] = [
        (Hook::BeforeAgent, &[]),
        (Hook::Tools, &["go"]),
        (Hook::BeforeModel, &["go"]),
        (Hook::WrapModelCall, &["go"]),
        (Hook::AfterModel, &["go"]),
        (Hook::BeforeToolCall, &["go", "", not_run]),
        (Hook::WrapToolCall, &["go", "", unknown]),
        (Hook::AfterToolCall, &["go", "", unknown]),
    ];
    for (hook, expected) in cases {
        let hold = Hold::new();
        let waits = Waits {
            hook,
            hold: hold.clone(),
            waited: Default::default(),
        };
        let model = scripted([call("work", json!({}))]);
        let (agent, ends) = agent(model.clone(), |builder| builder.tool(counting("work").0).with(waits));
        let handle = agent.start(Input::new("go").thread("t"));
        hold.reached().await;
        assert_eq!(cancelled(&agent, &ends, handle).await, expected, "{hook}");
        if matches!(hook, Hook::BeforeAgent | Hook::Tools | Hook::BeforeModel) {
            // The reply that was not asked for is still there.
            model.push(catena::testing::say("worked"));
            agent.run(Input::new("work").thread("t")).await.unwrap();
        }
        goes_on(&agent, &model).await;
    }
}
