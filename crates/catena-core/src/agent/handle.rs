//! A run that is going on.

use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::invocation::{Invocation, Launch};
use super::{Agent, RunResult};
use crate::error::{Error, Result};
use crate::event::{EventSink, Events, RunEvent};
use crate::id::{RunId, ThreadId};
use crate::run_loop;

/// A run that is going on: its events, its outcome, and the way to cancel it. Dropping it cancels the run.
#[must_use = "dropping the handle cancels the run"]
pub struct RunHandle {
    thread: ThreadId,
    events: Option<Events>,
    task: JoinHandle<Result<RunResult>>,
    cancel: CancellationToken,
    guard: DropGuard,
}

impl RunHandle {
    pub(super) fn launch(agent: &Agent, invocation: Invocation, watched: bool) -> Self {
        let options = invocation.options().clone();
        let thread = invocation.thread();
        let cancel = options.cancel();
        let (sink, events) = EventSink::new(agent.shared.chain.observers(), watched, options.parent.as_ref());
        let launch = Launch {
            invocation,
            options,
            run: RunId::fresh(),
            thread: thread.clone(),
            events: sink,
            cancel: cancel.clone(),
        };
        let work = run_loop::run(agent.shared.clone(), launch);
        let task = agent.shared.background.spawn_run(work);
        Self {
            thread,
            events,
            task,
            guard: cancel.clone().drop_guard(),
            cancel,
        }
    }

    /// The run's thread. Which run it is, its events and its result tell: a resumed one keeps the id it had.
    pub fn thread_id(&self) -> &ThreadId {
        &self.thread
    }

    /// The next event; `None` after the last one.
    ///
    /// # Cancel safety
    /// A dropped call takes no event.
    pub async fn next(&mut self) -> Option<RunEvent> {
        self.events.as_mut()?.next().await
    }

    /// Cancels the run. It still journals its end: wait for [`outcome`](Self::outcome).
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// A token that cancels the run, for a signal handler.
    pub fn cancellation(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Waits for the outcome. Events that were not read are dropped.
    ///
    /// # Errors
    /// See [`Agent::run`].
    ///
    /// # Cancel safety
    /// Dropping the future cancels the run.
    pub async fn outcome(mut self) -> Result<RunResult> {
        self.events = None;
        let ended = (&mut self.task).await;
        // There is nothing left to cancel: work that the run started in the background goes on.
        self.guard.disarm();
        match ended {
            Ok(result) => result,
            Err(error) if error.is_cancelled() => Err(Error::Cancelled),
            Err(_) => Err(Error::Panic("the run".into())),
        }
    }

    /// Lets the run go on by itself.
    pub fn detach(self) {
        self.guard.disarm();
    }
}

impl std::fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunHandle")
            .field("thread", &self.thread)
            .finish_non_exhaustive()
    }
}
