//! Live values: what a run or a thread holds and no journal can: a shell, a connection, a permit.
//!
//! A value is dropped when its run ends; that of a thread when the thread has been idle for [`LiveStore::IDLE`] and some run of the agent
//! asks for a thread's values then, or when the agent is dropped.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::id::ThreadId;

type Values = HashMap<(TypeId, String), Arc<dyn Any + Send + Sync>>;

/// Values of one run or one thread, by type and key.
#[derive(Clone, Default)]
pub struct Live {
    values: Arc<Mutex<Values>>,
}

impl Live {
    /// The value under `key`, made by `make` if there is none. `make` must be quick: it runs under a lock.
    pub fn get_or_insert_with<T: Send + Sync + 'static>(&self, key: &str, make: impl FnOnce() -> T) -> Arc<T> {
        let mut values = self.values();
        let entry = (TypeId::of::<T>(), key.to_owned());
        if let Some(Ok(value)) = values.get(&entry).cloned().map(Arc::downcast::<T>) {
            return value;
        }
        let value = Arc::new(make());
        values.insert(entry, value.clone());
        value
    }

    /// The value under `key`.
    pub fn get<T: Send + Sync + 'static>(&self, key: &str) -> Option<Arc<T>> {
        self.values()
            .get(&(TypeId::of::<T>(), key.to_owned()))
            .cloned()?
            .downcast()
            .ok()
    }

    /// Takes the value under `key` out.
    pub fn remove<T: Send + Sync + 'static>(&self, key: &str) -> Option<Arc<T>> {
        self.values()
            .remove(&(TypeId::of::<T>(), key.to_owned()))?
            .downcast()
            .ok()
    }

    /// Drops them all.
    pub(crate) fn clear(&self) {
        // Outside the lock: what is dropped may look here.
        drop(std::mem::take(&mut *self.values()));
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Live({} values)", self.values().len())
    }
}

/// The live values of an agent's threads.
#[derive(Debug, Default)]
pub(crate) struct LiveStore {
    threads: Mutex<HashMap<ThreadId, (Live, Instant)>>,
}

impl LiveStore {
    /// A person who comes back within ten minutes finds the shell as it was.
    pub(crate) const IDLE: Duration = Duration::from_secs(600);

    /// The thread's values; drops those of threads that have been idle for too long.
    pub(crate) fn thread(&self, thread: &ThreadId) -> Live {
        let now = Instant::now();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        // Values held by a run besides the store are in use.
        threads.retain(|_, (live, used)| {
            let held = Arc::strong_count(&live.values) > 1;
            held || (now.duration_since(*used) < Self::IDLE && !live.values().is_empty())
        });
        let (live, used) = threads.entry(thread.clone()).or_insert_with(|| (Live::default(), now));
        *used = now;
        live.clone()
    }

    /// Drops the values of a thread that was deleted: another one of its name must not find them.
    pub(crate) fn forget(&self, thread: &ThreadId) {
        self.threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(thread);
    }

    /// A run on the thread is over: from now on it is idle, however long the run took.
    pub(crate) fn rest(&self, thread: &ThreadId) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, used)) = threads.get_mut(thread) {
            *used = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_idle_threads_values_are_dropped() {
        let store = LiveStore::default();
        let value = store.thread(&"a".into()).get_or_insert_with("k", || 7);
        tokio::time::advance(LiveStore::IDLE / 2).await;
        assert_eq!(store.thread(&"a".into()).get::<i32>("k"), Some(value));
        tokio::time::advance(LiveStore::IDLE).await;
        store.thread(&"b".into());
        assert_eq!(store.thread(&"a".into()).get::<i32>("k"), None);
    }
}
