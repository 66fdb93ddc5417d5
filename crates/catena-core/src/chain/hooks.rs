//! How each hook is run, and what its failure means.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::plan::{Chain, Planned};
use super::protect::protect;
use crate::context::{Intake, RunContext, Turn};
use crate::error::{Error, Result, chain_text};
use crate::event::{Decided, EventKind};
use crate::id::CallId;
use crate::message::ToolCall;
use crate::middleware::{AfterModel, Ending, Flow, Hook, OnFailure, ToolDecision};
use crate::model::{ModelRequest, ModelResponse};
use crate::record::OutcomeRecord;
use crate::shared::Shared;
use crate::tool::{Tool, ToolOutput};

/// One call of one hook: its handle, its limits, and its line in the events.
pub(super) struct Called<'a> {
    entry: &'a Planned,
    hook: Hook,
    run: RunContext,
    /// Absent when nobody watches.
    started: Option<Instant>,
}

impl<'a> Called<'a> {
    pub(super) fn new(run: &RunContext, entry: &'a Planned, hook: Hook, call: Option<&CallId>) -> Self {
        let started = run.shared.events.is_watched().then(Instant::now);
        Self {
            entry,
            hook,
            run: run.stamped(&entry.name, hook, call),
            started,
        }
    }

    pub(super) fn run(&self) -> &RunContext {
        &self.run
    }

    fn what(&self) -> String {
        format!("middleware `{}` in {}", self.entry.name, self.hook)
    }

    /// Within the middleware's budget.
    pub(super) async fn limited<T>(&self, future: BoxFuture<'_, Result<T>>) -> Result<T> {
        self.settle(protect(|| self.what(), Some(self.entry.middleware.budget()), future).await)
    }

    /// A wrap: its time is that of what it wraps, which has limits of its own. An error that it returns may be only what it passes on, so
    /// what it did to the state stays; its own panic takes that back.
    pub(super) async fn unlimited<T>(&self, future: BoxFuture<'_, Result<T>>) -> Result<T> {
        match protect(|| self.what(), None, Box::pin(async { Ok(future.await) })).await {
            Ok(result) => result,
            Err(own) => self.settle(Err(own)),
        }
    }

    /// Takes back what a failed hook did to the state.
    fn settle<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.run.undo_changes();
        }
        result
    }

    /// Whether anyone will see its line.
    pub(super) fn is_watched(&self) -> bool {
        self.started.is_some()
    }

    pub(super) fn wrapped(&self, decided: std::result::Result<Decided, &Error>, changed: impl FnOnce() -> Vec<String>) {
        match decided {
            Ok(decided) => self.report(decided, changed, None),
            Err(error) => self.report(Decided::Failed, changed, Some(chain_text(error))),
        }
    }

    pub(super) fn report(&self, decision: Decided, changed: impl FnOnce() -> Vec<String>, detail: Option<String>) {
        let slots = self.run.keep_changes();
        let Some(started) = self.started else { return };
        let mut changed = changed();
        // A slot that was changed twice is one change.
        let slots: BTreeSet<String> = slots.into_iter().collect();
        changed.extend(slots.into_iter().map(|key| format!("state:{key}")));
        self.run.emit_kind(EventKind::Middleware {
            name: self.entry.name.clone(),
            hook: self.hook,
            decision,
            changed,
            duration_us: started.elapsed(),
            call: self.run.call().cloned(),
            detail,
        });
    }

    /// A failure: reported, and passed on or swallowed as the middleware declares.
    pub(super) fn failed(&self, error: Error) -> Result<(), Error> {
        self.report(Decided::Failed, Vec::new, Some(chain_text(&error)));
        match self.entry.middleware.on_failure() {
            OnFailure::Open => {
                tracing::warn!(middleware = &*self.entry.name, hook = %self.hook, error = chain_text(&error), "failed open");
                Ok(())
            }
            OnFailure::Close => Err(self.named(error)),
        }
    }

    pub(super) fn named(&self, error: Error) -> Error {
        let source = match error {
            // It says already whose it is.
            error @ (Error::NotParallelSafe { .. } | Error::Cancelled) => return error,
            Error::Panic(_) => Error::Panic("the hook".to_owned()),
            Error::Timeout { limit, .. } => Error::Timeout {
                what: "the hook".to_owned(),
                limit,
            },
            source => source,
        };
        Error::Middleware {
            middleware: self.entry.name.to_string(),
            hook: self.hook.as_str(),
            source: Box::new(source),
        }
    }
}

