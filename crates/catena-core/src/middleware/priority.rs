//! Where a middleware stands in a chain.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number from 0 to 999; lower runs first. A chain is built only if every priority is in range.
///
/// Bands: 0–69 intake, 70–79 evolution, 80–99 routing, 100–199 context, 200–399 capability, 400–599 safety, 600–799 telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Priority(pub u16);

impl Priority {
    /// The middle of the safety band: after everything that prepares, before everything that measures.
    pub const DEFAULT: Self = Self(500);
    /// The last one.
    pub const MAX: Self = Self(999);

    /// The name of the band it falls into.
    pub fn band(self) -> &'static str {
        match self.0 {
            0..=69 => "intake",
            70..=79 => "evolution",
            80..=99 => "routing",
            100..=199 => "context",
            200..=399 => "capability",
            400..=599 => "safety",
            600..=799 => "telemetry",
            _ => "unassigned",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
