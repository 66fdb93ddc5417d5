//! The leases that this store has handed out.
//!
//! The database says who owns a lease, but not whether it ever arrived: the future that asked for it may have been dropped after the
//! statement was on its way. Such a lease names this store as its owner and is not in this list, so nobody has it and the next to ask may
//! take it over.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use catena_core::id::ThreadId;

#[derive(Default)]
pub(crate) struct Held {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Threads someone is asking for at this moment.
    asking: HashSet<ThreadId>,
    /// The token of each lease that arrived and was not given back.
    given: HashMap<ThreadId, u64>,
}

/// The turn of one task to ask for a thread; over when dropped.
pub(crate) struct Asking<'a> {
    held: &'a Held,
    thread: &'a ThreadId,
}

impl Held {
    /// Takes the turn to ask for a thread; `None` if another task has it.
    pub(crate) fn ask<'a>(&'a self, thread: &'a ThreadId) -> Option<Asking<'a>> {
        let free = self.state().asking.insert(thread.clone());
        // Not `then_some`: a turn that is made and dropped ends the turn of the task that has it.
        free.then(|| Asking { held: self, thread })
    }

    /// Whether the lease is in someone's hands.
    pub(crate) fn has(&self, thread: &ThreadId, token: u64) -> bool {
        self.state().given.get(thread) == Some(&token)
    }

    /// Whether the lease is in someone's hands or may be on its way there.
    pub(crate) fn may_have(&self, thread: &ThreadId, token: u64) -> bool {
        let state = self.state();
        state.asking.contains(thread) || state.given.get(thread) == Some(&token)
    }

    /// The lease is given back.
    pub(crate) fn drop_lease(&self, thread: &ThreadId, token: u64) {
        let mut state = self.state();
        if state.given.get(thread) == Some(&token) {
            state.given.remove(thread);
        }
    }

    // Every change is one insertion or removal: a panic in between leaves nothing half-done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asking<'_> {
    /// The lease has arrived.
    pub(crate) fn given(self, token: u64) {
        self.held.state().given.insert(self.thread.clone(), token);
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.held.state().asking.remove(self.thread);
    }
}
