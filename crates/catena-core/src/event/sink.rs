//! From the run to whoever watches: one bounded queue, and the middlewares that observe.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::{EventKind, RunEvent};
use crate::context::RunContext;
use crate::id::{RunId, ThreadId};
use crate::middleware::Middleware;

/// Where a run puts its events.
pub(crate) struct EventSink {
    run: RunId,
    thread: ThreadId,
    path: Arc<[String]>,
    seq: AtomicU64,
    observers: Arc<[Arc<dyn Middleware>]>,
    queue: Option<Arc<Queue>>,
}

struct Queue {
    state: Mutex<State>,
    filled: Notify,
    drained: Notify,
}

#[derive(Default)]
struct State {
    events: VecDeque<RunEvent>,
    dropped: u64,
    ended: bool,
    /// The reader is gone; nothing needs to be kept.
    abandoned: bool,
}

impl Queue {
    /// Where the run waits for its reader: a second's worth of a fast model's deltas.
    const READY: usize = 256;
    /// Where events of tools and hooks, which cannot wait, are dropped.
    const FULL: usize = 4 * Self::READY;

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink {
    pub(crate) fn new(
        run: RunId,
        thread: ThreadId,
        path: Arc<[String]>,
        observers: Arc<[Arc<dyn Middleware>]>,
        watched: bool,
    ) -> (Self, Option<Events>) {
        let queue = watched.then(|| {
            Arc::new(Queue {
                state: Mutex::default(),
                filled: Notify::new(),
                drained: Notify::new(),
            })
        });
        let events = queue.clone().map(|queue| Events { queue });
        (
            Self {
                run,
                thread,
                path,
                seq: AtomicU64::new(0),
                observers,
                queue,
            },
            events,
        )
    }

    /// Whether anyone would see an event; if not, there is no need to make it.
    pub(crate) fn is_watched(&self) -> bool {
        self.queue.is_some() || !self.observers.is_empty()
    }

    pub(crate) fn emit(&self, context: &RunContext, kind: EventKind) {
        if !self.is_watched() {
            return;
        }
        let event = RunEvent {
            v: RunEvent::VERSION,
            seq: self.seq.fetch_add(1, Ordering::Relaxed),
            run: self.run.clone(),
            thread: self.thread.clone(),
            path: self.path.clone(),
            kind,
        };
        for observer in &*self.observers {
            let observed = catch_unwind(AssertUnwindSafe(|| observer.observe(context, &event)));
            if observed.is_err() {
                tracing::error!(middleware = observer.name(), "observe panicked");
            }
        }
        if let Some(queue) = &self.queue {
            queue.push(event);
        }
    }

    /// Waits until the reader has caught up. The loop does so between deltas and steps, so a slow reader slows its own run only.
    pub(crate) async fn ready(&self) {
        let Some(queue) = &self.queue else { return };
        loop {
            let drained = queue.drained.notified();
            {
                let state = queue.state();
                if state.abandoned || state.events.len() < Queue::READY {
                    return;
                }
            }
            drained.await;
        }
    }

    /// No more events will come.
    pub(crate) fn close(&self) {
        if let Some(queue) = &self.queue {
            queue.state().ended = true;
            queue.filled.notify_one();
        }
    }
}

impl Drop for EventSink {
    fn drop(&mut self) {
        self.close();
    }
}

impl Queue {
    fn push(&self, event: RunEvent) {
        let mut state = self.state();
        if state.abandoned {
            return;
        }
        // The end of a run is never dropped: a reader waits for it.
        if state.events.len() >= Self::FULL && !matches!(event.kind, EventKind::RunEnded { .. }) {
            state.dropped += 1;
            return;
        }
        let dropped = std::mem::take(&mut state.dropped);
        if dropped > 0 {
            let lagged = RunEvent {
                kind: EventKind::Lagged { dropped },
                ..event.clone()
            };
            state.events.push_back(lagged);
        }
        state.events.push_back(event);
        drop(state);
        self.filled.notify_one();
    }
}

/// The events of one run, in order.
///
/// A reader that falls behind slows the run down; one that is dropped does not.
pub struct Events {
    queue: Arc<Queue>,
}

impl Events {
    /// The next event; `None` after the last one.
    ///
    /// # Cancel safety
    /// A dropped call takes no event.
    pub async fn next(&mut self) -> Option<RunEvent> {
        loop {
            let filled = self.queue.filled.notified();
            {
                let mut state = self.queue.state();
                if let Some(event) = state.events.pop_front() {
                    drop(state);
                    self.queue.drained.notify_one();
                    return Some(event);
                }
                if state.ended {
                    return None;
                }
            }
            filled.await;
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.abandoned = true;
        state.events.clear();
        drop(state);
        self.queue.drained.notify_one();
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Events({} waiting)", self.queue.state().events.len())
    }
}
