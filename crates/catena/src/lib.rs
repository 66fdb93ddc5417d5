//! An agent runtime whose every behaviour is middleware.
//!
//! An agent is a model, some tools, and a chain of [middleware](mod@middleware). Build one with [`Agent::builder`], run it with [`Agent::run`], watch it with
//! [`Agent::start`]. What the ten hooks may do is in the documentation of [`mod@middleware`]; how a thread is kept, in [`record`]. To
//! write a middleware, start with the [guide].
//!
//! ```
//! use catena::prelude::*;
//! use catena::testing::{say, scripted};
//!
//! # catena::testing::block_on(async {
//! let agent = Agent::builder(scripted([say("Good morning.")]))
//!     .with(catena::middleware::before_model_fn("polite", |turn| {
//!         turn.request.prompt.push("polite", Stability::Static, "Be polite.");
//!         Ok(Flow::Continue)
//!     }))
//!     .build()?;
//! assert_eq!(agent.run("Hello").await?.text(), "Good morning.");
//! # Ok::<(), Error>(()) }).unwrap();
//! ```
//!
//! # Features
//!
//! All are off by default: `providers` (OpenAI, Anthropic, Gemini, Ollama, DeepSeek and compatible services), `sqlite` (threads that
//! outlive the process), `full` (both).

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

#[doc = include_str!("../docs/guide.md")]
pub mod guide {}

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

/// Support for tests: scripted models, and a runtime for examples.
pub mod testing {
    pub use catena_models::scripted::{Reply, ScriptedModel, call, calls, say, scripted};

    /// Runs a future on a runtime of its own.
    ///
    /// # Panics
    /// If no runtime can be made.
    pub fn block_on<F: Future>(future: F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        #[expect(clippy::expect_used, reason = "for tests and examples, as the doc says")]
        runtime.expect("a runtime can be made").block_on(future)
    }
}

// The README's examples are tests; one of them needs all features, as `cargo xtask test` has them.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
