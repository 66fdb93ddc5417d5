//! `[store]`

use catena_store::{SqliteOptions, Synchronous};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where threads are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct StoreConfig {
    /// `sqlite://catena.db` (relative to this file), `sqlite:///var/lib/catena.db`, or `sqlite::memory:` for threads that end with the
    /// process. Default: `catena.db` in catena's data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What survives a loss of power. A process that dies loses nothing that was acknowledged in either mode.
    pub synchronous: Synchronous,
    /// Milliseconds to wait for another process that is writing. Default: 5,000.
    pub busy_timeout_ms: u32,
}

impl StoreConfig {
    /// The database in the data directory that is used when no url is given.
    pub const FILE: &'static str = "catena.db";

    /// The options of the database.
    pub fn options(&self) -> SqliteOptions {
        let mut options = SqliteOptions::default().synchronous(self.synchronous);
        options.busy_timeout_ms = self.busy_timeout_ms;
        options
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        let options = SqliteOptions::default();
        Self {
            url: None,
            synchronous: options.synchronous,
            busy_timeout_ms: options.busy_timeout_ms,
        }
    }
}