/// A hook that a cancellation cuts off leaves as little behind as one that fails.
impl Drop for Called<'_> {
    fn drop(&mut self) {
        self.run.hook_done();
    }
}

/// A decision to end the run, and whose it is.
pub(crate) type Stopped = Option<(String, Ending)>;

/// What all `after_model` together make of an answer.
pub(crate) enum AfterAnswer {
    /// It stands.
    Accept,
    /// Another one is wanted in its place.
    AskAgain,
    /// It ends the run: who, and how.
    Stop(String, Ending),
}

impl Chain {
    /// The tools that middlewares offer, in plan order, and who offers them.
    pub(crate) async fn tools(&self, run: &RunContext) -> Result<Vec<(Arc<str>, Arc<dyn Tool>)>> {
        let mut tools = Vec::new();
        for entry in self.hook(Hook::Tools) {
            let called = Called::new(run, entry, Hook::Tools, None);
            match called.limited(entry.middleware.tools(called.run())).await {
                Ok(offered) => tools.extend(offered.into_iter().map(|tool| (entry.name.clone(), tool))),
                Err(error) => called.failed(error)?,
            }
        }
        Ok(tools)
    }

    /// Runs every `before_agent`, waves side by side.
    pub(crate) async fn before_agent(&self, intake: &mut Intake) -> Result<Stopped> {
        for segment in self.segments() {
            let stopped = match segment.as_slice() {
                // A parallel-safe one keeps to the same rules when it happens to stand alone.
                [one] if !one.is_parallel() => one.before_agent(intake).await?,
                wave => super::wave::run(wave, intake).await?,
            };
            if stopped.is_some() {
                return Ok(stopped);
            }
        }
        Ok(None)
    }

    /// Runs every `before_model`. A middleware that has ended the run (`ended_by`) would stop the last word that it asked for, every time:
    /// it is heard, but cannot stop again.
    pub(crate) async fn before_model(&self, turn: &mut Turn, ended_by: Option<&str>) -> Result<Stopped> {
        for entry in self.hook(Hook::BeforeModel) {
            let called = Called::new(&turn.run, entry, Hook::BeforeModel, None);
            let before = Kept::of(turn);
            let outer = std::mem::replace(&mut turn.run, called.run().clone());
            let decided = called.limited(entry.middleware.before_model(turn)).await;
            turn.run = outer;
            match decided {
                Ok(Flow::Continue) => called.report(Decided::Continue, || before.changed(turn), None),
                Ok(Flow::Stop(_)) if ended_by == Some(&*entry.name) => {
                    called.report(Decided::Continue, || before.changed(turn), None);
                }
                Ok(Flow::Stop(ending)) => {
                    called.report(
                        Decided::Stop,
                        || before.changed(turn),
                        Some(ending.reason.message.clone()),
                    );
                    return Ok(Some((entry.name.to_string(), ending)));
                }
                Err(error) => {
                    before.restore(turn);
                    called.failed(error)?;
                }
            }
        }
        Ok(None)
    }

