//! A store in an SQLite database.
//!
//! Every operation is a single SQL statement, outside of any transaction that spans several. A statement is atomic by itself, and once it
//! is on its way to the connection it runs to its end even if the future that sent it is dropped: so an append has happened or has not, a
//! dropped future leaves no transaction open, and a statement that fails for want of space leaves the connection as it was. Where one
//! statement is not enough (taking over from a dead owner), each one checks again what the one before it saw.
//!
//! *Leases.* A lease is alive while it has an owner, its time is not over and its owner is not provably dead; then nobody else gets the
//! thread. Its holder may write until someone else has taken the thread: an expired lease that nobody wanted is as good as new, so a
//! machine that slept goes on where it was. Times are milliseconds of the wall clock of whichever process looks; a clock that jumps makes
//! a lease end early or late, and the fencing token keeps that harmless.

mod connections;
mod entries;
mod error;
mod held;
mod leases;
mod location;
mod options;
mod schema;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use catena_core::checkpoint::{Checkpointer, Lease, StoreError, ThreadInfo, Wish};
use catena_core::id::ThreadId;
use catena_core::record::Entry;

use crate::owner::Presence;
use connections::Connections;
use held::Held;
use location::Location;

pub use options::{SqliteOptions, Synchronous};

/// Keeps threads in an SQLite database; see the [crate](crate) for an example.
///
/// Several stores, in one process or in several of the same machine, may use one file. Network file systems cannot hold it: the
/// write-ahead log needs memory that all its users share.
///
/// A store that is dropped gives its leases up.
pub struct SqliteCheckpointer {
    location: Location,
    connections: Connections,
    presence: Presence,
    held: Held,
}

impl SqliteCheckpointer {
    /// Opens the database, and makes it if it does not exist, readable for its owner only.
    ///
    /// `location` is `sqlite://catena.db` (in the working directory), `sqlite:///var/lib/catena.db`, a plain path, or `sqlite::memory:` for
    /// a database that lives as long as the store.
    ///
    /// # Errors
    /// [`StoreError::Open`] says what is wrong with the file or its directory, [`StoreError::Newer`] that a newer version wrote it.
    pub async fn open(location: &str, options: SqliteOptions) -> Result<Self, StoreError> {
        let location = Location::parse(location)?;
        let presence = Presence::new().map_err(|error| StoreError::Other {
            context: "identifying this process",
            source: Box::new(error),
        })?;
        location.create()?;
        let connections = Connections::open(&location, &options).await?;
        tracing::debug!(%location, "store opened");
        Ok(Self {
            location,
            connections,
            presence,
            held: Held::default(),
        })
    }

    /// Closes the database and waits until its files are closed. Dropping the store does the same in the background.
    ///
    /// # Errors
    /// If a connection failed. Nothing that was acknowledged is lost.
    ///
    /// # Cancel safety
    /// The files are closed in the background then.
    pub async fn close(self) -> Result<(), StoreError> {
        let Self {
            location, connections, ..
        } = self;
        connections
            .close()
            .await
            .map_err(|error| error::explain(error, &location, "closing the database"))
    }

    /// What went wrong while doing `context`.
    fn explain(&self, context: &'static str) -> impl Fn(sqlx::Error) -> StoreError + '_ {
        move |error| error::explain(error, &self.location, context)
    }
}

#[async_trait]
impl Checkpointer for SqliteCheckpointer {
    async fn acquire(&self, thread: &ThreadId, ttl: Duration) -> Result<Lease, StoreError> {
        leases::acquire(self, thread, ttl).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Wish, StoreError> {
        leases::renew(self, lease, ttl).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        leases::release(self, lease).await
    }

    async fn request_cancel(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        leases::request_cancel(self, thread).await
    }

    async fn append(&self, lease: &Lease, entries: &[Arc<Entry>]) -> Result<u64, StoreError> {
        entries::append(self, lease, entries).await
    }

    async fn load(&self, thread: &ThreadId, from: u64) -> Result<Vec<Arc<Entry>>, StoreError> {
        entries::load(self, thread, from).await
    }

    async fn list(&self, limit: usize) -> Result<Vec<ThreadInfo>, StoreError> {
        entries::list(self, limit).await
    }

    async fn delete(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        leases::delete(self, thread).await
    }
}

impl fmt::Debug for SqliteCheckpointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteCheckpointer")
            .field("location", &self.location)
            .finish_non_exhaustive()
    }
}

/// A number of ours as SQLite's; none comes near the limit.
fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number of SQLite's as ours; the ones read with it are never negative.
fn from_sql(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
