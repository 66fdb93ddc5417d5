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
    /// What a watcher of this run reads.
    own: Option<Arc<Queue>>,
    /// What watchers of the runs above read: the events of children go there too, for a parent speaks through its children.
    above: Vec<Arc<Queue>>,
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
    /// [`EventKind::Lagged`] for events that the reader will be told about instead of reading them: one for each run.
    dropped: Vec<RunEvent>,
    ended: bool,
    /// The reader is gone; nothing needs to be kept.
    abandoned: bool,
    /// The reader has not read for so long that it is not waited for until it reads again.
    stalled: bool,
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
    /// `parent` is the run that started this one. Its observers are of its own chain and do not see this run; those who watch it do.
    pub(crate) fn new(
        observers: Arc<[Observer]>,
        watched: bool,
        parent: Option<&RunContext>,
    ) -> (Self, Option<Events>) {
        let above = parent.map(|parent| parent.shared.events.queues().cloned().collect());
        let queue = watched.then(|| {
            Arc::new(Queue {
                state: Mutex::default(),
                filled: Notify::new(),
                drained: Notify::new(),
            })
        });
        let events = queue.clone().map(|queue| Events { queue });
        let next = Mutex::new(0);
        let sink = Self {
            next,
            observers,
            own: queue,
            above: above.unwrap_or_default(),
        };
        (sink, events)
    }

    fn queues(&self) -> impl Iterator<Item = &Arc<Queue>> {
        self.own.iter().chain(&self.above)
    }

    /// Whether anyone would see an event; if not, there is no need to make it.
    pub(crate) fn is_watched(&self) -> bool {
        self.queues().next().is_some() || !self.observers.is_empty()
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
        self.above.iter().for_each(|queue| queue.push(event.clone()));
        if let Some(queue) = &self.own {
            let last = matches!(event.kind, EventKind::RunEnded { .. });
            queue.push(event);
            if last {
                queue.end();
            }
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

    /// Waits until the readers have caught up. The loop does so between deltas and steps, so a slow reader slows its own run and the runs
    /// below it only. One that reads nothing for ten minutes is treated as gone: the run goes on, and should it come back, it is told how
    /// many events it missed.
    pub(crate) async fn ready(&self) {
        for queue in self.queues() {
            queue.ready().await;
        }
    }

    /// No more events will come.
    pub(crate) fn close(&self) {
        if let Some(queue) = &self.own {
            queue.end();
        }
    }
}

impl Drop for EventSink {
    fn drop(&mut self) {
        self.close();
    }
}

impl State {
    fn drop_one(&mut self, event: RunEvent) {
        let lagged = self.dropped.iter_mut().find(|lagged| lagged.run == event.run);
        match lagged.map(|lagged| &mut lagged.kind) {
            Some(EventKind::Lagged { dropped }) => *dropped += 1,
            _ => self.dropped.push(RunEvent {
                kind: EventKind::Lagged { dropped: 1 },
                ..event
            }),
        }
    }
}

impl Queue {
    async fn ready(&self) {
        loop {
            let drained = self.drained.notified();
            {
                let state = self.state();
                if state.abandoned || state.stalled || state.ended || state.events.len() < Self::READY {
                    return;
                }
            }
            if tokio::time::timeout(Self::PATIENCE, drained).await.is_err() {
                tracing::warn!("nobody reads the events of this run; it goes on without waiting");
                self.state().stalled = true;
            }
        }
    }

    /// The run that it belongs to is over. Work that outlives the run does not keep the reader, and the reader does not keep such work.
    fn end(&self) {
        self.state().ended = true;
        self.filled.notify_one();
        self.drained.notify_waiters();
    }

    fn push(&self, event: RunEvent) {
        let mut state = self.state();
        if state.abandoned || state.ended {
            return;
        }
        // The end of a run is never dropped: a reader waits for it.
        let last = matches!(event.kind, EventKind::RunEnded { .. });
        if state.events.len() >= Self::FULL && !last {
            state.drop_one(event);
            return;
        }
        let lagged = std::mem::take(&mut state.dropped);
        state.events.extend(lagged);
        state.events.push_back(event);
        drop(state);
        self.filled.notify_one();
    }
}

/// The events of one run and of the runs below it: each run's in order, told apart by [`RunEvent::run`].
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
                    self.queue.drained.notify_waiters();
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
        self.queue.drained.notify_waiters();
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Events({} waiting)", self.queue.state().events.len())
    }
}
