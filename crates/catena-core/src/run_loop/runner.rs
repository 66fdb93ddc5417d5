//! Does what [`machine`](super::machine) decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::machine::{Step, next_step};
use crate::agent::AgentShared;
use crate::chain::protect;
use crate::checkpoint::{Lease, StoreError};
use crate::context::{RunContext, Turn};
use crate::error::{Error, Result};
use crate::event::EventKind;
use crate::interrupt::{Answer, Pause};
use crate::message::Message;
use crate::middleware::{Ending, Say};
use crate::record::{CallStatus, Entry, OutcomeRecord, RunStart};

/// One run under way. It holds the thread's lease.
pub(super) struct Runner {
    pub(super) agent: Arc<AgentShared>,
    pub(super) run: RunContext,
    pub(super) lease: Lease,
    /// What begins the run; a resumed run has begun.
    pub(super) input: Option<(RunStart, Vec<Arc<Message>>)>,
    /// The turn of the last model call; a resumed run has none until it needs one.
    pub(super) turn: Option<Turn>,
    /// The error that ended the run, with its type; the record only has its words.
    pub(super) failure: Option<Error>,
    /// The thread's own store failed, so nothing can be recorded any more. An error of another store is like any other.
    store_failed: AtomicBool,
}

/// Where a run stopped.
pub(super) enum Halt {
    Paused(Vec<Pause>),
    /// Nothing is left to do but [`Runner::finish`], which is not to be dropped: `after_agent` runs once.
    Over(OutcomeRecord),
}

impl Runner {
    pub(super) fn new(
        agent: Arc<AgentShared>,
        run: RunContext,
        lease: Lease,
        input: Option<(RunStart, Vec<Arc<Message>>)>,
    ) -> Self {
        Self {
            agent,
            run,
            lease,
            input,
            turn: None,
            failure: None,
            store_failed: AtomicBool::new(false),
        }
    }

    /// What comes next.
    pub(super) fn next(&self) -> Step {
        let thread = self.run.shared.thread();
        match thread.run().filter(|run| run.id() == self.run.run_id()) {
            Some(run) => next_step(run, &self.agent.limits, self.agent.output.is_some()),
            None => Step::Admit,
        }
    }

    /// Whether the run's ending asks for a last word of the model that has not come.
    pub(super) fn wants_last_word(&self) -> bool {
        self.run.record(|thread| {
            let run = thread.run().filter(|run| run.id() == self.run.run_id() && !run.spoke);
            let ending = run.and_then(|run| run.ending.as_ref());
            ending.is_some_and(|(_, ending)| ending.say == Say::Model)
        })
    }

    /// Records the answers that the run goes on with, unless one of them cannot be used: then everything stays as it was.
    pub(super) async fn answer_pauses(&mut self, answers: Vec<Answer>) -> Result<()> {
        self.check_edits(&answers).await?;
        self.run.emit_kind(EventKind::RunStarted { resumed: true });
        let entries = answers.into_iter().map(|answer| Entry::Answered { answer }).collect();
        self.commit(entries).await
    }

    /// Runs until the run is over or waits for an answer.
    ///
    /// Dropping the future leaves the record complete up to the last commit; [`resync`](Self::resync) reads what was in flight.
    pub(super) async fn drive(&mut self) -> Result<Halt> {
        loop {
            self.run.shared.events.ready().await;
            let step = self.next();
            tracing::trace!(run = %self.run.run_id(), ?step);
            match step {
                Step::Wait => return Ok(Halt::Paused(self.pauses())),
                Step::Finish(outcome) => return Ok(Halt::Over(outcome)),
                // Code of users runs in places that nobody would expect, such as a tool's `spec`. A panic there fails the run, as an error does.
                step => {
                    let done = protect(|| "a step of the run".to_owned(), None, Box::pin(self.perform(step))).await;
                    if let Err(error) = done {
                        self.fail(error).await?;
                    }
                }
            }
        }
    }

