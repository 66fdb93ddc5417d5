//! The kinds of entries in a thread's record.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ErrorReport;
use crate::id::{CallId, MessageId, RunId, ThreadId};
use crate::interrupt::{Answer, Pause};
use crate::message::Message;
use crate::middleware::Ending;
use crate::model::Usage;
use crate::principal::Principal;
use crate::prompt::Section;
use crate::record::counts::Totals;
use crate::state::Scope;

/// One thing that happened on a thread, in the order in which it happened.
///
/// This is a wire type: stores keep it as JSON. New kinds may be added; a kind is never changed. A reader that meets a kind it does not
/// know refuses the thread rather than losing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// A run began.
    RunStarted(RunStart),
    /// The input passed every `before_agent`: it is part of the thread from here on.
    Admitted {
        /// The new messages.
        input: Vec<Arc<Message>>,
        /// What `before_agent` hooks added to the prompt for this run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prompt: Vec<Section>,
    },
    /// A message that nobody asked a model for: a note, the words of an [`Ending`], the history of a fork.
    Message {
        /// The message.
        message: Arc<Message>,
    },
    /// A model answered.
    Model(ModelStep),
    /// A call runs with another input than the model wrote.
    CallInput {
        /// The call.
        call: CallId,
        /// The tool that runs; another one than asked for only after a person's edit.
        tool: String,
        /// The input that runs.
        input: Value,
        /// The middleware that replaced it, or `human`.
        by: String,
    },
    /// A tool began to work on a call.
    CallStarted {
        /// The call.
        call: CallId,
    },
    /// A call has its result.
    CallEnded {
        /// The result, a [`Message::Tool`].
        message: Arc<Message>,
        /// How it came about.
        status: super::CallStatus,
        /// SHA-256 of the tool's output before any middleware changed it, in hex; absent when the tool did not run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
        /// What refused it, when it was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The tool succeeded and its result ends the run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ends_run: bool,
    },
    /// The run waits for answers.
    Paused {
        /// The questions.
        pauses: Vec<Pause>,
    },
    /// A question was answered.
    Answered {
        /// The answer.
        answer: Answer,
    },
    /// A summary stands for everything up to a message.
    Folded {
        /// The last message it stands for.
        up_to: MessageId,
        /// The summary.
        summary: Arc<Message>,
        /// The middleware that wrote it.
        by: String,
    },
    /// These messages no longer count: the conversation went on from before them.
    Superseded {
        /// Their ids.
        messages: Vec<MessageId>,
    },
    /// A state slot has a new value.
    State {
        /// The slot's key.
        key: String,
        /// Whether it outlives the run.
        scope: Scope,
        /// The value; `null` when it was cleared.
        value: Value,
    },
    /// A middleware called a model for purposes of its own.
    InternalCall {
        /// The middleware.
        by: String,
        /// The model, as `provider:model`.
        model: String,
        /// What it cost.
        usage: Usage,
    },
    /// Model attempts that led to no message.
    FailedAttempts {
        /// How many.
        attempts: u32,
        /// Their tokens, as far as they were reported.
        #[serde(default, skip_serializing_if = "Usage::is_empty")]
        usage: Usage,
    },
    /// A child stopped, for good or for now. The last one of a child counts.
    ChildSpent {
        /// The child.
        run: RunId,
        /// Its agent.
        agent: String,
        /// What it did so far, with its own children.
        totals: Arc<Totals>,
    },
    /// A middleware, or the loop itself, decided to end the run.
    Ending {
        /// Who.
        by: String,
        /// How.
        ending: Ending,
    },
    /// The run is over; `after_agent` has run.
    RunEnded {
        /// The run.
        run: RunId,
        /// How it ended.
        outcome: OutcomeRecord,
    },
    /// The thread began as a copy of another one.
    Forked {
        /// The thread it was copied from.
        from: ThreadId,
        /// The last message that was copied.
        at: MessageId,
    },
}

/// See [`Entry::RunStarted`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    /// The run.
    pub run: RunId,
    /// The agent.
    pub agent: String,
    /// What kind of run it is.
    #[serde(default)]
    pub kind: RunKind,
    /// The run that started it, if it is a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// Names of the agents above it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Who it is for; absent in records from before this was journalled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
    /// When it began.
    pub at: jiff::Timestamp,
}

/// What kind of run it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunKind {
    /// Started by a person or a program.
    #[default]
    Top,
    /// Started by another agent's run.
    Subagent,
}

/// See [`Entry::Model`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelStep {
    /// The answer, a [`Message::Assistant`].
    pub message: Arc<Message>,
    /// The tools that were offered with the request.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub offer: Arc<[String]>,
    /// Model calls it took, retries and corrections included.
    pub attempts: u32,
    /// Tokens of the attempts that are not in the message.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub wasted: Usage,
    /// The object that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// It is the last word of a run that was ended: it has no calls and asks for no further step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last_word: bool,
    /// A middleware asked for another answer: the calls are not run, and the loop starts over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask_again: bool,
}

/// How a run ended, as it is journalled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum OutcomeRecord {
    /// The model said its last word.
    Done {
        /// The object that was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        structured: Option<Value>,
    },
    /// Ended on purpose, gracefully.
    Stopped {
        /// Who ended it.
        by: String,
        /// Why.
        reason: EndReason,
    },
    /// Cancelled from outside.
    Cancelled,
    /// Ended by an error.
    Failed {
        /// The error.
        error: ErrorReport,
    },
}

/// A stable word and a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndReason {
    /// Such as `model_call_limit`.
    pub kind: String,
    /// What a person should know.
    pub message: String,
}
