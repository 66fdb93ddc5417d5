//! Stores of threads: what the loop needs from one, and one that lives in memory.
//!
//! A [`Checkpointer`] keeps, for each thread, the list of its [entries](crate::record::Entry) and at most one [`Lease`]. Entries are
//! appended in one transaction per step and never rewritten, so a step costs the same however long its thread is. Each append carries the
//! lease's fencing token: a process that lost its lease cannot write, however late its write arrives.

mod memory;

pub use memory::MemoryCheckpointer;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::id::ThreadId;
use crate::record::Entry;

/// Keeps threads.
#[async_trait]
pub trait Checkpointer: Send + Sync + 'static {
    /// Takes the thread for writing, creating it if it does not exist. A lease of a holder that is known to be dead is taken over.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if another holder's lease is alive.
    async fn acquire(&self, thread: &ThreadId, ttl: Duration) -> Result<Lease, StoreError>;

    /// Keeps the lease for another `ttl`, and tells whether someone asked the holder to stop.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if it is not the holder any more.
    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Wish, StoreError>;

    /// Gives the thread back. Releasing a lease that is lost does nothing.
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Asks the holder of the thread's lease, in whichever process, to cancel its run. Returns whether there is a holder.
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn request_cancel(&self, thread: &ThreadId) -> Result<bool, StoreError>;

    /// Appends entries, all or none, durably. Returns the thread's new length in entries.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] if the lease is not the holder's any more; nothing is written then.
    ///
    /// # Cancel safety
    /// A dropped append happens or not; the thread is never left with a part of it. It may still be on its way when it is dropped, but not
    /// after the next append on the lease has returned, even if that one has no entries.
    async fn append(&self, lease: &Lease, entries: &[Arc<Entry>]) -> Result<u64, StoreError>;

    /// The thread's entries from position `from` on; empty if there is no such thread.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Newer`] if an entry cannot be understood.
    async fn load(&self, thread: &ThreadId, from: u64) -> Result<Vec<Arc<Entry>>, StoreError>;

    /// Threads, the one used last first.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn list(&self, limit: usize) -> Result<Vec<ThreadInfo>, StoreError>;

    /// Deletes a thread and everything in it. Returns whether it existed.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if a lease on it is alive.
    async fn delete(&self, thread: &ThreadId) -> Result<bool, StoreError>;
}

/// A shared store is a store.
#[async_trait]
impl<C: Checkpointer + ?Sized> Checkpointer for Arc<C> {
    async fn acquire(&self, thread: &ThreadId, ttl: Duration) -> Result<Lease, StoreError> {
        (**self).acquire(thread, ttl).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Wish, StoreError> {
        (**self).renew(lease, ttl).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        (**self).release(lease).await
    }

    async fn request_cancel(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        (**self).request_cancel(thread).await
    }

    async fn append(&self, lease: &Lease, entries: &[Arc<Entry>]) -> Result<u64, StoreError> {
        (**self).append(lease, entries).await
    }

    async fn load(&self, thread: &ThreadId, from: u64) -> Result<Vec<Arc<Entry>>, StoreError> {
        (**self).load(thread, from).await
    }

    async fn list(&self, limit: usize) -> Result<Vec<ThreadInfo>, StoreError> {
        (**self).list(limit).await
    }

    async fn delete(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        (**self).delete(thread).await
    }
}

/// The right to write to a thread, until it is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The thread.
    pub thread: ThreadId,
    /// Greater than that of every earlier lease on the thread.
    pub token: u64,
    /// How many entries the thread had when the lease was taken.
    pub length: u64,
}

/// What the holder of a lease is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    Continue,
    /// Cancel the run.
    Cancel,
}

/// A thread in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadInfo {
    /// The thread.
    pub thread: ThreadId,
    /// How many entries it has.
    pub entries: u64,
    /// When it was made.
    pub created: jiff::Timestamp,
    /// When it was last written to.
    pub updated: jiff::Timestamp,
    /// Whether a run holds it now.
    pub active: bool,
}

/// A store that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another run holds the thread.
    #[error("thread `{0}` is in use by another run")]
    Busy(ThreadId),
    /// The lease was taken over; nothing was written.
    #[error("the lease on thread `{0}` was taken over by another process")]
    LeaseLost(ThreadId),
    /// What is stored cannot be read.
    #[error("thread `{thread}` cannot be read at entry {position}: {reason}")]
    Corrupt {
        /// The thread.
        thread: ThreadId,
        /// The entry's position.
        position: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// What is stored was written by a newer version.
    #[error("{what} was written by a newer version of catena; update catena to read it")]
    Newer {
        /// The database or the thread.
        what: String,
    },
    /// There is no room left.
    #[error("the disk is full; free some space and resume the thread, nothing that was acknowledged is lost")]
    DiskFull(#[source] Option<Box<dyn std::error::Error + Send + Sync>>),
    /// The store cannot be opened.
    #[error("cannot open the store `{path}`: {reason}")]
    Open {
        /// Where it is.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// Anything else.
    #[error("the store failed: {context}")]
    Other {
        /// What was being done.
        context: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
