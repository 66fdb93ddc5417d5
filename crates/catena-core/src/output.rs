//! Structured output: one JSON object in place of an answer in words.
//!
//! The object is asked for in the provider's own way where the model has one, and as the input of a tool otherwise. What does not fit the
//! schema is sent back with the problems, a bounded number of times, inside the same model step.

use std::sync::Arc;

use serde_json::Value;

use crate::tool::ToolSpec;

/// What the object must look like.
#[derive(Clone, Debug)]
pub struct OutputFormat {
    spec: Arc<ToolSpec>,
    /// How it is asked for.
    pub strategy: OutputStrategy,
    /// How often a misfit is sent back. Default: [`OutputFormat::CORRECTIONS`].
    pub corrections: u32,
}

/// How an object is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputStrategy {
    /// The provider's own way if the model's profile names one, else a tool.
    #[default]
    Auto,
    /// The provider's own way.
    Native,
    /// As the input of a tool.
    Tool,
}

impl OutputFormat {
    /// Models that miss a schema twice rarely find it the third time.
    pub const CORRECTIONS: u32 = 2;

    /// An object that fits `schema`. `name` is what the model knows it by.
    pub fn new(name: impl Into<String>, schema: Value) -> Self {
        let spec = ToolSpec::new(name, "Give the final answer in this form.", schema)
            .ends_run()
            .read_only();
        Self {
            spec: Arc::new(spec),
            strategy: OutputStrategy::Auto,
            corrections: Self::CORRECTIONS,
        }
    }

    /// An object of a Rust type.
    pub fn of<T: schemars::JsonSchema>() -> Self {
        Self::new(T::schema_name(), schemars::schema_for!(T).to_value())
    }

    /// With another way of asking.
    #[must_use]
    pub fn strategy(mut self, strategy: OutputStrategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The name, and the schema.
    pub fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    /// Reads an object from the text of an answer; a fence around it is allowed.
    ///
    /// # Errors
    /// What does not fit, in words for the model.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let inner = text
            .strip_prefix("```")
            .and_then(|t| t.strip_suffix("```"))
            .map_or(text, |t| t.strip_prefix("json").unwrap_or(t));
        let value: Value =
            serde_json::from_str(inner.trim()).map_err(|e| format!("the answer is not valid JSON: {e}"))?;
        self.check(&value)?;
        Ok(value)
    }

    /// Checks an object.
    ///
    /// # Errors
    /// What does not fit, in words for the model.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.spec.validate(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_an_object_with_and_without_a_fence() {
        let format = OutputFormat::new(
            "n",
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
        );
        assert_eq!(format.parse("{\"n\": 1}").unwrap(), json!({"n": 1}));
        assert_eq!(format.parse("```json\n{\"n\": 1}\n```").unwrap(), json!({"n": 1}));
        assert!(format.parse("{\"n\": \"one\"}").unwrap_err().contains("/n"));
        assert!(format.parse("one").unwrap_err().contains("not valid JSON"));
    }
}
