//! A scenario: one agent run with everything the model says scripted in advance.
//!
//! Reading is strict. Whatever the format does not know is an error with the path of the key, because a scenario that is only half
//! understood would be judged by half of what it says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::expect::Expect;
use crate::read::{Node, Read, ReadError};
use crate::text::Text;

mod reply;
mod tool;
mod turn;

pub use reply::{Answer, Arguments, Failure, Reply, ScriptedCall, Usage};
pub use tool::{Step, ToolSpec};
pub(crate) use turn::Status;
pub use turn::{InputMessage, MAIN_THREAD, Turn, TurnInput};

/// One scenario file.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// `directory/short_name`, unique.
    pub name: String,
    /// The behaviour under test in one sentence.
    pub about: String,
    /// The configured system prompt of the agent, if any.
    pub system_prompt: Option<String>,
    /// Scripted tools, in the order the agent gets them.
    pub tools: Vec<ToolSpec>,
    /// Names out of `tools` that only subagents that list them get.
    pub private_tools: BTreeSet<String>,
    /// Virtual files that every new thread starts with: path to text.
    pub files: BTreeMap<String, Text>,
    /// Model name to its queue of replies; the agent's own model is `main`.
    pub models: BTreeMap<String, Vec<Reply>>,
    /// Model name to what is known about it.
    pub model_profiles: BTreeMap<String, Profile>,
    /// The middlewares, in list order.
    pub middleware: Vec<MiddlewareUse>,
    /// What happens, in order.
    pub turns: Vec<Turn>,
    /// What must be observed.
    pub expect: Expect,
    /// Where the expected values come from.
    pub source: String,
    /// What the peer does and why that is wrong, if the right value differs from the peer's.
    pub deviation: Option<String>,
}

impl Scenario {
    /// Reads a scenario from the text of its file.
    ///
    /// # Errors
    /// [`ReadError`] if the text is not JSON or not a scenario.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        let value: Value = serde_json::from_str(text).map_err(|error| ReadError {
            path: ".".to_owned(),
            problem: format!("not JSON: {error}"),
        })?;
        Node::root(&value).read()
    }

    /// The tools that the agent itself gets, in order.
    pub fn agent_tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools
            .iter()
            .filter(|tool| !self.private_tools.contains(&tool.name))
    }
}

impl Read for Scenario {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&[
            "name",
            "about",
            "system_prompt",
            "tools",
            "private_tools",
            "files",
            "models",
            "model_profiles",
            "middleware",
            "turns",
            "expect",
            "source",
            "deviation",
        ])?;
        let scenario = Self {
            name: fields.required("name")?,
            about: fields.or_default("about")?,
            system_prompt: fields.optional("system_prompt")?,
            tools: fields.or_default("tools")?,
            private_tools: fields.or_default::<Vec<String>>("private_tools")?.into_iter().collect(),
            files: fields.or_default("files")?,
            models: fields.required("models")?,
            model_profiles: fields.or_default("model_profiles")?,
            middleware: fields.or_default("middleware")?,
            turns: fields.required("turns")?,
            expect: fields.required("expect")?,
            source: fields.or_default("source")?,
            deviation: fields.optional("deviation")?,
        };
        scenario.check().map_err(|(path, problem)| ReadError {
            path: path.to_owned(),
            problem,
        })?;
        Ok(scenario)
    }
}

impl Scenario {
    /// What no single key can say about itself.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.turns.is_empty() {
            return Err(("turns", "at least one turn is needed".to_owned()));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = self.tools.iter().find(|tool| !names.insert(&tool.name)) {
            return Err(("tools", format!("two tools have the name `{}`", twice.name)));
        }
        if let Some(unknown) = self.private_tools.iter().find(|name| !names.contains(name)) {
            return Err(("private_tools", format!("`{unknown}` is not among the tools")));
        }
        match &self.expect.turns {
            Some(turns) if turns.len() != self.turns.len() => Err((
                "expect.turns",
                format!(
                    "one entry a turn is needed: {} turns, {} entries",
                    self.turns.len(),
                    turns.len()
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// What is known about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The model's input size in tokens, the basis of `fraction` sizes.
    pub max_input_tokens: u64,
}

impl Read for Profile {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        Ok(Self {
            max_input_tokens: node.fields(&["max_input_tokens"])?.required("max_input_tokens")?,
        })
    }
}

/// One entry of the middleware list.
#[derive(Clone, Debug, PartialEq)]
pub struct MiddlewareUse {
    /// The middleware's name in the format, such as `pii`.
    pub name: String,
    /// Its options, to be checked by whoever builds it. Default: none.
    pub options: Map<String, Value>,
}

impl Read for MiddlewareUse {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["use", "options"])?;
        Ok(Self {
            name: fields.required("use")?,
            options: fields.or_default("options")?,
        })
    }
}

#[cfg(test)]
mod tests;
