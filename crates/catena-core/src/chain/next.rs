//! The rest of the chain, as a wrap sees it.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::Chain;
use super::hooks::Called;
use crate::context::RunContext;
use crate::error::Result;
use crate::event::Decided;
use crate::message::ToolCall;
use crate::middleware::Hook;
use crate::model::{ModelRequest, ModelResponse};
use crate::tool::ToolOutcome;

/// The model call itself, innermost.
pub(crate) trait BaseModel: Send + Sync {
    fn call(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelResponse>>;
    /// How often the model was asked so far.
    fn attempts(&self) -> u32;
}

/// The tool's work itself, innermost.
pub(crate) trait BaseTool: Send + Sync {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutcome>>;
    /// How often the tool was called so far.
    fn attempts(&self) -> u32;
}

/// The rest of the chain around a model call. It may be called never, once, or several times.
#[derive(Clone, Copy)]
pub struct NextModel<'a> {
    chain: &'a Chain,
    position: usize,
    run: &'a RunContext,
    base: &'a dyn BaseModel,
}

impl<'a> NextModel<'a> {
    pub(crate) fn new(chain: &'a Chain, run: &'a RunContext, base: &'a dyn BaseModel) -> Self {
        Self {
            chain,
            position: 0,
            run,
            base,
        }
    }

    /// The run.
    pub fn run(&self) -> &'a RunContext {
        self.run
    }

    /// Asks the rest of the chain, and in the end the model. If text of an earlier answer has been seen by then, those who watch are told
    /// to forget it.
    ///
    /// # Errors
    /// What the rest of the chain failed with, its type unchanged.
    ///
    /// # Cancel safety
    /// Dropping the future ends the call.
    pub async fn call(&self, request: ModelRequest) -> Result<ModelResponse> {
        let Some(entry) = self.chain.nth(Hook::WrapModelCall, self.position) else {
            return self.base.call(request).await;
        };
        let called = Called::new(self.run, entry, Hook::WrapModelCall, None);
        let before = self.base.attempts();
        let next = NextModel {
            position: self.position + 1,
            run: called.run(),
            ..*self
        };
        let result = called.unlimited(entry.middleware.wrap_model_call(request, next)).await;
        let asked = self.base.attempts() > before;
        called.wrapped(
            result
                .as_ref()
                .map(|_| if asked { Decided::Continue } else { Decided::Answered }),
        );
        result
    }
}

/// The rest of the chain around a tool call. It may be called never, once, or several times.
#[derive(Clone, Copy)]
pub struct NextTool<'a> {
    chain: &'a Arc<Chain>,
    position: usize,
    run: &'a RunContext,
    base: &'a dyn BaseTool,
}

impl<'a> NextTool<'a> {
    pub(crate) fn new(chain: &'a Arc<Chain>, run: &'a RunContext, base: &'a dyn BaseTool) -> Self {
        Self {
            chain,
            position: 0,
            run,
            base,
        }
    }

    /// The run.
    pub fn run(&self) -> &'a RunContext {
        self.run
    }

    /// Calls the rest of the chain, and in the end the tool.
    ///
    /// # Errors
    /// What the rest of the chain failed with, its type unchanged.
    ///
    /// # Cancel safety
    /// Dropping the future ends the call; what a tool then leaves behind is said in its own docs.
    pub async fn call(&self, call: ToolCall) -> Result<ToolOutcome> {
        let Some(entry) = self.chain.nth(Hook::WrapToolCall, self.position) else {
            return self.base.call(call).await;
        };
        let called = Called::new(self.run, entry, Hook::WrapToolCall, Some(&call.id));
        let before = self.base.attempts();
        let next = NextTool {
            position: self.position + 1,
            run: called.run(),
            ..*self
        };
        let result = called.unlimited(entry.middleware.wrap_tool_call(call, next)).await;
        let worked = self.base.attempts() > before;
        called.wrapped(
            result
                .as_ref()
                .map(|_| if worked { Decided::Continue } else { Decided::Answered }),
        );
        result
    }
}
