//! What a call cost, and why it stopped.

use serde::{Deserialize, Serialize};

/// Tokens of one or more model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input: u64,
    /// Tokens written, reasoning included.
    pub output: u64,
    /// Of `input`: read from the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Of `input`: written to the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Of `output`: spent on reasoning.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// Cost in millionths of a US dollar, when a price is known.
    #[serde(skip_serializing_if = "is_zero")]
    pub micro_usd: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Input and output together.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// What is left when `part` is taken out; nothing goes below 0.
    #[must_use]
    pub fn without(self, part: Self) -> Self {
        Self {
            input: self.input.saturating_sub(part.input),
            output: self.output.saturating_sub(part.output),
            cached: self.cached.saturating_sub(part.cached),
            cache_write: self.cache_write.saturating_sub(part.cache_write),
            reasoning: self.reasoning.saturating_sub(part.reasoning),
            micro_usd: self.micro_usd.saturating_sub(part.micro_usd),
        }
    }

    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.micro_usd = self.micro_usd.saturating_add(other.micro_usd);
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It had said what it wanted to say.
    #[default]
    End,
    /// It wants tools called.
    ToolCalls,
    /// The output limit cut it off.
    Length,
    /// The provider's filter stopped it.
    ContentFilter,
    /// It refused.
    Refusal,
    /// The provider paused it within its own tools, and goes on when it gets the message back.
    Paused,
    /// The provider gave a reason that is none of these.
    Other,
}
