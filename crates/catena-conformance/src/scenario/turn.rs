//! What happens to the agent: user messages, messages of any role, resumes.

use serde_json::Value;

use super::reply::{Arguments, ScriptedCall};
use crate::observed::{Role, ToolCall};
use crate::read::{Node, Read, ReadError};
use crate::text::{Text, expand};

/// The thread of a turn that names none.
pub const MAIN_THREAD: &str = "main";

/// One turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The thread it runs on. Default: `main`.
    pub thread: String,
    /// What is given to the agent.
    pub input: TurnInput,
}

/// What a turn gives to the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnInput {
    /// One user message.
    User(Text),
    /// Several new messages of any role.
    Messages(Vec<InputMessage>),
    /// The answer to a pause.
    Resume(Value),
}

/// A message given to the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct InputMessage {
    /// Who speaks.
    pub role: Role,
    /// The text. Default: empty.
    pub text: Text,
    /// Calls of an assistant message.
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool message answers.
    pub tool_call_id: Option<String>,
    /// The tool's name of a tool message.
    pub name: Option<String>,
    /// Whether a tool message reports a failure (`"status": "error"`).
    pub failed: bool,
}

impl Read for Turn {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["user", "messages", "resume", "thread"])?;
        let input = match fields.exactly_one(&["user", "messages", "resume"])? {
            "user" => TurnInput::User(fields.required("user")?),
            "messages" => TurnInput::Messages(fields.required("messages")?),
            // An edited action holds arguments of a tool call, and those may hold TEXT.
            _ => TurnInput::Resume(expand(&fields.required("resume")?)),
        };
        Ok(Self {
            thread: fields.optional("thread")?.unwrap_or_else(|| MAIN_THREAD.to_owned()),
            input,
        })
    }
}

impl Read for InputMessage {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["role", "text", "tool_calls", "tool_call_id", "name", "status"])?;
        let calls: Vec<ScriptedCall> = fields.or_default("tool_calls")?;
        Ok(Self {
            role: fields.required("role")?,
            text: fields.or_default("text")?,
            tool_calls: calls.into_iter().map(parsed).collect(),
            tool_call_id: fields.optional("tool_call_id")?,
            name: fields.optional("name")?,
            failed: fields
                .optional::<Status>("status")?
                .is_some_and(|status| status == Status::Error),
        })
    }
}

fn parsed(call: ScriptedCall) -> ToolCall {
    let args = match call.arguments {
        Arguments::Parsed(args) => args,
        Arguments::Raw(text) => Value::String(text),
    };
    ToolCall {
        id: call.id,
        name: call.name,
        args,
    }
}

/// The status of a tool message, in input and in patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Success,
    Error,
}

impl Read for Status {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        match node.value().as_str() {
            Some("success") => Ok(Self::Success),
            Some("error") => Ok(Self::Error),
            _ => Err(node.error("expected success or error")),
        }
    }
}

impl Read for Role {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let name: String = node.read()?;
        Self::from_name(&name).ok_or_else(|| node.error("expected system, user, assistant or tool"))
    }
}
