//! From an invocation to a runner: who may run, what the thread holds, and what is left of an earlier run.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::machine::Step;
use super::runner::{Halt, Runner};
use crate::agent::{
    AgentShared, Invocation, Launch, OnBusy, OnInterrupt, Outcome, Place, Resume, RunOptions, RunResult, Standing,
};
use crate::chain::protect;
use crate::checkpoint::{Lease, StoreError, Wish};
use crate::context::{RunContext, RunShared};
use crate::error::{Error, ErrorReport, Result};
use crate::event::{EventKind, EventSink};
use crate::id::{RunId, ThreadId};
use crate::interrupt::Answer;
use crate::message::Message;
use crate::middleware::Ending;
use crate::record::{OutcomeRecord, RunKind, RunRecord, RunStart, Thread};
use crate::state::StateStore;

/// How often a thread that another process holds is asked for.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Runs an invocation to its end, and always ends its events.
pub(crate) async fn run(agent: Arc<AgentShared>, launch: Launch) -> Result<RunResult> {
    let cancel = launch.cancel.clone();
    let place = agent
        .desk
        .enter(&launch.thread, launch.options.on_busy, &cancel, agent.limits.queue_wait)
        .await;
    let place = match place {
        Ok(place) => place,
        Err(error) => return Err(reported(&agent, launch, error)),
    };
    let lease = match lease(&agent, &launch.thread, launch.options.on_busy, &cancel).await {
        Ok(lease) => lease,
        Err(error) => return Err(reported(&agent, launch, error)),
    };
    let result = guarded(held(&agent, launch, &lease, &place)).await;
    if let Err(error) = agent.store.release(&lease).await {
        // The lease runs out by itself.
        tracing::warn!(thread = %lease.thread, %error, "could not release the lease");
    }
    if result.is_err() {
        agent.forget_if_empty(&lease).await;
    }
    result
}

/// An invocation that could not begin still has an end that those who watch can see.
fn reported(agent: &Arc<AgentShared>, launch: Launch, error: Error) -> Error {
    let run = context(
        agent,
        &launch.options,
        launch.run,
        empty(&launch.thread),
        launch.events,
        launch.cancel,
    );
    run.emit_kind(EventKind::RunEnded {
        outcome: None,
        error: Some(ErrorReport::from(&error)),
    });
    error
}

