//! What a model can do.

use serde::{Deserialize, Serialize};

/// Facts about a model that the loop and middlewares decide by. Unknown is a value: nothing is guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelProfile {
    /// The provider, as in `provider:model`; decides which opaque blocks may be replayed to it.
    pub provider: String,
    /// Tokens that fit into one call, input and output together.
    pub context_window: Option<u64>,
    /// Tokens it writes at most.
    pub max_output: Option<u64>,
    /// How it is asked for one JSON object.
    pub structured_output: NativeOutput,
    /// Whether it reads images.
    pub images: bool,
    /// Whether it reads documents such as PDF.
    pub files: bool,
    /// Whether it calls tools.
    pub tools: bool,
    /// Types of native tool descriptors it understands, such as `bash_20250124`.
    pub native_tools: Vec<String>,
    /// Which reasoning it wants back.
    pub reasoning_replay: ReasoningReplay,
}

/// How a model is asked for one JSON object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeOutput {
    /// The provider takes a JSON Schema.
    Schema,
    /// It does not: the object is asked for as the input of a tool.
    #[default]
    Tool,
}

/// Which reasoning a provider wants back on the messages it wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningReplay {
    /// None.
    #[default]
    Never,
    /// The blocks it signed or encrypted, unchanged.
    Signed,
    /// The text, on messages with tool calls (DeepSeek's thinking mode).
    TextWithCalls,
}
