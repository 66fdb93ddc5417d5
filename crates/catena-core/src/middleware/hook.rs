//! The hooks by name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One of a middleware's hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hook {
    /// `tools`
    Tools,
    /// `before_agent`
    BeforeAgent,
    /// `before_model`
    BeforeModel,
    /// `wrap_model_call`
    WrapModelCall,
    /// `after_model`
    AfterModel,
    /// `before_tool_call`
    BeforeToolCall,
    /// `wrap_tool_call`
    WrapToolCall,
    /// `after_tool_call`
    AfterToolCall,
    /// `after_agent`
    AfterAgent,
    /// `observe`
    Observe,
}

impl Hook {
    /// All hooks, in the order of a run.
    pub const ALL: [Self; 10] = [
        Self::Tools,
        Self::BeforeAgent,
        Self::BeforeModel,
        Self::WrapModelCall,
        Self::AfterModel,
        Self::BeforeToolCall,
        Self::WrapToolCall,
        Self::AfterToolCall,
        Self::AfterAgent,
        Self::Observe,
    ];

    /// The method's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::BeforeAgent => "before_agent",
            Self::BeforeModel => "before_model",
            Self::WrapModelCall => "wrap_model_call",
            Self::AfterModel => "after_model",
            Self::BeforeToolCall => "before_tool_call",
            Self::WrapToolCall => "wrap_tool_call",
            Self::AfterToolCall => "after_tool_call",
            Self::AfterAgent => "after_agent",
            Self::Observe => "observe",
        }
    }

    /// The hook of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.as_str() == name)
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
