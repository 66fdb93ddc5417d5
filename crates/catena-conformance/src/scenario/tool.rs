//! Scripted tools: what they are called and what each execution yields.

use serde_json::{Value, json};

use crate::read::{Node, Read, ReadError};
use crate::text::Text;

/// A scripted tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// The JSON schema of its arguments. Default: any object.
    pub parameters: Option<Value>,
    behavior: Vec<Step>,
}

/// What one execution yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A result.
    Return(Text),
    /// A failure.
    Error {
        /// Its message.
        message: Text,
        /// A label that `tool_retry` can filter on.
        kind: Option<String>,
    },
}

impl ToolSpec {
    /// The schema of the arguments.
    pub fn schema(&self) -> Value {
        self.parameters.clone().unwrap_or_else(|| json!({"type": "object"}))
    }

    /// What the execution with this number (from 0) yields for these arguments: the step of that number, the last one if there are fewer,
    /// `ok` if there is none.
    pub fn step(&self, execution: usize, args: &Value) -> Step {
        match self.behavior.get(execution).or(self.behavior.last()) {
            None => Step::Return(Text("ok".to_owned())),
            Some(Step::Return(text)) => Step::Return(Text(text.fill(args))),
            Some(Step::Error { message, kind }) => Step::Error {
                message: Text(message.fill(args)),
                kind: kind.clone(),
            },
        }
    }
}

impl Read for ToolSpec {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["name", "description", "parameters", "behavior"])?;
        Ok(Self {
            name: fields.required("name")?,
            description: fields.or_default("description")?,
            parameters: fields.optional("parameters")?,
            behavior: fields.or_default("behavior")?,
        })
    }
}

impl Read for Step {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["return", "error", "kind"])?;
        match fields.exactly_one(&["return", "error"])? {
            "return" if fields.has("kind") => Err(fields.error("`kind` belongs to an `error`")),
            "return" => fields.required("return").map(Self::Return),
            _ => Ok(Self::Error {
                message: fields.required("error")?,
                kind: fields.optional("kind")?,
            }),
        }
    }
}
