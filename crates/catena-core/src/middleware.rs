//! Middleware: every behaviour of an agent is one.
//!
//! A middleware is a value with a name, a priority and some of ten hooks. Write the hooks you need under `#[middleware]`; one that is not
//! written is never called, costs nothing and is not in the plan. Each hook has its own context and its own decision type, so what a hook
//! cannot do does not compile.
//!
//! | hook | when | may |
//! |---|---|---|
//! | `tools` | at every turn, and on resume | offer tools |
//! | `before_agent` | once per run, before anything else | edit or refuse the input, add to the prompt, stop |
//! | `before_model` | before every model call | edit the request, stop |
//! | `wrap_model_call` | around every model call | retry, replace the model, answer in its place |
//! | `after_model` | after every model call | edit the answer, ask again, stop |
//! | `before_tool_call` | for every call, before any runs | allow, block, replace the input, ask a person, end the run |
//! | `wrap_tool_call` | around every call that runs | retry, answer in the tool's place |
//! | `after_tool_call` | for every result | edit the result |
//! | `after_agent` | once per run, however it ends | clean up, learn |
//! | `observe` | at every event | watch |
//!
//! Good to know: wraps run once for every correction of [structured output](crate::output); `before_model` also runs for the last word of a
//! run that was ended, so that its filters are in place; a `tools` hook that fails closed fails the run. What a failed hook did to the state
//! is taken back; what a tool did stays, even if it then fails.
//!
//! For a one-off a closure is enough: see [`before_model_fn`] and its neighbours.

mod configured;
mod decision;
mod from_fn;
mod hook;
mod priority;

pub use configured::Configured;
pub use decision::{AfterModel, Ending, EndingOutcome, Flow, OnFailure, Say, ToolDecision};
pub use from_fn::{after_model_fn, before_agent_fn, before_model_fn, gate_fn, wrap_model_fn, wrap_tool_fn};
pub use hook::Hook;
pub use priority::Priority;

use std::sync::Arc;
use std::time::Duration;

pub use catena_macros::middleware;

use crate::chain::{NextModel, NextTool};
use crate::context::{Intake, RunContext, Turn};
use crate::error::Result;
use crate::event::RunEvent;
use crate::message::ToolCall;
use crate::model::{ModelRequest, ModelResponse};
use crate::record::OutcomeRecord;
use crate::tool::{Tool, ToolOutcome, ToolOutput};

/// How long a hook may take unless its middleware asks for more: enough for a database, not for a model.
pub const DEFAULT_BUDGET: Duration = Duration::from_secs(10);

/// A behaviour of an agent. See the [module](self).
#[middleware]
pub trait Middleware: Send + Sync + 'static {
    /// Unique in a chain; letters, digits and `_-.:`. A second instance of a kind adds what sets it apart: `tool_call_limit:search`.
    fn name(&self) -> &str;

    /// Which hooks there are. Written by [`#[middleware]`](macro@middleware).
    fn hooks(&self) -> &'static [&'static str];

    /// Where it stands in the chain; lower runs first; see [`Configured`] for another place than its author's. Default: 500.
    fn priority(&self) -> Priority {
        Priority::DEFAULT
    }

    /// Whether its `before_agent` only adds prompt sections, so that it may run beside others that do. This is verified.
    fn parallel_safe(&self) -> bool {
        false
    }

    /// What happens when a hook fails. Default: the safe thing.
    fn on_failure(&self) -> OnFailure {
        OnFailure::Close
    }

    /// How long each of its `tools`, `before_*` and `after_*` hooks may take. Default: [`DEFAULT_BUDGET`].
    fn budget(&self) -> Duration {
        DEFAULT_BUDGET
    }

    /// Names of middlewares that must stand before it, if they are in the chain.
    fn must_run_after(&self) -> &[&str] {
        &[]
    }

    /// Tools to offer. A pure function of state, which it can read and not change: asked at every turn, and again when a run is resumed.
    async fn tools(&self, run: &RunContext) -> Result<Vec<Arc<dyn Tool>>> {
        let _ = run;
        Ok(Vec::new())
    }

    /// Once per run, before anything else. What it adds to the prompt stays for the run.
    async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
        let _ = intake;
        Ok(Flow::Continue)
    }

    /// Before every model call. Edits to the request are for this call only.
    async fn before_model(&self, turn: &mut Turn) -> Result<Flow> {
        let _ = turn;
        Ok(Flow::Continue)
    }

    /// Around every model call. May call `next` never, once, or several times.
    async fn wrap_model_call(&self, request: ModelRequest, next: NextModel<'_>) -> Result<ModelResponse> {
        next.call(request).await
    }

    /// After every model call, before its answer is recorded.
    async fn after_model(&self, turn: &mut Turn, response: &mut ModelResponse) -> Result<AfterModel> {
        let _ = (turn, response);
        Ok(AfterModel::Continue)
    }

    /// A gate: judges one call. A pure question, which may be asked again after a replacement and after a pause; it can read state and not
    /// change it.
    async fn before_tool_call(&self, turn: &Turn, call: &ToolCall) -> Result<ToolDecision> {
        let _ = (turn, call);
        Ok(ToolDecision::Allow)
    }

    /// Around every call that runs. An error becomes the call's error result; [`Error::Ended`](crate::Error::Ended) fails the run.
    async fn wrap_tool_call(&self, call: ToolCall, next: NextTool<'_>) -> Result<ToolOutcome> {
        next.call(call).await
    }

    /// For every result of a call that ran, one at a time, as it is ready, before it is recorded.
    async fn after_tool_call(&self, turn: &mut Turn, call: &ToolCall, output: &mut ToolOutput) -> Result<()> {
        let _ = (turn, call, output);
        Ok(())
    }

    /// Once per run that ends, however it ends; at least once if the process died. A pause is not an end.
    async fn after_agent(&self, run: &RunContext, outcome: &OutcomeRecord) -> Result<()> {
        let _ = (run, outcome);
        Ok(())
    }

    /// Sees every event, changes nothing, state included, must not block.
    fn observe(&self, run: &RunContext, event: &RunEvent) {
        let _ = (run, event);
    }
}
