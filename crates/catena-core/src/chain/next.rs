//! The rest of the chain, as a wrap sees it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

use super::Chain;
use super::hooks::{Called, changes};
use crate::context::RunContext;
use crate::error::Result;
use crate::event::Decided;
use crate::id::MessageId;
use crate::interrupt::Decision;
use crate::message::{Message, ToolCall};
use crate::middleware::Hook;
use crate::model::{ModelRequest, ModelResponse};
use crate::record::{Entry, fold_messages};
use crate::tool::{Tool, ToolOutcome};

/// The model call itself, innermost.
pub(crate) trait BaseModel: Send + Sync {
    fn call(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelResponse>>;
    /// How often the model was asked so far.
    fn attempts(&self) -> u32;
    /// Keeps an entry until the step is journalled.
    fn stage(&self, entry: Entry);
}

/// The tool's work itself, innermost.
pub(crate) trait BaseTool: Send + Sync {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutcome>>;
    /// How often the tool was called so far.
    fn attempts(&self) -> u32;
    /// The tool.
    fn tool(&self) -> &Arc<dyn Tool>;
    /// What a person answered at the call.
    fn answer(&self) -> Option<&Decision>;
}

/// What a wrap was given and what it made of it, for its line in the events.
struct Watch<T> {
    given: T,
    changed: Mutex<BTreeSet<&'static str>>,
}

impl<T> Watch<T> {
    fn new(given: T) -> Self {
        Self {
            given,
            changed: Mutex::default(),
        }
    }

    fn note(&self, changes: impl IntoIterator<Item = &'static str>) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.extend(changes);
    }

    fn into_names(self) -> Vec<String> {
        let changed = self.changed.into_inner().unwrap_or_else(PoisonError::into_inner);
        changed.into_iter().map(str::to_owned).collect()
    }
}

/// The rest of the chain around a model call. It may be called never, once, or several times.
#[derive(Clone, Copy)]
pub struct NextModel<'a> {
    chain: &'a Chain,
    position: usize,
    run: &'a RunContext,
    base: &'a dyn BaseModel,
    /// Of the wrap that holds this; absent when nobody watches.
    watch: Option<&'a Watch<ModelRequest>>,
}

impl<'a> NextModel<'a> {
    pub(crate) fn new(chain: &'a Chain, run: &'a RunContext, base: &'a dyn BaseModel) -> Self {
        Self {
            chain,
            position: 0,
            run,
            base,
            watch: None,
        }
    }

    /// The run.
    pub fn run(&self) -> &'a RunContext {
        self.run
    }

    /// Lets `summary` stand for everything up to the message `up_to`, in `request` and from now on. The record keeps what was said, and the
    /// fold is journalled with the step, even if the step fails: what was summed up once need not be summed up again.
    ///
    /// # Errors
    /// [`Error::Unknown`](crate::Error::Unknown) if the thread has no such message.
    pub fn fold(&self, up_to: MessageId, summary: Message, request: &mut ModelRequest) -> Result<()> {
        self.run.record(|thread| thread.known(&up_to))?;
        let summary = Arc::new(summary);
        fold_messages(request.messages_mut(), &up_to, &summary);
        if let Some(watch) = self.watch {
            watch.note(["fold"]);
        }
        self.base.stage(Entry::Folded {
            up_to,
            summary,
            by: self.run.middleware().unwrap_or("catena").to_owned(),
        });
        Ok(())
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
        if let Some(watch) = self.watch {
            watch.note(changes(&watch.given, &request));
        }
        let Some(entry) = self.chain.nth(Hook::WrapModelCall, self.position) else {
            return self.base.call(request).await;
        };
        let called = Called::new(self.run, entry, Hook::WrapModelCall, None);
        let before = self.base.attempts();
        let watch = called.is_watched().then(|| Watch::new(request.clone()));
        let next = NextModel {
            position: self.position + 1,
            run: called.run(),
            watch: watch.as_ref(),
            ..*self
        };
        let result = called.unlimited(entry.middleware.wrap_model_call(request, next)).await;
        let asked = self.base.attempts() > before;
        called.wrapped(
            result
                .as_ref()
                .map(|_| if asked { Decided::Continue } else { Decided::Answered }),
            || watch.map(Watch::into_names).unwrap_or_default(),
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
    /// Of the wrap that holds this; absent when nobody watches.
    watch: Option<&'a Watch<ToolCall>>,
}

impl<'a> NextTool<'a> {
    pub(crate) fn new(chain: &'a Arc<Chain>, run: &'a RunContext, base: &'a dyn BaseTool) -> Self {
        Self {
            chain,
            position: 0,
            run,
            base,
            watch: None,
        }
    }

    /// The run.
    pub fn run(&self) -> &'a RunContext {
        self.run
    }

    /// The tool that would work: its description, schema and marks.
    pub fn tool(&self) -> &'a Arc<dyn Tool> {
        self.base.tool()
    }

    /// What a person answered at this call, if it was asked about.
    pub fn answer(&self) -> Option<&'a Decision> {
        self.base.answer()
    }

    /// Calls the rest of the chain, and in the end the tool.
    ///
    /// # Errors
    /// What the rest of the chain failed with, its type unchanged.
    ///
    /// # Cancel safety
    /// Dropping the future ends the call; what a tool then leaves behind is said in its own docs.
    pub async fn call(&self, call: ToolCall) -> Result<ToolOutcome> {
        if let Some(watch) = self.watch {
            watch.note((watch.given.input != call.input).then_some("input"));
        }
        let Some(entry) = self.chain.nth(Hook::WrapToolCall, self.position) else {
            return self.base.call(call).await;
        };
        let called = Called::new(self.run, entry, Hook::WrapToolCall, Some(&call.id));
        let before = self.base.attempts();
        let watch = called.is_watched().then(|| Watch::new(call.clone()));
        let next = NextTool {
            position: self.position + 1,
            run: called.run(),
            watch: watch.as_ref(),
            ..*self
        };
        let result = called.unlimited(entry.middleware.wrap_tool_call(call, next)).await;
        let worked = self.base.attempts() > before;
        called.wrapped(
            result
                .as_ref()
                .map(|_| if worked { Decided::Continue } else { Decided::Answered }),
            || watch.map(Watch::into_names).unwrap_or_default(),
        );
        result
    }
}
