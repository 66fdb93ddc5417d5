//! The handle on a run.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Background, Extensions, ModelHandle, Spawned};
use crate::agent::{AgentShared, Tree};
use crate::error::{Error, Result};
use crate::event::{EventKind, EventSink};
use crate::id::{CallId, RunId, ThreadId};
use crate::live::Live;
use crate::message::{Message, ToolCall};
use crate::middleware::Hook;
use crate::principal::{Agents, Principal, Resources};
use crate::record::{CallRecord, Counts, Entry, RunRecord, Thread};
use crate::state::{Slot, SlotValue, StateStore, Undone, Writer};

/// A cheap handle on a run, the same in every hook, tool and observer.
///
/// It knows who asks: the middleware, hook and call it was handed to stand on every event that goes through it.
#[derive(Clone)]
pub struct RunContext {
    pub(crate) shared: Arc<RunShared>,
    stamp: Stamp,
}

/// What all handles on one run share.
pub(crate) struct RunShared {
    pub(crate) agent: Arc<AgentShared>,
    pub(crate) id: RunId,
    pub(crate) thread_id: ThreadId,
    pub(crate) parent: Option<RunId>,
    pub(crate) path: Arc<[String]>,
    pub(crate) principal: Arc<Principal>,
    pub(crate) resources: Arc<dyn Resources>,
    pub(crate) extensions: Arc<Extensions>,
    /// Shared with the desk, which keeps it for the next run.
    pub(crate) thread: Arc<RwLock<Thread>>,
    pub(crate) state: StateStore,
    pub(crate) live_run: Live,
    /// Got from the agent when it is first asked for: most runs have none.
    pub(crate) live_thread: OnceLock<Live>,
    pub(crate) events: EventSink,
    pub(crate) cancel: CancellationToken,
    pub(crate) tree: Arc<Tree>,
    /// Model calls of middlewares and what children did, to be journalled with the next step.
    pub(crate) internal: Mutex<Vec<Entry>>,
}

/// Who holds the handle.
#[derive(Clone, Default)]
struct Stamp {
    middleware: Option<Arc<str>>,
    tool: Option<String>,
    hook: Option<Hook>,
    call: Option<CallId>,
    /// Under which the hook's changes of state can be taken back.
    writer: Writer,
    /// What makes the handle one of background work.
    spawned: Option<Arc<Spawned>>,
}

