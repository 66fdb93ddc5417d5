//! How a SQLite store is opened.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteSynchronous;

/// What a person may choose about a SQLite store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// What survives a loss of power. Default: `full`.
    pub synchronous: Synchronous,
    /// Milliseconds to wait for another process that is writing. Default: 5,000.
    pub busy_timeout_ms: u32,
    #[serde(skip)]
    pub(crate) pragmas: Vec<(&'static str, String)>,
}

/// What survives a loss of power. A process that dies loses nothing that was acknowledged in either mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Synchronous {
    /// Everything that was acknowledged: each append waits for the disk.
    #[default]
    Full,
    /// All but the last moments before the loss. The database stays whole, and appends do not wait for the disk.
    Normal,
}

impl SqliteOptions {
    /// A step is a few kilobytes, so a writer that is not stuck is done in milliseconds; a checkpoint of a large log on a slow disk may
    /// take a second or two.
    pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

    /// Chooses what survives a loss of power.
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Chooses how long to wait for another process that is writing; at most 49 days.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        self
    }

    /// Sets a pragma on the connection that writes. Neither part may come from outside.
    #[doc(hidden)]
    #[must_use]
    pub fn pragma(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.pragmas.push((name, value.into()));
        self
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::default(),
            busy_timeout_ms: 0,
            pragmas: Vec::new(),
        }
        .busy_timeout(Self::BUSY_TIMEOUT)
    }
}

impl From<Synchronous> for SqliteSynchronous {
    fn from(synchronous: Synchronous) -> Self {
        match synchronous {
            Synchronous::Full => Self::Full,
            Synchronous::Normal => Self::Normal,
        }
    }
}