    /// Runs every `after_model`. One that ends the run is heard before one that asks for another answer; the object that the latter
    /// did not take is dropped all the same.
    pub(crate) async fn after_model(&self, turn: &mut Turn, response: &mut ModelResponse) -> Result<AfterAnswer> {
        let mut after = AfterAnswer::Accept;
        for entry in self.hook(Hook::AfterModel) {
            let called = Called::new(&turn.run, entry, Hook::AfterModel, None);
            let (before, answer) = (Kept::of(turn), response.clone());
            let outer = std::mem::replace(&mut turn.run, called.run().clone());
            let decided = called.limited(entry.middleware.after_model(turn, response)).await;
            turn.run = outer;
            let changed = || {
                let edited = !answer.message.is_same(&response.message);
                before
                    .changed(turn)
                    .into_iter()
                    .chain(edited.then(|| "message".to_owned()))
                    .collect()
            };
            match decided {
                Ok(AfterModel::Continue) => called.report(Decided::Continue, changed, None),
                Ok(AfterModel::AskAgain) => {
                    called.report(Decided::AskAgain, changed, None);
                    after = AfterAnswer::AskAgain;
                }
                Ok(AfterModel::Stop(ending)) => {
                    called.report(Decided::Stop, changed, Some(ending.reason.message.clone()));
                    if matches!(after, AfterAnswer::AskAgain) {
                        response.structured = None;
                    }
                    return Ok(AfterAnswer::Stop(entry.name.to_string(), ending));
                }
                Err(error) => {
                    before.restore(turn);
                    *response = answer;
                    called.failed(error)?;
                }
            }
        }
        Ok(after)
    }

    /// Asks the gates about one call, one after another, until one of them settles it. Yields each one's name and decision.
    pub(crate) async fn gate(
        &self,
        turn: &mut Turn,
        call: &ToolCall,
        position: usize,
    ) -> Option<(Arc<str>, ToolDecision)> {
        let entry = self.nth(Hook::BeforeToolCall, position)?;
        let called = Called::new(&turn.run, entry, Hook::BeforeToolCall, Some(&call.id));
        // The gate cannot write to the turn, but what it asks and says through the run stands under its name.
        let before = std::mem::replace(&mut turn.run, called.run().clone());
        let decided = called.limited(entry.middleware.before_tool_call(turn, call)).await;
        turn.run = before;
        let name = entry.name.clone();
        let decision = match decided {
            Ok(decision) => {
                let (decided, detail) = describe(&decision);
                called.report(decided, Vec::new, detail);
                decision
            }
            Err(error) => match called.failed(error) {
                Ok(()) => ToolDecision::Allow,
                Err(error) => ToolDecision::block(format!(
                    "this call could not be checked, so it was not made: {}",
                    chain_text(&error)
                )),
            },
        };
        Some((name, decision))
    }

    pub(crate) async fn after_tool_call(&self, turn: &mut Turn, call: &ToolCall, output: &mut ToolOutput) {
        for entry in self.hook(Hook::AfterToolCall) {
            let called = Called::new(&turn.run, entry, Hook::AfterToolCall, Some(&call.id));
            let (before, kept) = (Kept::of(turn), output.clone());
            let outer = std::mem::replace(&mut turn.run, called.run().clone());
            let done = called
                .limited(entry.middleware.after_tool_call(turn, call, output))
                .await;
            turn.run = outer;
            match done {
                Ok(()) => {
                    let edited = || !output.parts.is_same(&kept.parts) || *output != kept;
                    let changed = || edited().then(|| "result".to_owned()).into_iter().collect();
                    called.report(Decided::Continue, changed, None);
                }
                Err(error) => {
                    before.restore(turn);
                    *output = kept;
                    if let Err(error) = called.failed(error) {
                        // Whatever was to be taken out of the result may still be in it.
                        *output = ToolOutput::error(format!("the result was withheld: {}", chain_text(&error)));
                    }
                }
            }
        }
    }

    /// Runs every `after_agent`, each for a moment only once the run is cancelled.
    pub(crate) async fn after_agent(&self, run: &RunContext, outcome: &OutcomeRecord) {
        for entry in self.hook(Hook::AfterAgent) {
            let called = Called::new(run, entry, Hook::AfterAgent, None);
            let work = called.limited(entry.middleware.after_agent(called.run(), outcome));
            let done = tokio::select! {
                biased;
                done = work => done,
                () = patience(run) => {
                    let (what, limit) = (called.what(), AFTER_CANCEL);
                    called.settle(Err(Error::Timeout { what, limit }))
                }
            };
            match done {
                Ok(()) => called.report(Decided::Continue, Vec::new, None),
                Err(error) => called.report(Decided::Failed, Vec::new, Some(chain_text(&error))),
            }
        }
    }
}