impl RunShared {
    // The record is changed by `Thread::apply` alone, which does not panic half-way.
    pub(crate) fn thread(&self) -> RwLockReadGuard<'_, Thread> {
        self.thread.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn thread_mut(&self) -> RwLockWriteGuard<'_, Thread> {
        self.thread.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be journalled with the next step.
    pub(crate) fn stage(&self, entry: Entry) {
        self.internal.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    /// Whether what that child did is in the record, or will be.
    pub(crate) fn knows_child(&self, child: &RunId) -> bool {
        let internal = self.internal.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |entry: &Entry| matches!(entry, Entry::ChildSpent { run, .. } if run == child);
        internal.iter().any(is_it)
            || self
                .thread()
                .run()
                .is_some_and(|run| run.id() == &self.id && run.children().contains_key(child))
    }

    /// The run is over, or waits for an answer: nothing is journalled any more, and what it held is dropped.
    pub(crate) fn close(&self) {
        self.state.close();
        self.live_run.clear();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state.is_closed()
    }

    /// Model calls of middlewares that are not recorded yet.
    pub(crate) fn internal(&self) -> Vec<Entry> {
        self.internal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The first `count` of them are recorded now.
    pub(crate) fn internal_recorded(&self, count: usize) {
        let mut internal = self.internal.lock().unwrap_or_else(PoisonError::into_inner);
        let count = count.min(internal.len());
        internal.drain(..count);
    }
}

impl RunContext {
    pub(crate) fn new(shared: Arc<RunShared>) -> Self {
        Self {
            shared,
            stamp: Stamp::default(),
        }
    }

    /// For one call of a hook. What it changes is taken back unless it is [kept](Self::keep_changes) before it is [done](Self::hook_done).
    pub(crate) fn stamped(&self, middleware: &Arc<str>, hook: Hook, call: Option<&CallId>) -> Self {
        self.held_by(middleware, hook, call, self.shared.state.writer())
    }

    fn held_by(&self, middleware: &Arc<str>, hook: Hook, call: Option<&CallId>, writer: Writer) -> Self {
        let stamp = Stamp {
            middleware: Some(middleware.clone()),
            tool: None,
            hook: Some(hook),
            call: call.cloned(),
            writer,
            spawned: None,
        };
        Self {
            shared: self.shared.clone(),
            stamp,
        }
    }

    /// For an observer, at an event of this handle's.
    pub(crate) fn observed_by(&self, middleware: &Arc<str>) -> Self {
        self.held_by(middleware, Hook::Observe, self.call(), Writer::default())
    }

    pub(crate) fn for_call(&self, call: &ToolCall) -> Self {
        let stamp = Stamp {
            call: Some(call.id.clone()),
            tool: Some(call.name.clone()),
            ..Stamp::default()
        };
        Self {
            shared: self.shared.clone(),
            stamp,
        }
    }

    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.shared.id
    }

    /// Its thread.
    pub fn thread_id(&self) -> &ThreadId {
        &self.shared.thread_id
    }

    /// The run that started it, if it is a child.
    pub fn parent(&self) -> Option<&RunId> {
        self.shared.parent.as_ref()
    }

    /// The agent's name.
    pub fn agent(&self) -> &str {
        &self.shared.agent.name
    }

    /// Names of the agents from the outermost to this one.
    pub fn path(&self) -> &[String] {
        &self.shared.path
    }

    /// How many agents stand above this one.
    pub fn depth(&self) -> usize {
        self.shared.path.len().saturating_sub(1)
    }

    /// Who the run is for.
    pub fn principal(&self) -> &Principal {
        &self.shared.principal
    }

    /// What the run may see.
    pub fn resources(&self) -> &Arc<dyn Resources> {
        &self.shared.resources
    }

    /// The agents that can be delegated to.
    pub fn agents(&self) -> &Arc<dyn Agents> {
        &self.shared.agent.agents
    }

    /// The caller's own values.
    pub fn context(&self) -> &Extensions {
        &self.shared.extensions
    }

    /// The middleware that holds this handle.
    pub fn middleware(&self) -> Option<&str> {
        self.stamp.middleware.as_deref()
    }

    /// Who speaks through this handle: a middleware, or a tool.
    pub(crate) fn source(&self) -> Option<&str> {
        self.middleware().or(self.stamp.tool.as_deref())
    }

    /// The hook that holds this handle.
    pub fn hook(&self) -> Option<Hook> {
        self.stamp.hook
    }

    /// The call that this handle was made for.
    pub fn call(&self) -> Option<&CallId> {
        self.stamp.call.as_ref()
    }

    /// The model turn, from 1; 0 before the first.
    pub fn turn(&self) -> u32 {
        self.of_this_run(RunRecord::turns).unwrap_or_default()
    }

    /// The run's own part of the record; none before it is admitted, when the record still has the last run's.
    fn of_this_run<R>(&self, read: impl FnOnce(&RunRecord) -> R) -> Option<R> {
        let thread = self.shared.thread();
        thread.run().filter(|run| run.id() == self.run_id()).map(read)
    }

    /// Reads the thread's record. Keep it short: the run waits for readers before it appends. `read` must not call a handle on the run,
    /// which could wait for ever.
    pub fn record<R>(&self, read: impl FnOnce(&Thread) -> R) -> R {
        read(&self.shared.thread())
    }

    /// The conversation as the next model call would start from it.
    pub fn messages(&self) -> Arc<Vec<Arc<Message>>> {
        self.shared.thread().view()
    }

    /// Turns, attempts, calls and tokens so far.
    pub fn counts(&self) -> Counts {
        Counts {
            run: self.of_this_run(|run| run.totals().clone()).unwrap_or_default(),
            thread: self.record(|thread| thread.totals().clone()),
            tree: self.shared.tree.totals(),
        }
    }

    /// The calls of this run that have a result, in the order in which they ended.
    pub fn calls(&self) -> Arc<Vec<Arc<CallRecord>>> {
        self.of_this_run(|run| run.calls().clone()).unwrap_or_default()
    }

    /// A state slot's value; the default if it was never set.
    ///
    /// # Errors
    /// [`Error::State`] if what is stored is of another shape.
    pub fn get<T: SlotValue>(&self, slot: &Slot<T>) -> Result<Arc<T>> {
        self.shared.state.get(slot)
    }

    /// A state slot's value as JSON.
    pub fn get_json(&self, key: &str) -> Option<Arc<Value>> {
        self.shared.state.raw(key)
    }

    /// Changes a state slot: atomic, and durable with the step it is made in. `change` must be quick: it runs under a lock, so it must not
    /// call a handle on the run either, which would wait for ever.
    ///
    /// # Errors
    /// [`Error::State`] if what is stored is of another shape, or the new value cannot be written as JSON. [`Error::ReadOnly`] where state
    /// can be read only: in `tools`, `before_tool_call` and `observe`, which are asked and do nothing; in background work, whose own
    /// [`update`](Background::update) it is; and when the run is over.
    pub fn update<T: SlotValue, R>(&self, slot: &Slot<T>, change: impl FnOnce(&mut T) -> R) -> Result<R> {
        let read_only = |reason| Error::ReadOnly {
            slot: slot.key().to_owned(),
            by: self.source().unwrap_or("catena").to_owned(),
            reason,
        };
        if let Some(reason) = self.read_only() {
            return Err(read_only(reason));
        }
        let result = self.shared.state.update(slot, self.stamp.writer, change)?;
        let result = result.ok_or_else(|| read_only("the run is over; use the handle that `spawn` gives"))?;
        if self.shared.events.is_watched() {
            self.emit_kind(EventKind::StateChanged {
                key: slot.key().to_owned(),
            });
        }
        Ok(result)
    }

    /// Why state cannot be changed through this handle, if so.
    fn read_only(&self) -> Option<&'static str> {
        if self.spawned().is_some() {
            return Some("background work changes state through `Background::update`");
        }
        match self.hook() {
            Some(Hook::Tools) => Some("`tools` only offers; change state in `before_agent`"),
            Some(Hook::BeforeToolCall) => Some("`before_tool_call` only judges; change state in `wrap_tool_call`"),
            Some(Hook::Observe) => Some("`observe` only looks; change state in a hook that acts"),
            _ => None,
        }
    }

