//! What a run must record, as plain values that know nothing of catena.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

/// Everything that was observed while a scenario was played.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// One entry a turn, in order.
    pub turns: Vec<TurnRecord>,
    /// All requests to models in order of their start, failed attempts and requests of middleware included.
    pub model_calls: Vec<ModelCall>,
    /// All executions of scripted tools in order of their start, retries included; tools of middleware are not listed.
    pub tool_executions: Vec<Execution>,
    /// The visits noted by `probe` middlewares, such as `A.before_model`.
    pub hooks: Vec<String>,
    /// The messages of the last turn's thread after that turn, without the configured system prompt.
    pub final_messages: Vec<Message>,
    /// The to-do list of that thread.
    pub todos: Vec<Value>,
    /// The virtual files of that thread: path to text.
    pub files: BTreeMap<String, String>,
    /// What makes the case fail whatever `expect` says, such as a request to a model with nothing left in its queue.
    pub violations: Vec<String>,
}

/// One request to a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCall {
    /// The model's name in the scenario.
    pub model: String,
    /// The messages, the system prompt first if there is one.
    pub messages: Vec<Message>,
    /// The names of the tools offered, in order.
    pub tools: Vec<String>,
    /// The tool choice as sent, if any.
    pub tool_choice: Option<Value>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// The system prompt.
    System,
    /// The user.
    #[default]
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

impl Role {
    /// The role's name in the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// The role of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::System, Self::User, Self::Assistant, Self::Tool]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its text, content blocks joined.
    pub text: String,
    /// The calls of an assistant message.
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool message answers.
    pub tool_call_id: Option<String>,
    /// Whether a tool message reports a failure.
    pub failed: bool,
}

/// One call in an assistant message.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments: an object, or the raw text as a JSON string where it is not JSON.
    pub args: Value,
}

/// One execution of a scripted tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// The tool's name.
    pub name: String,
    /// The arguments it got.
    pub args: Value,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// With an answer, or stopped on purpose.
    #[default]
    Done,
    /// Paused for a decision.
    Interrupted,
    /// Failed.
    Error,
}

impl Outcome {
    /// The outcome's name in the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
        }
    }

    /// The outcome of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Done, Self::Interrupted, Self::Error]
            .into_iter()
            .find(|outcome| outcome.name() == name)
    }
}

/// The record of one turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnRecord {
    /// How it ended.
    pub outcome: Outcome,
    /// The error, if it failed.
    pub error: Option<ErrorRecord>,
    /// The value it paused with: for approvals `action_requests` and `review_configs`.
    pub interrupt: Option<Value>,
    /// How many requests to models it made.
    pub model_calls: usize,
    /// How long it took.
    pub elapsed: Duration,
}

/// The error of a failed turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorRecord {
    /// The stable word for it, such as `model_error`.
    pub kind: String,
    /// The HTTP status of a provider's failure.
    pub status: Option<u16>,
    /// The whole message, causes included.
    pub message: String,
}
