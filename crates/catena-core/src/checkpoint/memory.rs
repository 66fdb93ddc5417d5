//! A store that lives as long as the process. The default of an agent that is given none, and of most tests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{Checkpointer, Lease, StoreError, ThreadInfo, Wish};
use crate::id::ThreadId;
use crate::record::Entry;

/// Keeps threads in memory.
///
/// A lease lasts until it is released: its holder cannot die without the store.
#[derive(Debug, Default)]
pub struct MemoryCheckpointer {
    threads: Mutex<Threads>,
}

#[derive(Debug, Default)]
struct Threads {
    by_id: HashMap<ThreadId, Stored>,
    /// The highest token of a thread that was deleted: one that is made again goes on from there, so that an old lease stays lost.
    fence: u64,
}

#[derive(Debug)]
struct Stored {
    entries: Vec<Arc<Entry>>,
    created: Timestamp,
    updated: Timestamp,
    token: u64,
    held: bool,
    cancel: bool,
}

impl MemoryCheckpointer {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    // A panic while the lock is held cannot leave a half-written thread: every change is one push or one assignment.
    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held<T>(&self, lease: &Lease, use_it: impl FnOnce(&mut Stored) -> T) -> Result<T, StoreError> {
        match self.threads().by_id.get_mut(&lease.thread) {
            Some(stored) if stored.held && stored.token == lease.token => Ok(use_it(stored)),
            _ => Err(StoreError::LeaseLost(lease.thread.clone())),
        }
    }
}

#[async_trait]
impl Checkpointer for MemoryCheckpointer {
    async fn acquire(&self, thread: &ThreadId, _ttl: Duration) -> Result<Lease, StoreError> {
        let mut threads = self.threads();
        let fence = threads.fence;
        let stored = threads.by_id.entry(thread.clone()).or_insert_with(|| {
            let now = Timestamp::now();
            Stored {
                entries: Vec::new(),
                created: now,
                updated: now,
                token: fence,
                held: false,
                cancel: false,
            }
        });
        if stored.held {
            return Err(StoreError::Busy(thread.clone()));
        }
        stored.held = true;
        stored.cancel = false;
        stored.token += 1;
        Ok(Lease {
            thread: thread.clone(),
            token: stored.token,
            length: stored.entries.len() as u64,
        })
    }

    async fn renew(&self, lease: &Lease, _ttl: Duration) -> Result<Wish, StoreError> {
        self.held(
            lease,
            |stored| if stored.cancel { Wish::Cancel } else { Wish::Continue },
        )
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        // Losing a lease and giving it back come to the same.
        self.held(lease, |stored| stored.held = false).or(Ok(()))
    }

    async fn request_cancel(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        let mut threads = self.threads();
        let held = threads.by_id.get_mut(thread).filter(|stored| stored.held);
        Ok(held.map(|stored| stored.cancel = true).is_some())
    }

    async fn append(&self, lease: &Lease, entries: &[Arc<Entry>]) -> Result<u64, StoreError> {
        self.held(lease, |stored| {
            stored.entries.extend_from_slice(entries);
            stored.updated = Timestamp::now();
            stored.entries.len() as u64
        })
    }

    async fn load(&self, thread: &ThreadId, from: u64) -> Result<Vec<Arc<Entry>>, StoreError> {
        let threads = self.threads();
        let entries = threads.by_id.get(thread).map_or(&[][..], |stored| &stored.entries);
        Ok(entries
            .iter()
            .skip(usize::try_from(from).unwrap_or(usize::MAX))
            .cloned()
            .collect())
    }

    async fn list(&self, limit: usize) -> Result<Vec<ThreadInfo>, StoreError> {
        let mut infos: Vec<_> = self
            .threads()
            .by_id
            .iter()
            .map(|(thread, stored)| ThreadInfo {
                thread: thread.clone(),
                entries: stored.entries.len() as u64,
                created: stored.created,
                updated: stored.updated,
                active: stored.held,
            })
            .collect();
        infos.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.thread.cmp(&b.thread)));
        infos.truncate(limit);
        Ok(infos)
    }

    async fn delete(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        let mut threads = self.threads();
        if threads.by_id.get(thread).is_some_and(|stored| stored.held) {
            return Err(StoreError::Busy(thread.clone()));
        }
        let removed = threads.by_id.remove(thread);
        threads.fence = threads.fence.max(removed.as_ref().map_or(0, |stored| stored.token));
        Ok(removed.is_some())
    }
}
