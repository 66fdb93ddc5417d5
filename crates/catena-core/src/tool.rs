//! Tools: what a model may ask for, and what it gets back.
//!
//! Write one from a function with [`tool_fn`], from a JSON Schema with [`json_tool`], or implement [`Tool`].

mod context;
mod function;
mod output;
mod spec;

pub use context::ToolContext;
pub use function::{FnTool, IntoToolOutcome, Json, json_tool, tool_fn};
pub use output::{ToolError, ToolOutcome, ToolOutput};
pub use spec::{ToolClass, ToolSpec, Trust};

use async_trait::async_trait;
use serde_json::Value;

/// Something that a model can call.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Name, description, schema and marks.
    fn spec(&self) -> &ToolSpec;

    /// Calls with the same lane run one after another, in call order. Default: every call runs at once.
    fn lane(&self, input: &Value) -> Option<String> {
        let _ = input;
        self.spec().lane.clone()
    }

    /// Does the work. `input` fits the schema.
    ///
    /// # Errors
    /// A [`ToolError`] becomes a result with `status: error` that the model can act on.
    ///
    /// # Cancel safety
    /// The future is dropped when the run is cancelled or the time limit is reached; a tool says in its own docs what that leaves behind.
    async fn call(&self, context: ToolContext, input: Value) -> Result<ToolOutcome, ToolError>;
}
