//! Events: the one way to watch a run.
//!
//! Everything that shows or records a run (the command line, a server, a trajectory recorder) is a consumer of this stream. Events are a
//! wire type: [`RunEvent::VERSION`] rises when a reader would have to change; new kinds and new fields may come without that.

mod sink;

pub use sink::Events;
pub(crate) use sink::{EventSink, Observer};

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ErrorReport;
use crate::id::{CallId, RunId, ThreadId};
use crate::interrupt::Pause;
use crate::message::Message;
use crate::middleware::Hook;
use crate::model::Usage;
use crate::record::{CallStatus, OutcomeRecord};

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// [`RunEvent::VERSION`] of the writer.
    pub v: u16,
    /// Counts up from 0, without gaps, from the beginning of the run or from where it was resumed; each run counts its own.
    pub seq: u64,
    /// The run: the one that is watched, or one below it.
    pub run: RunId,
    /// Its thread.
    pub thread: ThreadId,
    /// Names of the agents from the outermost to the one that speaks; a single one unless it is a subagent.
    pub path: Arc<[String]>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl RunEvent {
    /// The version of the format that this program writes.
    pub const VERSION: u16 = 1;
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The run began, or went on after a pause or a crash.
    RunStarted {
        /// Whether it had begun before.
        resumed: bool,
    },
    /// A model call began.
    ModelStarted {
        /// The turn, from 1.
        turn: u32,
        /// The attempt within the turn, from 1.
        attempt: u32,
        /// The model, as `provider:model`.
        model: String,
    },
    /// The answer's text grew.
    Text {
        /// The new words.
        text: String,
    },
    /// The answer's reasoning grew.
    Reasoning {
        /// The new words.
        text: String,
    },
    /// A call in the answer grew.
    ToolCallDelta {
        /// The call's id, once the provider has sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The tool's name, once the provider has sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// More of the arguments' JSON text.
        arguments: String,
    },
    /// Forget the text since `model_started`: the answer starts over, or another one stands in its place.
    ModelReset,
    /// A message was added to the thread.
    Message {
        /// The message.
        message: Arc<Message>,
    },
    /// A tool began to work.
    ToolStarted {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// The input it runs with.
        input: Value,
    },
    /// A tool says how far it is.
    ToolProgress {
        /// The call.
        call: CallId,
        /// In its own words.
        message: String,
        /// From 0 to 1, when it knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fraction: Option<f64>,
    },
    /// A call has its result, which follows as a message.
    ToolEnded {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// How it ended.
        status: CallStatus,
        /// How long the tool worked; absent when it did not.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "micros_option")]
        duration_us: Option<Duration>,
    },
    /// A state slot changed.
    StateChanged {
        /// The slot's key.
        key: String,
    },
    /// A middleware's hook ran.
    Middleware {
        /// The middleware.
        name: Arc<str>,
        /// The hook.
        hook: Hook,
        /// What it decided.
        decision: Decided,
        /// What it changed, such as `messages`, `prompt`, `tools`, `state`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<String>,
        /// How long it took, for a wrap with everything inside it.
        #[serde(with = "micros")]
        duration_us: Duration,
        /// The call, for hooks of calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// Why, when it decided something or failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// Something a person should know that does not end the run.
    Warning {
        /// The middleware it comes from, or `catena`.
        source: String,
        /// What it is.
        message: String,
    },
    /// The run waits for answers.
    Interrupted {
        /// The questions.
        pauses: Vec<Pause>,
    },
    /// Tokens were spent.
    Usage {
        /// The middleware that spent them; absent for the answer itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The model, as `provider:model`.
        model: String,
        /// How many.
        usage: Usage,
    },
    /// A middleware's or a tool's own event.
    Custom {
        /// The middleware or tool.
        source: String,
        /// Its name.
        name: String,
        /// Its contents.
        data: Value,
    },
    /// Events were dropped because nobody read them fast enough. It stands in their place: its number is that of the first one.
    Lagged {
        /// How many.
        dropped: u64,
    },
    /// The run is over; no event follows.
    RunEnded {
        /// How it ended; absent when it is paused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<OutcomeRecord>,
        /// The error, when it could not even be journalled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorReport>,
    },
}

/// What a hook decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decided {
    /// Go on.
    Continue,
    /// End the run.
    Stop,
    /// Ask the model again.
    AskAgain,
    /// Refuse the call.
    Block,
    /// Run the call with another input.
    Replace,
    /// End the run for this call.
    AbortLoop,
    /// Ask a person.
    Interrupt,
    /// It answered in the model's or the tool's place.
    Answered,
    /// It failed.
    Failed,
}

mod micros {
    use super::{Deserialize, Duration};

    pub(super) fn serialize<S: serde::Serializer>(duration: &Duration, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        u64::deserialize(d).map(Duration::from_micros)
    }
}

mod micros_option {
    use super::{Deserialize, Duration};

    pub(super) fn serialize<S: serde::Serializer>(duration: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => super::micros::serialize(duration, s),
            None => s.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(d)?.map(Duration::from_micros))
    }
}
