//! What is known about a tool before it is called.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a tool is: its name, description and schema for the model, its marks for the loop and for guards.
///
/// ```
/// # use catena_core::tool::{ToolSpec, ToolClass};
/// # use serde_json::json;
/// let spec = ToolSpec::new("read_page", "Reads a web page.", json!({
///     "type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"],
/// })).class(ToolClass::Network).read_only().remote();
/// assert!(spec.validate(&json!({})).unwrap_err().contains("url"));
/// ```
pub struct ToolSpec {
    /// What the model calls it by; unique among the tools of a run.
    pub name: String,
    /// What it is for and when to use it, for the model.
    pub description: String,
    /// JSON Schema of the input, an object.
    pub input_schema: Value,
    /// What kind of thing it does; guards decide by this, not by names.
    pub class: ToolClass,
    /// Where its output comes from.
    pub trust: Trust,
    /// It changes nothing. Implies that it may be repeated.
    pub read_only: bool,
    /// Calling it twice with the same input does no harm; a call that a crash interrupted is made again.
    pub repeatable: bool,
    /// Its result ends the run, if every call of the message is of such a tool and none failed.
    pub ends_run: bool,
    /// Lane of all its calls; see [`Tool::lane`](super::Tool::lane).
    pub lane: Option<String>,
    /// How long a call may take. Default: [`ToolSpec::TIME_LIMIT`].
    pub time_limit: Duration,
    /// The provider's own descriptor, sent in place of the schema to providers that know its type.
    pub native: Option<Value>,
    validator: OnceLock<Result<jsonschema::Validator, String>>,
}

/// What kind of thing a tool does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolClass {
    /// Runs commands.
    Shell,
    /// Reads files.
    FileRead,
    /// Writes files.
    FileWrite,
    /// Reaches the network.
    Network,
    /// Starts other agents.
    Spawn,
    /// None of these.
    #[default]
    Other,
}

/// Where a tool's output comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// From this machine and its owner.
    #[default]
    Local,
    /// From outside: data that may try to give orders.
    Remote,
}

impl ToolSpec {
    /// Two minutes: longer than a slow web page, short enough that a person still waits.
    pub const TIME_LIMIT: Duration = Duration::from_secs(120);

    /// A tool that changes things, with the default limits.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema: with_object_type(input_schema),
            class: ToolClass::default(),
            trust: Trust::default(),
            read_only: false,
            repeatable: false,
            ends_run: false,
            lane: None,
            time_limit: Self::TIME_LIMIT,
            native: None,
            validator: OnceLock::new(),
        }
    }

    /// Says what kind of thing it does.
    #[must_use]
    pub fn class(mut self, class: ToolClass) -> Self {
        self.class = class;
        self
    }

    /// Its output comes from outside.
    #[must_use]
    pub fn remote(mut self) -> Self {
        self.trust = Trust::Remote;
        self
    }

    /// It changes nothing, so it may be repeated.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self.repeatable = true;
        self
    }

    /// Repeating a call does no harm.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Its result ends the run.
    #[must_use]
    pub fn ends_run(mut self) -> Self {
        self.ends_run = true;
        self
    }

    /// Its calls run one after another.
    #[must_use]
    pub fn lane(mut self, lane: impl Into<String>) -> Self {
        self.lane = Some(lane.into());
        self
    }

    /// How long a call may take.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// The provider's own descriptor.
    #[must_use]
    pub fn native(mut self, descriptor: Value) -> Self {
        self.native = Some(descriptor);
        self
    }

    /// Checks an input against the schema. The schema is compiled once.
    ///
    /// # Errors
    /// What does not fit, in words that the model can act on: at most [`Self::MAX_PROBLEMS`] problems with their places.
    pub fn validate(&self, input: &Value) -> Result<(), String> {
        let compiled = self
            .validator
            .get_or_init(|| jsonschema::validator_for(&self.input_schema).map_err(|e| e.to_string()));
        let validator = compiled
            .as_ref()
            .map_err(|e| format!("the schema of tool `{}` is not valid: {e}", self.name))?;
        if validator.is_valid(input) {
            return Ok(());
        }
        let problems: Vec<String> = validator
            .iter_errors(input)
            .take(Self::MAX_PROBLEMS)
            .map(|error| match error.instance_path().to_string() {
                path if path.is_empty() => shorten(&error.to_string()),
                path => format!("at {path}: {}", shorten(&error.to_string())),
            })
            .collect();
        Err(problems.join("; "))
    }

    /// Checks that the schema itself is a JSON Schema.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        if self.name.is_empty()
            || self.name.len() > 64
            || !self.name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        {
            return Err(format!(
                "tool name `{}` must be 1 to 64 letters, digits, `_` or `-`",
                self.name
            ));
        }
        match jsonschema::validator_for(&self.input_schema) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("the schema of tool `{}` is not valid: {error}", self.name)),
        }
    }

    /// Problems reported for one input; more would only fill the prompt.
    pub const MAX_PROBLEMS: usize = 5;
}

/// Providers require `type: object` even where JSON Schema does not.
fn with_object_type(schema: Value) -> Value {
    match schema {
        Value::Object(mut map) => {
            map.entry("type").or_insert_with(|| json!("object"));
            map.entry("properties").or_insert_with(|| json!({}));
            Value::Object(map)
        }
        Value::Null | Value::Bool(true) => json!({"type": "object", "properties": {}}),
        other => other,
    }
}

/// An error's text quotes the input, which may be huge.
fn shorten(text: &str) -> String {
    const LIMIT: usize = 200;
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl fmt::Debug for ToolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSpec")
            .field("name", &self.name)
            .field("class", &self.class)
            .field("trust", &self.trust)
            .field("read_only", &self.read_only)
            .field("repeatable", &self.repeatable)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_name_the_place_and_stay_short() {
        let spec = ToolSpec::new(
            "f",
            "",
            json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
        );
        let problem = spec.validate(&json!({"n": "x".repeat(5_000)})).unwrap_err();
        assert!(problem.starts_with("at /n: "), "{problem}");
        assert!(problem.len() < 300, "{}", problem.len());
    }

    #[test]
    fn a_missing_schema_is_an_empty_object() {
        let spec = ToolSpec::new("now", "", Value::Null);
        assert_eq!(spec.input_schema["type"], "object");
        assert!(spec.validate(&json!({})).is_ok());
    }

    #[test]
    fn a_schema_that_is_none_is_found_when_the_agent_is_built() {
        assert!(
            ToolSpec::new("f", "", json!({"type": "no such type"}))
                .check()
                .unwrap_err()
                .contains("`f`")
        );
        assert!(ToolSpec::new("no spaces please", "", Value::Null).check().is_err());
    }
}
