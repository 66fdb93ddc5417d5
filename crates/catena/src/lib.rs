//! An agent runtime whose every behaviour is middleware.

pub use catena_core::*;

/// Models: providers behind the feature `providers`, and the scripted model.
pub mod models {
    pub use catena_models::*;
}

/// Where threads are kept.
#[cfg(feature = "sqlite")]
pub mod store {
    pub use catena_store::*;
}

/// What most programs need.
pub mod prelude {
    pub use catena_core::agent::{Agent, Input, Outcome, Resume};
    pub use catena_core::context::{Intake, RunContext, Turn};
    pub use catena_core::middleware::{AfterModel, Ending, Flow, Middleware, Priority, ToolDecision, middleware};
    pub use catena_core::model::{ModelRequest, ModelResponse};
    pub use catena_core::prompt::{Fenced, Stability, Trusted};
    pub use catena_core::tool::{ToolContext, ToolError, ToolOutcome, ToolOutput, tool_fn};
    pub use catena_core::{Error, Result};
}

/// Support for tests: scripted models, a runtime for doc examples.
pub mod testing {
    pub use catena_models::scripted::{Reply, ScriptedModel, call, calls, say, scripted};
}
