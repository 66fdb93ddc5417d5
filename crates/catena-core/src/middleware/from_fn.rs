//! Middlewares from closures, for one-offs.
//!
//! They have the default priority and fail closed, as every middleware does that does not say otherwise. What needs more than one hook, a
//! priority or state of its own is better off as a type.
//!
//! ```
//! # use catena_core::middleware::{before_model_fn, Flow};
//! # use catena_core::prompt::Stability;
//! let polite = before_model_fn("polite", |turn| {
//!     turn.request.prompt.push("polite", Stability::Static, "Be polite.");
//!     Ok(Flow::Continue)
//! });
//! ```

use futures::future::BoxFuture;

use super::{AfterModel, Flow, Middleware, ToolDecision, middleware};
use crate::chain::{NextModel, NextTool};
use crate::context::{Intake, Turn};
use crate::error::Result;
use crate::message::ToolCall;
use crate::model::{ModelRequest, ModelResponse};
use crate::tool::ToolOutcome;

macro_rules! from_fn {
    (
        $(#[$doc:meta])*
        $make:ident, $type:ident: for<$($life:lifetime),*> Fn($($argument:ident: $of:ty),*) -> $out:ty;
        $(#[$hook_doc:meta])*
        $($hook:tt)*
    ) => {
        $(#[$doc])*
        pub fn $make<F>(name: impl Into<String>, f: F) -> impl Middleware
        where
            F: for<$($life),*> Fn($($of),*) -> $out + Send + Sync + 'static,
        {
            $type { name: name.into(), f }
        }

        struct $type<F> {
            name: String,
            f: F,
        }

        #[middleware]
        impl<F> Middleware for $type<F>
        where
            F: for<$($life),*> Fn($($of),*) -> $out + Send + Sync + 'static,
        {
            fn name(&self) -> &str {
                &self.name
            }

            $($hook)*
        }
    };
}

from_fn! {
    /// A `before_agent` from a closure.
    before_agent_fn, BeforeAgentFn: for<'a> Fn(intake: &'a mut Intake) -> Result<Flow>;
    async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
        (self.f)(intake)
    }
}

from_fn! {
    /// A `before_model` from a closure.
    before_model_fn, BeforeModelFn: for<'a> Fn(turn: &'a mut Turn) -> Result<Flow>;
    async fn before_model(&self, turn: &mut Turn) -> Result<Flow> {
        (self.f)(turn)
    }
}

from_fn! {
    /// An `after_model` from a closure.
    after_model_fn, AfterModelFn: for<'a, 'b> Fn(turn: &'a mut Turn, response: &'b mut ModelResponse) -> Result<AfterModel>;
    async fn after_model(&self, turn: &mut Turn, response: &mut ModelResponse) -> Result<AfterModel> {
        (self.f)(turn, response)
    }
}

from_fn! {
    /// A gate from a closure.
    gate_fn, GateFn: for<'a, 'b> Fn(turn: &'a Turn, call: &'b ToolCall) -> Result<ToolDecision>;
    async fn before_tool_call(&self, turn: &Turn, call: &ToolCall) -> Result<ToolDecision> {
        (self.f)(turn, call)
    }
}

from_fn! {
    /// A `wrap_model_call` from a closure that returns a boxed future.
    wrap_model_fn, WrapModelFn: for<'a> Fn(request: ModelRequest, next: NextModel<'a>) -> BoxFuture<'a, Result<ModelResponse>>;
    async fn wrap_model_call(&self, request: ModelRequest, next: NextModel<'_>) -> Result<ModelResponse> {
        (self.f)(request, next).await
    }
}

from_fn! {
    /// A `wrap_tool_call` from a closure that returns a boxed future.
    wrap_tool_fn, WrapToolFn: for<'a> Fn(call: ToolCall, next: NextTool<'a>) -> BoxFuture<'a, Result<ToolOutcome>>;
    async fn wrap_tool_call(&self, call: ToolCall, next: NextTool<'_>) -> Result<ToolOutcome> {
        (self.f)(call, next).await
    }
}
