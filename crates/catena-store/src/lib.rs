//! Where catena keeps threads: SQLite.
//!
//! [`SqliteCheckpointer`] is a [`Checkpointer`](catena_core::checkpoint::Checkpointer) over one database file. It needs no service beside
//! it, several processes may share the file, and a process that dies leaves nothing half-written:
//!
//! ```
//! use std::time::Duration;
//! use catena_core::checkpoint::Checkpointer;
//! use catena_store::{SqliteCheckpointer, SqliteOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), catena_core::checkpoint::StoreError> {
//! let store = SqliteCheckpointer::open("sqlite::memory:", SqliteOptions::default()).await?;
//! let lease = store.acquire(&"greetings".into(), Duration::from_secs(30)).await?;
//! assert_eq!(store.append(&lease, &[]).await?, 0);
//! store.release(&lease).await?;
//! # Ok(()) }
//! ```

mod codec;
mod owner;
mod sqlite;

pub use sqlite::{SqliteCheckpointer, SqliteOptions, Synchronous};
