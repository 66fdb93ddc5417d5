//! From the run to whoever watches: one bounded queue, and the middlewares that observe.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::{EventKind, RunEvent};
use crate::context::RunContext;
use crate::middleware::Middleware;

/// Where a run puts its events.
pub(crate) struct EventSink {
    /// The number of the next event.
    next: Mutex<u64>,
    observers: Arc<[Observer]>,
    queue: Option<Arc<Queue>>,
}

/// A middleware that observes.
pub(crate) struct Observer {
    pub(crate) name: Arc<str>,
    pub(crate) middleware: Arc<dyn Middleware>,
}

struct Queue {
    state: Mutex<State>,
    filled: Notify,
    drained: Notify,
}

#[derive(Default)]
struct State {
    events: VecDeque<RunEvent>,
    dropped: Option<Dropped>,
    ended: bool,
    /// The reader is gone; nothing needs to be kept.
    abandoned: bool,
    /// The reader has not read for so long that it is not waited for until it reads again.
    stalled: bool,
}

/// Events that the reader will be told about instead of reading them.
#[derive(Clone, Copy)]
struct Dropped {
    first: u64,
    count: u64,
}

impl Queue {
    /// Where the run waits for its reader: a second's worth of a fast model's deltas.
    const READY: usize = 256;
    /// Where events of tools and hooks, which cannot wait, are dropped.
    const FULL: usize = 4 * Self::READY;
    /// How long the run waits for a reader that reads nothing: long enough for a person at a debugger, not for one who has forgotten it.
    const PATIENCE: Duration = Duration::from_secs(600);

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    /// Whether this thread is inside an observer.
    static OBSERVING: Cell<bool> = const { Cell::new(false) };
}

impl EventSink {
    pub(crate) fn new(observers: Arc<[Observer]>, watched: bool) -> (Self, Option<Events>) {
        let queue = watched.then(|| {
            Arc::new(Queue {
                state: Mutex::default(),
                filled: Notify::new(),
                drained: Notify::new(),
            })
        });
        let events = queue.clone().map(|queue| Events { queue });
        let next = Mutex::new(0);
        (Self { next, observers, queue }, events)
    }

    /// Whether anyone would see an event; if not, there is no need to make it.
    pub(crate) fn is_watched(&self) -> bool {
        self.queue.is_some() || !self.observers.is_empty()
    }

    pub(crate) fn emit(&self, context: &RunContext, kind: EventKind) {
        if !self.is_watched() {
            return;
        }
        if let Some(event) = self.enqueue(context, kind) {
            self.observe(context, &event);
        }
    }

    /// Numbers the event and queues it under one lock, so that what tools emit side by side is read in the order of its numbers. Yields
    /// the event if there are observers.
    fn enqueue(&self, context: &RunContext, kind: EventKind) -> Option<RunEvent> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let event = RunEvent {
            v: RunEvent::VERSION,
            seq: *next,
            run: context.run_id().clone(),
            thread: context.thread_id().clone(),
            path: context.shared.path.clone(),
            kind,
        };
        *next += 1;
        let observed = (!self.observers.is_empty()).then(|| event.clone());
        if let Some(queue) = &self.queue {
            queue.push(event);
        }
        observed
    }

    /// An event that an observer emits is not observed: that would never end.
    fn observe(&self, context: &RunContext, event: &RunEvent) {
        if OBSERVING.replace(true) {
            return;
        }
        for observer in &*self.observers {
            let run = context.observed_by(&observer.name);
            let observed = catch_unwind(AssertUnwindSafe(|| observer.middleware.observe(&run, event)));
            if observed.is_err() {
                tracing::error!(middleware = &*observer.name, "observe panicked");
            }
        }
        OBSERVING.set(false);
    }

    /// Waits until the reader has caught up. The loop does so between deltas and steps, so a slow reader slows its own run only. One that
    /// reads nothing for ten minutes is treated as gone: the run goes on, and should it come back, it is told how many events it missed.
    pub(crate) async fn ready(&self) {
        let Some(queue) = &self.queue else { return };
        loop {
            let drained = queue.drained.notified();
            {
                let state = queue.state();
                if state.abandoned || state.stalled || state.events.len() < Queue::READY {
                    return;
                }
            }
            if tokio::time::timeout(Queue::PATIENCE, drained).await.is_err() {
                tracing::warn!("nobody reads the events of this run; it goes on without waiting");
                queue.state().stalled = true;
            }
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
        if state.abandoned || state.ended {
            return;
        }
        // The end of a run is never dropped: a reader waits for it. Work that outlives the run does not keep the reader.
        state.ended = matches!(event.kind, EventKind::RunEnded { .. });
        if state.events.len() >= Self::FULL && !state.ended {
            let dropped = state.dropped.get_or_insert(Dropped {
                first: event.seq,
                count: 0,
            });
            dropped.count += 1;
            return;
        }
        if let Some(Dropped { first, count }) = state.dropped.take() {
            let lagged = RunEvent {
                seq: first,
                kind: EventKind::Lagged { dropped: count },
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
/// A reader that falls behind slows the run down; one that is dropped, or reads nothing for ten minutes, does not.
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
                    state.stalled = false;
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