pub(super) async fn lease(
    agent: &AgentShared,
    thread: &ThreadId,
    on_busy: OnBusy,
    cancel: &CancellationToken,
) -> Result<Lease> {
    let deadline = Instant::now() + agent.limits.queue_wait;
    loop {
        match agent.store.acquire(thread, agent.limits.lease).await {
            Ok(lease) => return Ok(lease),
            Err(StoreError::Busy(thread)) if on_busy == OnBusy::Reject || Instant::now() >= deadline => {
                return Err(Error::Busy(thread));
            }
            Err(StoreError::Busy(thread)) => {
                if on_busy == OnBusy::CancelFirst {
                    agent.store.request_cancel(&thread).await?;
                }
                tokio::select! {
                    () = cancel.cancelled() => return Err(Error::Cancelled),
                    () = tokio::time::sleep(ASK_AGAIN) => {}
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn held(agent: &Arc<AgentShared>, launch: Launch, lease: &Lease, place: &Place) -> Result<RunResult> {
    let Launch {
        invocation,
        options,
        run,
        thread,
        events,
        cancel,
    } = launch;
    let record = match guarded(load(agent, &thread, lease, place)).await {
        Ok(record) => record,
        Err(error) => {
            let launch = Launch {
                invocation,
                options,
                run,
                thread,
                events,
                cancel,
            };
            return Err(reported(agent, launch, error));
        }
    };
    let prepared = match invocation {
        Invocation::Input(input) => begin(agent, &options, lease, record, run, input.messages, events, &cancel).await,
        Invocation::Resume(resume) => resumed(agent, &options, lease, record, resume, events, &cancel),
    };
    let (mut runner, answers) = match prepared {
        Ok(prepared) => prepared,
        Err(refused) => {
            let (run, error) = *refused;
            run.emit_kind(EventKind::RunEnded {
                outcome: None,
                error: Some(ErrorReport::from(&error)),
            });
            return Err(error);
        }
    };
    let halted = supervise(agent, lease, &cancel, to_the_end(&mut runner, answers)).await;
    runner.run.shared.close();
    let result = concluded(&mut runner, halted);
    agent.live.rest(runner.run.thread_id());
    Standing::report(&options, &runner.run);
    place.keep(lease.token, runner.run.shared.thread.clone());
    result
}

/// Whatever panics in here, the lease is given back afterwards.
async fn guarded<T>(work: impl Future<Output = Result<T>> + Send) -> Result<T> {
    protect(|| "the run".to_owned(), None, Box::pin(work)).await
}

pub(super) async fn load(agent: &AgentShared, id: &ThreadId, lease: &Lease, place: &Place) -> Result<Record> {
    let record = place.kept(lease).unwrap_or_else(|| empty(id));
    let length = read(&record, Thread::length);
    if length < lease.length {
        let entries = agent.store.load(id, length).await?;
        let mut thread = record.write().unwrap_or_else(PoisonError::into_inner);
        entries.iter().for_each(|entry| thread.apply(entry));
    }
    Ok(record)
}

/// A thread, shared with the desk that keeps it for the next run.
pub(super) type Record = Arc<RwLock<Thread>>;

fn empty(id: &ThreadId) -> Record {
    Arc::new(RwLock::new(Thread::new(id.clone())))
}

pub(super) fn read<R>(record: &Record, read: impl FnOnce(&Thread) -> R) -> R {
    read(&record.read().unwrap_or_else(PoisonError::into_inner))
}

/// A run, and the answers that it goes on with.
type Prepared = std::result::Result<(Runner, Option<Vec<Answer>>), Box<(RunContext, Error)>>;

/// A new run. What is left of an earlier one is closed first, so that the thread is valid for every provider.
#[expect(
    clippy::too_many_arguments,
    reason = "everything a run is made of comes together here, once"
)]
async fn begin(
    agent: &Arc<AgentShared>,
    options: &RunOptions,
    lease: &Lease,
    record: Record,
    id: RunId,
    input: Vec<Message>,
    events: EventSink,
    cancel: &CancellationToken,
) -> Prepared {
    let left = read(&record, |thread| {
        let run = thread.run().filter(|run| run.outcome().is_none());
        run.map(|run| (run.id().clone(), run.pauses().count()))
    });
    let record = match left {
        Some((_, open)) if open > 0 && options.on_interrupt == OnInterrupt::Reject => {
            let run = context(agent, options, id, record, events, cancel.clone());
            let thread = lease.thread.clone();
            return Err(Box::new((run, Error::Interrupted { thread, open })));
        }
        Some((left, open)) => {
            let closing = close_left(agent, options, lease, record, left, open, cancel);
            match supervise(agent, lease, cancel, closing).await {
                Ok(record) => record,
                Err(error) => {
                    let run = context(agent, options, id, empty(&lease.thread), events, cancel.clone());
                    return Err(Box::new((run, error)));
                }
            }
        }
        None => record,
    };
    let start = RunStart {
        run: id.clone(),
        agent: agent.name.clone(),
        kind: if options.parent.is_some() {
            RunKind::Subagent
        } else {
            RunKind::Top
        },
        parent: options.parent.as_ref().map(|parent| parent.shared.id.clone()),
        path: options.path(),
        principal: Some((*options.principal()).clone()),
        at: jiff::Timestamp::now(),
    };
    let run = context(agent, options, id, record, events, cancel.clone());
    run.emit_kind(EventKind::RunStarted { resumed: false });
    let input = input.into_iter().map(Arc::new).collect();
    Ok((
        Runner::new(agent.clone(), run, lease.clone(), Some((start, input))),
        None,
    ))
}

/// Ends a run that was left paused or by a process that died: open calls are answered, `after_agent` runs. A run that had come to its end
/// but for the closing keeps that end.
async fn close_left(
    agent: &Arc<AgentShared>,
    options: &RunOptions,
    lease: &Lease,
    record: Record,
    left: RunId,
    open: usize,
    cancel: &CancellationToken,
) -> Result<Record> {
    // Nobody waits for its events, but middlewares that observe see how it ended.
    let (events, _) = EventSink::new(agent.chain.observers(), false, None);
    let run = context(agent, options, left, record, events, cancel.clone());
    let mut runner = Runner::new(agent.clone(), run, lease.clone(), None);
    match runner.without_last_word() {
        // No model is asked for the last word of a run that nobody listens to any more.
        Some(ending) if runner.wants_last_word() => runner.commit(vec![ending]).await?,
        Some(_) => {}
        None if matches!(runner.next(), Step::Finish(_)) => {}
        None => {
            let ending = match open {
                0 => Ending::failed("crashed", "the process was interrupted"),
                _ => Ending::stopped("superseded", "a new message came before the answer"),
            };
            runner.end("catena", ending, Vec::new()).await?;
        }
    }
    // What is left to do is to answer open calls.
    if let Halt::Over(outcome) = runner.drive().await? {
        runner.finish(&outcome).await?;
    }
    Standing::report(options, &runner.run);
    Ok(runner.run.shared.thread.clone())
}

fn resumed(
    agent: &Arc<AgentShared>,
    options: &RunOptions,
    lease: &Lease,
    record: Record,
    resume: Resume,
    events: EventSink,
    cancel: &CancellationToken,
) -> Prepared {
    let (left, answers) = read(&record, |thread| {
        let run = thread.run().filter(|run| run.outcome().is_none());
        let allowed = Standing::check(options, run.map(RunRecord::start), thread.id());
        (
            run.map(|run| run.id().clone()),
            run.map(|run| allowed.and_then(|()| resume.resolve(run.pauses().collect()))),
        )
    });
    let id = left.unwrap_or_else(RunId::fresh);
    let run = context(agent, options, id, record, events, cancel.clone());
    let answers: Vec<Answer> = match answers {
        None if lease.length == 0 => return Err(Box::new((run, Error::NoThread(lease.thread.clone())))),
        None => return Err(Box::new((run, Error::NotInterrupted(lease.thread.clone())))),
        Some(Err(error)) => return Err(Box::new((run, error))),
        Some(Ok(answers)) => answers,
    };
    let runner = Runner::new(agent.clone(), run, lease.clone(), None);
    Ok((runner, Some(answers)))
}

fn context(
    agent: &Arc<AgentShared>,
    options: &RunOptions,
    id: RunId,
    shared_thread: Record,
    events: EventSink,
    cancel: CancellationToken,
) -> RunContext {
    let thread_id = read(&shared_thread, |thread| thread.id().clone());
    let state = StateStore::load(read(&shared_thread, |thread| thread.slots_for(&id).collect::<Vec<_>>()).into_iter());
    let standing = read(&shared_thread, |thread| Standing::of(agent, options, &id, thread));
    let shared = RunShared {
        id,
        parent: standing.parent,
        path: standing.path,
        principal: standing.principal,
        resources: standing.resources,
        extensions: options.context(),
        live_run: Default::default(),
        live_thread: Default::default(),
        thread_id,
        state,
        events,
        cancel,
        tree: standing.tree,
        internal: Default::default(),
        thread: shared_thread,
        agent: agent.clone(),
    };
    RunContext::new(Arc::new(shared))
}

/// Does what runs code of users, while keeping the lease alive.
async fn supervise<T>(
    agent: &Arc<AgentShared>,
    lease: &Lease,
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T>> + Send,
) -> Result<T> {
    let beat = heartbeat(agent.clone(), lease.clone(), cancel.clone());
    let done = tokio::select! {
        biased;
        error = beat => Err(error),
        done = guarded(work) => done,
    };
    if let Err(error) = &done
        && Runner::lost_lease(error)
    {
        cancel.cancel();
    }
    done
}

/// Drives the run; closes it when it is cancelled.
async fn to_the_end(runner: &mut Runner, answers: Option<Vec<Answer>>) -> Result<Halt> {
    let cancel = runner.run.shared.cancel.clone();
    let driven = async {
        if let Some(answers) = answers {
            runner.answer_pauses(answers).await?;
        }
        runner.drive().await
    };
    let halted = tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        halted = Box::pin(driven) => Some(halted?),
    };
    match halted {
        None => runner.cancelled().await.map(Halt::Over),
        Some(halt) => {
            if let Halt::Over(outcome) = &halt {
                runner.finish(outcome).await?;
            }
            Ok(halt)
        }
    }
}

/// Renews the lease until it is lost, and passes on the wish to cancel.
async fn heartbeat(agent: Arc<AgentShared>, lease: Lease, cancel: CancellationToken) -> Error {
    let ttl = agent.limits.lease;
    let mut beat = tokio::time::interval_at(Instant::now() + ttl / 3, ttl / 3);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        match agent.store.renew(&lease, ttl).await {
            Ok(Wish::Continue) => {}
            Ok(Wish::Cancel) => cancel.cancel(),
            Err(error @ StoreError::LeaseLost(_)) => return error.into(),
            // One missed beat of three; the next append finds out.
            Err(error) => tracing::warn!(thread = %lease.thread, %error, "could not renew the lease"),
        }
    }
}

fn concluded(runner: &mut Runner, halted: Result<Halt>) -> Result<RunResult> {
    let outcome = match halted {
        Ok(Halt::Paused(pauses)) => {
            runner.run.emit_kind(EventKind::RunEnded {
                outcome: None,
                error: None,
            });
            Outcome::Interrupted(pauses)
        }
        Ok(Halt::Over(OutcomeRecord::Done { .. })) => Outcome::Done,
        Ok(Halt::Over(OutcomeRecord::Stopped { by, reason })) => Outcome::Stopped { by, reason },
        Ok(Halt::Over(OutcomeRecord::Cancelled)) => Outcome::Cancelled,
        Ok(Halt::Over(OutcomeRecord::Failed { error })) => {
            return Err(runner.failure.take().unwrap_or_else(|| error.into()));
        }
        Err(error) => {
            runner.run.emit_kind(EventKind::RunEnded {
                outcome: None,
                error: Some(ErrorReport::from(&error)),
            });
            return Err(error);
        }
    };
    Ok(RunResult::new(&runner.run, outcome))
}
