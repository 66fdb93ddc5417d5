//! Threads kept in memory, so that the next run on one need not read it again.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use crate::checkpoint::Lease;
use crate::id::ThreadId;
use crate::record::Thread;

/// How many: a busy process's active threads, not its whole history.
const KEPT: usize = 64;

/// The threads that were used last.
#[derive(Default)]
pub(super) struct KeptThreads {
    threads: VecDeque<Kept>,
}

struct Kept {
    id: ThreadId,
    token: u64,
    thread: Arc<RwLock<Thread>>,
}

impl KeptThreads {
    /// The thread, if the lease is the next one after the one it was kept under: anyone who held it in between may have deleted it and
    /// made another of the same name, which would be longer just the same.
    pub(super) fn take(&mut self, lease: &Lease) -> Option<Arc<RwLock<Thread>>> {
        let position = self.threads.iter().position(|kept| kept.id == lease.thread)?;
        let kept = self.threads.remove(position)?;
        let length = kept.thread.read().unwrap_or_else(PoisonError::into_inner).length();
        // Deleting takes no lease, but what was deleted is shorter after it.
        (kept.token + 1 == lease.token && length <= lease.length).then_some(kept.thread)
    }

    pub(super) fn put(&mut self, id: ThreadId, token: u64, thread: Arc<RwLock<Thread>>) {
        self.forget(&id);
        if self.threads.len() >= KEPT {
            self.threads.pop_front();
        }
        self.threads.push_back(Kept { id, token, thread });
    }

    pub(super) fn forget(&mut self, id: &ThreadId) {
        self.threads.retain(|kept| kept.id != *id);
    }
}