    /// Values that cannot be stored, dropped when the run ends.
    pub fn live(&self) -> &Live {
        &self.shared.live_run
    }

    /// Values that cannot be stored, dropped once the thread has been idle for ten minutes: not by a clock, but when a run of
    /// the agent next asks for values of a thread. What must be released on time keeps its own.
    pub fn live_thread(&self) -> &Live {
        self.shared
            .live_thread
            .get_or_init(|| self.shared.agent.live.thread(&self.shared.thread_id))
    }

    /// A permit pool that all runs of this run's tree share. The first one who names it sets its size.
    pub fn permits(&self, name: &str, size: usize) -> Arc<tokio::sync::Semaphore> {
        self.shared.tree.permits(name, size)
    }

    /// The agent's own model, for a call of one's own.
    pub fn default_model(&self) -> ModelHandle {
        ModelHandle::new(self.clone(), self.shared.agent.model.clone())
    }

    /// A model by its name in the agent, for a call of one's own.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the agent has none of that name.
    pub fn model(&self, name: &str) -> Result<ModelHandle> {
        let models = &self.shared.agent.models;
        let model = models.get(name).ok_or_else(|| Error::Unknown {
            what: "model",
            name: name.to_owned(),
            suggestion: None,
        })?;
        Ok(ModelHandle::new(self.clone(), model.clone()))
    }