/// How long each `after_agent` may take once the run is cancelled: what a person who pressed Ctrl-C will wait for.
const AFTER_CANCEL: Duration = Duration::from_secs(2);

/// Completes a moment after the run was cancelled.
async fn patience(run: &RunContext) {
    run.cancelled().await;
    tokio::time::sleep(AFTER_CANCEL).await;
}

impl Planned {
    pub(super) async fn before_agent(&self, intake: &mut Intake) -> Result<Stopped> {
        let called = Called::new(&intake.run, self, Hook::BeforeAgent, None);
        let before = intake.clone();
        let outer = std::mem::replace(&mut intake.run, called.run().clone());
        let decided = called.limited(self.middleware.before_agent(intake)).await;
        intake.run = outer;
        match decided {
            Ok(flow) => {
                let changed = || {
                    let differences = [
                        ("input", !Arc::ptr_eq(&before.input, &intake.input)),
                        ("prompt", !before.prompt.is_same(&intake.prompt)),
                        ("fold", before.staged.len() != intake.staged.len()),
                    ];
                    differences
                        .into_iter()
                        .filter(|(_, differs)| *differs)
                        .map(|(name, _)| name.to_owned())
                        .collect()
                };
                match flow {
                    Flow::Continue => called.report(Decided::Continue, changed, None),
                    Flow::Stop(ending) => {
                        called.report(Decided::Stop, changed, Some(ending.reason.message.clone()));
                        return Ok(Some((self.name.to_string(), ending)));
                    }
                }
            }
            Err(error) => {
                *intake = before;
                called.failed(error)?;
            }
        }
        Ok(None)
    }
}

/// A turn before a hook, to see what the hook changed and to take it back.
///
/// It shares the lists with the turn, so an edit makes a new list: that is how a change is noticed.
struct Kept {
    request: Shared<ModelRequest>,
    staged: usize,
}

impl Kept {
    fn of(turn: &Turn) -> Self {
        Self {
            request: turn.request.clone(),
            staged: turn.staged.len(),
        }
    }

    fn restore(self, turn: &mut Turn) {
        turn.request = self.request;
        turn.staged.truncate(self.staged);
    }

    fn changed(&self, turn: &Turn) -> Vec<String> {
        if self.request.is_same(&turn.request) && self.staged == turn.staged.len() {
            return Vec::new();
        }
        let mut changed = changes(&self.request, &turn.request);
        changed.extend((self.staged != turn.staged.len()).then_some("fold"));
        changed.into_iter().map(str::to_owned).collect()
    }
}

/// In what a request differs from what it was.
pub(super) fn changes(old: &ModelRequest, new: &ModelRequest) -> Vec<&'static str> {
    let differences = [
        ("messages", !Arc::ptr_eq(&old.messages, &new.messages)),
        ("prompt", !old.prompt.is_same(&new.prompt)),
        ("tools", !Arc::ptr_eq(&old.tools, &new.tools)),
        ("model", !Arc::ptr_eq(&old.model, &new.model)),
        ("filters", old.filters.len() != new.filters.len()),
        (
            "settings",
            old.settings != new.settings || old.tool_choice != new.tool_choice,
        ),
    ];
    let differing = differences.into_iter().filter(|(_, differs)| *differs);
    differing.map(|(name, _)| name).collect()
}

fn describe(decision: &ToolDecision) -> (Decided, Option<String>) {
    match decision {
        ToolDecision::Allow => (Decided::Continue, None),
        ToolDecision::Block(output) => (Decided::Block, Some(output.to_text())),
        ToolDecision::Replace(call) => (Decided::Replace, Some(call.input.to_string())),
        ToolDecision::AbortLoop(ending) => (Decided::AbortLoop, Some(ending.reason.message.clone())),
        ToolDecision::Interrupt(request) => (Decided::Interrupt, Some(request.description.clone())),
    }
}
