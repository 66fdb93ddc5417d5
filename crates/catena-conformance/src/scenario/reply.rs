//! Scripted replies of models.

use serde_json::{Map, Value};

use crate::read::{Node, Read, ReadError};
use crate::text::{Text, expand};

/// One entry of a model's queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What the model answers.
    pub answer: Answer,
    /// What the answer is said to have used, if the scenario cares.
    pub usage: Option<Usage>,
}

/// What a model answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A text, calls, or both.
    Message {
        /// The text; empty if there are only calls.
        text: Text,
        /// The calls, in order.
        calls: Vec<ScriptedCall>,
    },
    /// One JSON object, in whatever way the request asked for it.
    Structured(Value),
    /// An HTTP failure.
    Failure(Failure),
}

/// A tool call that a model asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedCall {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
}

/// The arguments of a scripted call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// A JSON object.
    Parsed(Value),
    /// Text that is delivered as it is, JSON or not.
    Raw(String),
}

/// An HTTP failure of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The HTTP status.
    pub status: u16,
    /// The message in the body.
    pub message: Text,
    /// The provider's error code, such as `context_length_exceeded`.
    pub code: Option<String>,
    /// The `retry-after` header, in seconds.
    pub retry_after: Option<f64>,
}

/// Tokens used by one reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the reply.
    pub output: u64,
}

impl Read for Reply {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["text", "tool_calls", "raw_tool_calls", "structured", "error", "usage"])?;
        let message = ["text", "tool_calls", "raw_tool_calls"]
            .iter()
            .any(|key| fields.has(key));
        let usage = fields.optional("usage")?;
        let answer = match (message, fields.has("structured"), fields.has("error")) {
            (true, false, false) => {
                let mut calls: Vec<ScriptedCall> = fields.or_default("tool_calls")?;
                calls.extend(
                    fields
                        .or_default::<Vec<RawCall>>("raw_tool_calls")?
                        .into_iter()
                        .map(|raw| raw.0),
                );
                if calls.is_empty() && !fields.has("text") {
                    return Err(fields.error("a reply without text needs at least one call"));
                }
                Answer::Message {
                    text: fields.or_default("text")?,
                    calls,
                }
            }
            (false, true, false) => {
                Answer::Structured(Value::Object(fields.required::<Map<String, Value>>("structured")?))
            }
            (false, false, true) if usage.is_some() => {
                return Err(fields.error("`usage` belongs to a successful reply"));
            }
            (false, false, true) => Answer::Failure(fields.required("error")?),
            _ => {
                return Err(fields.error("a reply is either text and calls, or `structured`, or an `error`"));
            }
        };
        Ok(Self { answer, usage })
    }
}

impl Read for ScriptedCall {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["id", "name", "args"])?;
        let args = Value::Object(fields.or_default::<Map<String, Value>>("args")?);
        Ok(Self {
            id: fields.required("id")?,
            name: fields.required("name")?,
            arguments: Arguments::Parsed(expand(&args)),
        })
    }
}

/// A call with the argument text in place of arguments.
struct RawCall(ScriptedCall);

impl Read for RawCall {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["id", "name", "arguments"])?;
        let arguments = Arguments::Raw(fields.required::<Text>("arguments")?.0);
        Ok(Self(ScriptedCall {
            id: fields.required("id")?,
            name: fields.required("name")?,
            arguments,
        }))
    }
}

impl Read for Failure {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["status", "message", "code", "retry_after"])?;
        let status: u64 = fields.required("status")?;
        let retry_after: Option<f64> = fields.optional("retry_after")?;
        if retry_after.is_some_and(|seconds| seconds < 0.0) {
            return Err(fields.error("`retry_after` is a number of seconds, not negative"));
        }
        Ok(Self {
            status: u16::try_from(status).map_err(|_| fields.error(format!("{status} is no HTTP status")))?,
            message: fields.or_default("message")?,
            code: fields.optional("code")?,
            retry_after,
        })
    }
}

impl Read for Usage {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["input", "output"])?;
        Ok(Self {
            input: fields.required("input")?,
            output: fields.required("output")?,
        })
    }
}
