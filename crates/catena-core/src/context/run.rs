//! The handle on a run.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Extensions, ModelHandle};
use crate::agent::{AgentShared, Tree};
use crate::error::{Error, Result};
use crate::event::{EventKind, EventSink};
use crate::id::{CallId, RunId, ThreadId};
use crate::live::Live;
use crate::message::{Message, ToolCall};
use crate::middleware::Hook;
use crate::principal::{Agents, Principal, Resources};
use crate::record::{CallRecord, Counts, Entry, Thread};
use crate::state::{Slot, SlotValue, StateStore, Writer};

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

    pub(crate) fn take_internal(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.internal.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RunContext {
    pub(crate) fn new(shared: Arc<RunShared>) -> Self {
        Self {
            shared,
            stamp: Stamp::default(),
        }
    }

    pub(crate) fn stamped(&self, middleware: &Arc<str>, hook: Hook, call: Option<&CallId>) -> Self {
        let stamp = Stamp {
            middleware: Some(middleware.clone()),
            tool: None,
            hook: Some(hook),
            call: call.cloned(),
            writer: self.shared.state.writer(),
        };
        Self {
            shared: self.shared.clone(),
            stamp,
        }
    }

    /// For an observer, at an event of this handle's. What it changes is never taken back.
    pub(crate) fn observed_by(&self, middleware: &Arc<str>) -> Self {
        let mut observer = self.stamped(middleware, Hook::Observe, self.call());
        observer.stamp.writer = Writer::default();
        observer
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
        self.shared.thread().run().map_or(0, |run| run.turns())
    }

    /// Reads the thread's record. Keep it short: the run waits for readers before it appends.
    pub fn record<R>(&self, read: impl FnOnce(&Thread) -> R) -> R {
        read(&self.shared.thread())
    }

    /// The conversation as the next model call would start from it.
    pub fn messages(&self) -> Arc<Vec<Arc<Message>>> {
        self.shared.thread().view()
    }

    /// Turns, attempts, calls and tokens so far.
    pub fn counts(&self) -> Counts {
        let thread = self.shared.thread();
        Counts {
            run: thread.run().map(|run| run.totals().clone()).unwrap_or_default(),
            thread: thread.totals().clone(),
            tree: self.shared.tree.totals(),
        }
    }

    /// The calls of this run that have a result, in the order in which they ended.
    pub fn calls(&self) -> Arc<Vec<Arc<CallRecord>>> {
        self.shared
            .thread()
            .run()
            .map(|run| run.calls().clone())
            .unwrap_or_default()
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

    /// Changes a state slot: atomic, and durable with the step it is made in. `change` must be quick: it runs under a lock.
    ///
    /// # Errors
    /// [`Error::State`] if what is stored is of another shape, or the new value cannot be written as JSON.
    pub fn update<T: SlotValue, R>(&self, slot: &Slot<T>, change: impl FnOnce(&mut T) -> R) -> Result<R> {
        let result = self.shared.state.update(slot, self.stamp.writer, change)?;
        if self.shared.events.is_watched() {
            self.emit_kind(EventKind::StateChanged {
                key: slot.key().to_owned(),
            });
        }
        Ok(result)
    }

    /// Values that cannot be stored, dropped when the run ends.
    pub fn live(&self) -> &Live {
        &self.shared.live_run
    }

    /// Values that cannot be stored, dropped when the thread has been idle for ten minutes.
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

    /// Starts work that outlives the hook. It is bounded, drained at shutdown, and lost when the process dies: what it does must be
    /// derivable again from the record.
    ///
    /// # Errors
    /// [`Error::Other`] if too much is going on already.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        self.shared.agent.background.spawn(work)
    }

    /// Completes when the run is cancelled.
    pub async fn cancelled(&self) {
        self.shared.cancel.cancelled().await;
    }

    /// Whether the run is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancel.is_cancelled()
    }

    /// What the hook that holds this handle did to the state stays. Yields the slots' keys.
    pub(crate) fn keep_changes(&self) -> Vec<String> {
        self.shared.state.keep(self.stamp.writer)
    }

    /// Takes back what the hook that holds this handle did to the state. Returns whether it did anything.
    pub(crate) fn undo_changes(&self) -> bool {
        self.shared.state.undo(self.stamp.writer)
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