    /// Emits an event of one's own.
    pub fn emit(&self, name: impl Into<String>, data: Value) {
        if self.shared.events.is_watched() {
            let source = self.source().unwrap_or(self.agent()).to_owned();
            self.emit_kind(EventKind::Custom {
                source,
                name: name.into(),
                data,
            });
        }
    }

    /// Tells whoever watches about something that does not end the run.
    pub fn warn(&self, message: impl Into<String>) {
        let message = message.into();
        let source = self.source().unwrap_or("catena").to_owned();
        tracing::warn!(run = %self.shared.id, source, message);
        self.emit_kind(EventKind::Warning { source, message });
    }

    pub(crate) fn emit_kind(&self, kind: EventKind) {
        self.shared.events.emit(self, kind);
    }

    /// Starts work that outlives the hook, and the run. It asks models and changes state through the [`Background`] handle it is given;
    /// this one is of no use to it once the run is over. A cancelled run's work goes on. It has [`Background::TIME_LIMIT`], is drained at
    /// [shutdown](crate::Agent::shutdown), and is lost when the process dies: what it does must be derivable again from the record.
    ///
    /// ```
    /// # use catena_core::{context::RunContext, state::Slot, Result};
    /// const SEEN: Slot<usize> = Slot::thread("memory.seen");
    /// # fn after_agent(run: &RunContext) -> Result<()> {
    /// let messages = run.messages();
    /// run.spawn(async move |background| {
    ///     let seen = messages.len();
    ///     if let Err(error) = background.update(&SEEN, move |value| *value = seen).await {
    ///         background.run().warn(error.to_string());
    ///     }
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Other`] if too much is going on already.
    pub fn spawn<W: Future<Output = ()> + Send + 'static>(&self, work: impl FnOnce(Background) -> W) -> Result<()> {
        let tasks = &self.shared.agent.background;
        let mut run = self.clone();
        run.stamp.writer = Writer::default();
        run.stamp.spawned = Some(Arc::new(Spawned::new(tasks.cancellation())));
        tasks.spawn(Background::new(run), work)
    }

    /// What makes the handle one of background work.
    pub(crate) fn spawned(&self) -> Option<&Arc<Spawned>> {
        self.stamp.spawned.as_ref()
    }

    fn token(&self) -> &CancellationToken {
        self.spawned().map_or(&self.shared.cancel, |spawned| &spawned.cancel)
    }

    /// Completes when the run is cancelled; in background work, when the agent shuts down.
    pub async fn cancelled(&self) {
        self.token().cancelled().await;
    }

    /// Whether the run is cancelled; in background work, whether the agent shuts down.
    pub fn is_cancelled(&self) -> bool {
        self.token().is_cancelled()
    }

    /// What the hook that holds this handle did to the state stays. Yields the slots' keys.
    pub(crate) fn keep_changes(&self) -> Vec<String> {
        self.shared.state.keep(self.stamp.writer)
    }

    /// Takes back what the hook that holds this handle did to the state. Returns whether it did anything.
    pub(crate) fn undo_changes(&self) -> bool {
        self.undone(self.shared.state.undo(self.stamp.writer))
    }

    /// The hook that holds this handle is over: takes back what was not kept.
    pub(crate) fn hook_done(&self) {
        self.undone(self.shared.state.done(self.stamp.writer));
    }

    fn undone(&self, undone: Undone) -> bool {
        for key in undone.kept {
            self.warn(format!(
                "the change of state slot `{key}` could not be taken back: someone else has changed it since"
            ));
        }
        undone.any
    }
}

impl std::fmt::Debug for RunContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunContext")
            .field("run", &self.shared.id)
            .field("thread", &self.shared.thread_id)
            .field("middleware", &self.stamp.middleware)
            .field("hook", &self.stamp.hook)
            .finish_non_exhaustive()
    }
}
