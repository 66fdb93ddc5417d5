//! What a scenario expects. Keys that are absent are not judged.

use crate::compare::{CallsOrder, ExecutionsOrder, ResultsOrder};
use crate::observed::Outcome;
use crate::pattern::{ErrorPattern, FilesPattern, InterruptPattern, MessagePattern, ModelCallPattern, ValuePattern};
use crate::read::{Node, Read, ReadError};

/// The key `expect` of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// How the last turn ends.
    pub last: EndingPattern,
    /// One entry a turn.
    pub turns: Option<Vec<TurnPattern>>,
    /// All requests to models, none missing, none extra.
    pub model_calls: Option<Vec<ModelCallPattern>>,
    /// What the order of `model_calls` means.
    pub model_calls_order: CallsOrder,
    /// All executions of scripted tools.
    pub tool_executions: Option<Vec<ExecutionPattern>>,
    /// What the order of `tool_executions` means.
    pub tool_executions_order: ExecutionsOrder,
    /// What the order of adjacent tool messages means, in requests and in the thread.
    pub tool_results_order: ResultsOrder,
    /// The visits noted by `probe` middlewares, exactly.
    pub hooks: Option<Vec<String>>,
    /// The thread after the last turn, complete and in order.
    pub final_messages: Option<Vec<MessagePattern>>,
    /// The to-do list.
    pub todos: Option<Vec<ValuePattern>>,
    /// The virtual files.
    pub files: Option<FilesPattern>,
}

/// How a turn ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndingPattern {
    /// Its outcome.
    pub outcome: Option<Outcome>,
    /// Its error.
    pub error: Option<ErrorPattern>,
    /// The value it pauses with.
    pub interrupt: Option<InterruptPattern>,
}

/// What one turn must look like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnPattern {
    /// How it ends.
    pub ending: EndingPattern,
    /// How many requests to models it makes.
    pub model_calls: Option<u64>,
    /// How long it takes at least, in milliseconds.
    pub min_elapsed_ms: Option<u64>,
}

/// One execution of a scripted tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionPattern {
    /// The tool's name.
    pub name: String,
    /// The arguments it gets.
    pub args: ValuePattern,
}

struct State {
    todos: Option<Vec<ValuePattern>>,
    files: Option<FilesPattern>,
}

impl Read for Expect {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&[
            "outcome",
            "error",
            "interrupt",
            "turns",
            "model_calls",
            "model_calls_order",
            "tool_executions",
            "tool_executions_order",
            "tool_results_order",
            "hooks",
            "final_messages",
            "state",
        ])?;
        let state: Option<State> = fields.optional("state")?;
        let (todos, files) = state.map_or((None, None), |state| (state.todos, state.files));
        Ok(Self {
            last: EndingPattern {
                outcome: fields.optional("outcome")?,
                error: fields.optional("error")?,
                interrupt: fields.optional("interrupt")?,
            },
            turns: fields.optional("turns")?,
            model_calls: fields.optional("model_calls")?,
            model_calls_order: fields.or_default("model_calls_order")?,
            tool_executions: fields.optional("tool_executions")?,
            tool_executions_order: fields.or_default("tool_executions_order")?,
            tool_results_order: fields.or_default("tool_results_order")?,
            hooks: fields.optional("hooks")?,
            final_messages: fields.optional("final_messages")?,
            todos,
            files,
        })
    }
}

impl Read for TurnPattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["outcome", "error", "interrupt", "model_calls", "min_elapsed_ms"])?;
        Ok(Self {
            ending: EndingPattern {
                outcome: fields.optional("outcome")?,
                error: fields.optional("error")?,
                interrupt: fields.optional("interrupt")?,
            },
            model_calls: fields.optional("model_calls")?,
            min_elapsed_ms: fields.optional("min_elapsed_ms")?,
        })
    }
}

impl Read for ExecutionPattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["name", "args"])?;
        Ok(Self {
            name: fields.required("name")?,
            args: fields.required("args")?,
        })
    }
}

impl Read for State {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["todos", "files"])?;
        Ok(Self {
            todos: fields.optional("todos")?,
            files: fields.optional("files")?,
        })
    }
}

impl Read for Outcome {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let name: String = node.read()?;
        Self::from_name(&name).ok_or_else(|| node.error("expected done, interrupted or error"))
    }
}

impl Read for CallsOrder {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        word(node, "per_model").map(|()| Self::PerModel)
    }
}

impl Read for ExecutionsOrder {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        word(node, "any").map(|()| Self::Any)
    }
}

impl Read for ResultsOrder {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        word(node, "any").map(|()| Self::Any)
    }
}

fn word(node: &Node<'_>, only: &str) -> Result<(), ReadError> {
    if node.value().as_str() == Some(only) {
        Ok(())
    } else {
        Err(node.error(format!(
            "the only value is {only}; leave the key out for the listed order"
        )))
    }
}
