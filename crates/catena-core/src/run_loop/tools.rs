//! Tools at work: side by side within bounds, one after another in a lane, each result recorded as it is ready.

use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::task::JoinSet;

use super::gates::pause;
use super::results::{ended_without_tool, result_message};
use super::runner::Runner;
use super::tool_call::{ToolWork, Worked};
use crate::context::Turn;
use crate::error::{Error, Result, chain_text};
use crate::event::EventKind;
use crate::id::CallId;
use crate::interrupt::{Asker, Decision};
use crate::message::{ToolCall, ToolStatus};
use crate::record::{CallStatus, Entry, OpenCall};
use crate::tool::{ToolOutcome, ToolOutput};

impl Runner {
    /// Runs these calls; `entries` are what was decided about the others, journalled with the first starts.
    pub(super) async fn run_tools(&mut self, mut turn: Turn, calls: Vec<ToolCall>, entries: Vec<Entry>) -> Result<()> {
        let mut pending = entries;
        let mut queue = Queue::new(self.answers(), self.agent.limits.parallel_tools);
        for call in calls {
            match lane(&turn, &call) {
                Ok(lane) => queue.waiting.push_back((call, lane)),
                // Without its lane it might meet a call that it must not meet.
                Err(output) => pending.push(ended_without_tool(&call, output, CallStatus::NotRun, "catena")),
            }
        }
        let mut at_work = JoinSet::new();
        let mut fatal = None;
        loop {
            // A run that is to fail starts nothing more; what is at work may finish.
            let ready = match fatal {
                None => queue.take_ready(at_work.len()),
                Some(_) => Vec::new(),
            };
            pending.extend(ready.iter().map(|call| Entry::CallStarted { call: call.id.clone() }));
            if !pending.is_empty() {
                self.commit(std::mem::take(&mut pending)).await?;
            }
            for call in ready {
                self.start(&mut at_work, &turn, call, &mut queue);
            }
            let Some(joined) = at_work.join_next().await else { break };
            // Panics are caught inside; what is left is a runtime that shuts down.
            let worked = joined.map_err(|_| Error::Cancelled)?;
            queue.done(&worked.call.id);
            self.ended(&mut turn, worked, &mut fatal).await?;
        }
        self.turn = Some(turn);
        fatal.map_or(Ok(()), Err)
    }

    /// What persons answered to questions of tools.
    fn answers(&self) -> HashMap<CallId, Decision> {
        self.run.record(|thread| {
            let open = thread.run().map(|run| run.open.as_slice()).unwrap_or_default();
            let answered = |open: &OpenCall| Some((open.call.id.clone(), open.answer.clone()?));
            open.iter().filter_map(answered).collect()
        })
    }

    fn start(&self, at_work: &mut JoinSet<Worked>, turn: &Turn, call: ToolCall, queue: &mut Queue) {
        let Some(tool) = turn.request.tool(&call.name).cloned() else {
            return;
        };
        if self.run.shared.events.is_watched() {
            let (id, tool, input) = (call.id.clone(), call.name.clone(), call.input.clone());
            self.run.emit_kind(EventKind::ToolStarted { call: id, tool, input });
        }
        let answer = queue.answers.remove(&call.id);
        let work = ToolWork {
            chain: self.agent.chain.clone(),
            run: self.run.clone(),
            tool,
            call,
            answer,
        };
        at_work.spawn(work.run());
    }

    async fn ended(&self, turn: &mut Turn, worked: Worked, fatal: &mut Option<Error>) -> Result<()> {
        let Worked {
            call,
            outcome,
            digest,
            duration,
        } = worked;
        let mut output = match outcome {
            Ok(ToolOutcome::Interrupt(request)) if request.check().is_ok() => {
                // At once: its siblings may work for minutes, and a crash meanwhile must not turn the question into an unknown outcome.
                let pauses = vec![pause(call, Asker::Tool, request)];
                return self.commit(vec![Entry::Paused { pauses }]).await;
            }
            Ok(ToolOutcome::Interrupt(request)) => {
                let problem = request.check().err().unwrap_or_default();
                ToolOutput::error(format!("error: `{}` could not ask: {problem}", call.name))
            }
            Ok(ToolOutcome::Output(output)) => output,
            Err(error) => {
                let output = failed(&error);
                // A wrap that ends the run says so by this type; every other failure is the model's to handle.
                if matches!(error, Error::Ended { .. }) && fatal.is_none() {
                    *fatal = Some(error);
                }
                output
            }
        };
        self.agent.chain.after_tool_call(turn, &call, &mut output).await;
        let status = if output.status == ToolStatus::Error {
            CallStatus::Error
        } else {
            CallStatus::Ok
        };
        let ends_run =
            status == CallStatus::Ok && turn.request.tool(&call.name).is_some_and(|tool| tool.spec().ends_run);
        let message = result_message(&call, output);
        let ended = Entry::CallEnded {
            message,
            status,
            digest,
            by: None,
            ends_run,
        };
        let entries = [ended].into_iter().chain(std::mem::take(&mut turn.staged)).collect();
        self.commit_worked(entries, Some(duration)).await
    }
}

/// A failure in words for the model: what happened, never a cause that names the host's insides.
fn failed(error: &Error) -> ToolOutput {
    ToolOutput::error(match error {
        Error::Tool(error) => format!("error: {}", error.message),
        Error::Middleware { middleware, source, .. } => format!("error: `{middleware}` failed: {source}"),
        Error::Panic(what) => format!("error: {what} failed unexpectedly"),
        other => format!("error: {}", chain_text(other)),
    })
}

/// The lane of a call; what the model is told if its tool panics over that.
fn lane(turn: &Turn, call: &ToolCall) -> Result<Option<String>, ToolOutput> {
    let Some(tool) = turn.request.tool(&call.name) else {
        return Ok(None);
    };
    catch_unwind(AssertUnwindSafe(|| tool.lane(&call.input))).map_err(|_| {
        tracing::error!(tool = call.name, "the lane of a tool panicked");
        ToolOutput::error(format!("not run: tool `{}` failed unexpectedly", call.name))
    })
}

/// Calls that wait for a place or for their lane.
struct Queue {
    waiting: VecDeque<(ToolCall, Option<String>)>,
    busy: HashSet<String>,
    lanes: HashMap<CallId, String>,
    limit: usize,
    answers: HashMap<CallId, Decision>,
}

impl Queue {
    fn new(answers: HashMap<CallId, Decision>, limit: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            busy: HashSet::new(),
            lanes: HashMap::new(),
            limit,
            answers,
        }
    }

    /// The calls that may start now, in call order.
    fn take_ready(&mut self, at_work: usize) -> Vec<ToolCall> {
        let mut ready = Vec::new();
        let mut rest = VecDeque::new();
        // A lane that a call before waits for is closed to the calls after it.
        let mut closed = HashSet::new();
        for (call, lane) in std::mem::take(&mut self.waiting) {
            let free = lane
                .as_ref()
                .is_none_or(|lane| !self.busy.contains(lane) && !closed.contains(lane));
            if at_work + ready.len() < self.limit && free {
                if let Some(lane) = lane {
                    self.busy.insert(lane.clone());
                    self.lanes.insert(call.id.clone(), lane);
                }
                ready.push(call);
            } else {
                closed.extend(lane.clone());
                rest.push_back((call, lane));
            }
        }
        self.waiting = rest;
        ready
    }

    fn done(&mut self, call: &CallId) {
        if let Some(lane) = self.lanes.remove(call) {
            self.busy.remove(&lane);
        }
    }
}
