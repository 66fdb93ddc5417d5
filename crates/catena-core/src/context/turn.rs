//! What the hooks around a model call and its tool calls are given.

use std::sync::Arc;

use super::RunContext;
use super::intake::folded;
use crate::error::Result;
use crate::id::{CallId, MessageId};
use crate::interrupt::{Decision, InterruptRequest};
use crate::message::{Message, ToolCall};
use crate::middleware::Ending;
use crate::model::ModelRequest;
use crate::record::{Entry, fold_messages};
use crate::shared::Shared;
use crate::tool::ToolOutput;

/// One pass of the loop: a model call and the tool calls it asked for.
#[derive(Debug)]
pub struct Turn {
    pub(crate) run: RunContext,
    /// What the model will be asked. It starts as the view of the thread and may be edited freely for this call. Once the answer is in the
    /// record, gates and calls read the conversation from [`RunContext::messages`]: the request's own list is empty then.
    pub request: Shared<ModelRequest>,
    pub(crate) batch: Batch,
    pub(crate) staged: Vec<Entry>,
}

impl Turn {
    pub(crate) fn new(run: RunContext, request: ModelRequest) -> Self {
        Self {
            run,
            request: request.into(),
            batch: Batch::default(),
            staged: Vec::new(),
        }
    }

    /// The run.
    pub fn run(&self) -> &RunContext {
        &self.run
    }

    /// The calls of the message that is being judged, as decided so far; empty outside of gates and calls.
    pub fn calls(&self) -> &Batch {
        &self.batch
    }

    /// Lets `summary` stand for everything up to the message `up_to`, in this request and from now on. The record keeps what was said. It
    /// is durable with the hook's step, from `before_model`, `after_model` and `after_tool_call` alike; with an answer that fails, its folds are
    /// dropped.
    ///
    /// # Errors
    /// [`Error::Unknown`](crate::Error::Unknown) if neither the request nor the thread has such a message.
    pub fn fold(&mut self, up_to: MessageId, summary: Message) -> Result<()> {
        self.run.record(|thread| thread.known(&up_to))?;
        let summary = Arc::new(summary);
        fold_messages(self.request.messages_mut(), &up_to, &summary);
        self.staged.push(folded(&self.run, up_to, summary));
        Ok(())
    }
}

/// The calls of one message.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub(crate) calls: Vec<BatchCall>,
}

/// A call of a message and what is decided about it.
#[derive(Clone, Debug)]
pub struct BatchCall {
    /// The call as it would run.
    pub call: ToolCall,
    /// What a person answered at this call, after a pause.
    pub answer: Option<Decision>,
    /// What was decided; absent while it is being judged, and for the calls after it.
    pub verdict: Option<Verdict>,
}

/// What all gates together decided about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// It does not run; this is its result.
    Block {
        /// The middleware that blocked it.
        by: String,
        /// The result.
        output: ToolOutput,
    },
    /// A person decides; all questions in one.
    Interrupt {
        /// The middlewares that ask.
        by: Vec<String>,
        /// The question.
        request: InterruptRequest,
    },
    /// Nothing of the message runs.
    AbortLoop {
        /// The middleware that ended the run.
        by: String,
        /// How.
        ending: Ending,
    },
}

impl Batch {
    /// All calls of the message that needed judging, in call order.
    pub fn iter(&self) -> impl Iterator<Item = &BatchCall> {
        self.calls.iter()
    }

    /// How many calls of `tool` (of any tool, if it is `None`) are allowed so far.
    pub fn allowed(&self, tool: Option<&str>) -> usize {
        let allowed = self
            .calls
            .iter()
            .filter(|c| matches!(c.verdict, Some(Verdict::Allow | Verdict::Interrupt { .. })));
        allowed.filter(|c| tool.is_none_or(|tool| tool == c.call.name)).count()
    }

    /// What a person answered at this call.
    pub fn answer(&self, call: &CallId) -> Option<&Decision> {
        self.calls.iter().find(|c| c.call.id == *call)?.answer.as_ref()
    }
}