    async fn perform(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Admit => self.admit().await,
            Step::Ask(question) => self.ask(question).await,
            Step::Calls => self.calls().await,
            Step::Recover => self.recover().await,
            Step::End(ending) => self.end("catena", ending, Vec::new()).await,
            Step::CloseCalls => self.close_calls().await,
            // These two stop the loop, which does not perform them.
            Step::Wait | Step::Finish(_) => Ok(()),
        }
    }

    /// Appends to the record what happened, together with what middlewares did meanwhile; only then acts on it and tells those who watch.
    pub(super) async fn commit(&self, entries: Vec<Entry>) -> Result<()> {
        self.commit_worked(entries, None).await
    }

    /// As [`commit`](Self::commit), with how long the tool worked whose result is among the entries.
    pub(super) async fn commit_worked(&self, mut entries: Vec<Entry>, worked: Option<Duration>) -> Result<()> {
        let shared = &self.run.shared;
        // They stay until they are recorded: a dropped append must not lose tokens.
        let internal = shared.internal();
        let calls = internal.len();
        entries.extend(internal);
        let (state, versions) = shared.state.pending();
        // Before the messages of the step, so that a fork at one of them has the step's state; but a run's slots are its own.
        let first = entries.iter().position(|entry| matches!(entry, Entry::RunStarted(_)));
        let first = first.map_or(0, |start| start + 1);
        entries.splice(first..first, state);
        if entries.is_empty() {
            return Ok(());
        }
        let entries: Vec<Arc<Entry>> = entries.into_iter().map(Arc::new).collect();
        self.own(self.agent.store.append(&self.lease, &entries).await)?;
        shared.internal_recorded(calls);
        shared.state.journalled(&versions);
        self.apply(&entries);
        self.announce(&entries, worked);
        Ok(())
    }

    /// Reads what a dropped step may have appended. The empty append waits for one that is still on its way.
    async fn resync(&self) -> Result<()> {
        let stored = self.own(self.agent.store.append(&self.lease, &[]).await)?;
        let length = self.run.shared.thread().length();
        if length == stored {
            return Ok(());
        }
        let entries = self.own(self.agent.store.load(self.run.thread_id(), length).await)?;
        let calls = entries
            .iter()
            .filter(|entry| matches!(***entry, Entry::InternalCall { .. }));
        self.run.shared.internal_recorded(calls.count());
        self.apply(&entries);
        self.announce(&entries, None);
        Ok(())
    }

    /// Takes note when the thread's store fails.
    fn own<T>(&self, stored: std::result::Result<T, StoreError>) -> Result<T> {
        if stored.is_err() {
            self.store_failed.store(true, Ordering::Relaxed);
        }
        Ok(stored?)
    }

    /// Counts and record follow from the entries.
    fn apply(&self, entries: &[Arc<Entry>]) {
        self.run.shared.tree.apply(entries);
        let mut thread = self.run.shared.thread_mut();
        entries.iter().for_each(|entry| thread.apply(entry));
    }

    /// Ends the run for an error. An error of the thread's store cannot be journalled: it is the caller's, and the thread is recovered later.
    pub(super) async fn fail(&mut self, error: Error) -> Result<()> {
        if self.store_failed.load(Ordering::Relaxed) {
            return Err(error);
        }
        if let Some(ending) = self.without_last_word() {
            // The last word failed: the run ends as it was going to, without it.
            self.run
                .warn(format!("the last answer failed: {}", crate::error::chain_text(&error)));
            return self.commit(vec![ending]).await;
        }
        let by = match &error {
            Error::Middleware { middleware, .. } | Error::NotParallelSafe { middleware, .. } => middleware.clone(),
            _ => "catena".to_owned(),
        };
        let ending = Ending::of_error(&error);
        self.failure = Some(error);
        self.end(&by, ending, Vec::new()).await
    }

    /// The run's ending again, but quiet; none if nothing has ended the run yet.
    pub(super) fn without_last_word(&self) -> Option<Entry> {
        let (by, ending) = self.run.record(|thread| {
            let run = thread.run().filter(|run| run.id() == self.run.run_id());
            run?.ending.clone()
        })?;
        let say = Say::Nothing;
        Some(Entry::Ending {
            by,
            ending: Ending { say, ..ending },
        })
    }

    /// Journals the decision to end the run, after `entries` and the answers to all open calls.
    pub(super) async fn end(&mut self, by: &str, ending: Ending, mut entries: Vec<Entry>) -> Result<()> {
        entries.extend(self.not_begun(&entries));
        let mut closed = self.closing(&entries, &ending.reason.message);
        entries.append(&mut closed);
        let say = match &ending.say {
            Say::Text(text) => Some(self.own_message(text)),
            _ => None,
        };
        entries.push(Entry::Ending {
            by: by.to_owned(),
            ending,
        });
        entries.extend(say.map(|message| Entry::Message { message }));
        self.commit(entries).await
    }

    /// The start of a run that ends before its input was admitted.
    fn not_begun(&self, entries: &[Entry]) -> Option<Entry> {
        let recorded = self
            .run
            .record(|thread| thread.run().is_some_and(|run| run.id() == self.run.run_id()));
        let begun = recorded || entries.iter().any(|entry| matches!(entry, Entry::RunStarted(_)));
        let (start, _) = self.input.as_ref().filter(|_| !begun)?;
        Some(Entry::RunStarted(start.clone()))
    }

    /// Runs `after_agent` and closes the run.
    pub(super) async fn finish(&self, outcome: &OutcomeRecord) -> Result<()> {
        self.agent.chain.after_agent(&self.run, outcome).await;
        // What comes later would not be journalled.
        self.run.shared.close();
        let ended = Entry::RunEnded {
            run: self.run.run_id().clone(),
            outcome: outcome.clone(),
        };
        self.commit(vec![ended]).await?;
        self.run.emit_kind(EventKind::RunEnded {
            outcome: Some(outcome.clone()),
            error: None,
        });
        Ok(())
    }

    /// Closes a run that was cancelled: whatever step was under way has been dropped.
    pub(super) async fn cancelled(&mut self) -> Result<OutcomeRecord> {
        self.resync().await?;
        // In one commit: a process that dies before the run is closed must not let it go on.
        self.end("catena", Ending::cancelled(), Vec::new()).await?;
        let outcome = OutcomeRecord::Cancelled;
        self.finish(&outcome).await?;
        Ok(outcome)
    }

    async fn close_calls(&mut self) -> Result<()> {
        let reason = self.run.record(|thread| {
            let ending = thread.run().and_then(|run| run.ending.as_ref());
            ending
                .map(|(_, ending)| ending.reason.message.clone())
                .unwrap_or_default()
        });
        let entries = self.closing(&[], &reason);
        self.commit(entries).await
    }

    /// Calls that had started when the process died: repeated if that does no harm, otherwise answered as unknown.
    async fn recover(&mut self) -> Result<()> {
        let turn = self.take_turn().await?;
        let started = self.run.record(|thread| {
            let open = thread.run().map(|run| run.open.clone()).unwrap_or_default();
            open.into_iter()
                .filter(|open| open.state == crate::record::CallState::Started)
                .collect::<Vec<_>>()
        });
        let repeatable = |name: &str| turn.request.tool(name).is_some_and(|tool| tool.spec().repeatable);
        let (again, lost): (Vec<_>, Vec<_>) = started.into_iter().partition(|open| repeatable(&open.call.name));
        let entries: Vec<Entry> = lost
            .iter()
            .map(|open| {
                let text = "the process was interrupted while this call ran; whether it took effect is not known";
                super::results::ended_without_tool(
                    &open.call,
                    crate::tool::ToolOutput::error(text),
                    CallStatus::Unknown,
                    "catena",
                )
            })
            .collect();
        self.run_tools(turn, again.into_iter().map(|open| open.call).collect(), entries)
            .await
    }

    fn pauses(&self) -> Vec<Pause> {
        let pauses: Vec<Pause> = self.run.record(|thread| {
            thread
                .run()
                .map(|run| run.pauses().cloned().collect())
                .unwrap_or_default()
        });
        self.run.emit_kind(EventKind::Interrupted { pauses: pauses.clone() });
        pauses
    }

    /// Whether the store says that another process holds the thread now.
    pub(super) fn lost_lease(error: &Error) -> bool {
        matches!(error, Error::Store(StoreError::LeaseLost(_)))
    }
}
