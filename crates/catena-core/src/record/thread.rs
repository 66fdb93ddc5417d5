//! A thread as its entries make it.

mod run;

pub(crate) use run::{Approval, Last};
pub use run::{CallState, OpenCall, RunRecord};

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::counts::Totals;
use super::entry::Entry;
use crate::error::{Error, Result};
use crate::id::{CallId, MessageId, RunId, ThreadId};
use crate::message::Message;
use crate::state::Scope;

/// A thread: its messages, state, counts, and the run that is going on or was the last.
///
/// It changes by [`apply`](Self::apply) alone.
#[derive(Clone, Debug)]
pub struct Thread {
    id: ThreadId,
    length: u64,
    pub(super) messages: Vec<Arc<Message>>,
    positions: HashMap<MessageId, usize>,
    /// Which message asked for a call.
    pub(super) owners: HashMap<CallId, usize>,
    pub(super) results: HashMap<CallId, Arc<Message>>,
    pub(super) inputs: HashMap<CallId, EffectiveInput>,
    /// The last one counts; the others come back if it is superseded.
    folds: Vec<Fold>,
    pub(super) superseded: HashSet<MessageId>,
    slots: BTreeMap<String, Arc<Value>>,
    totals: Arc<Totals>,
    run: Option<RunRecord>,
    view: Arc<Vec<Arc<Message>>>,
}

/// What a call ran with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EffectiveInput {
    pub(crate) tool: String,
    pub(crate) input: Value,
}

/// A summary and what it stands for.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    /// The position after the last message it stands for.
    pub(super) end: usize,
    pub(super) summary: Arc<Message>,
}

impl Thread {
    /// A thread without entries.
    pub fn new(id: ThreadId) -> Self {
        Self {
            id,
            length: 0,
            messages: Vec::new(),
            positions: HashMap::new(),
            owners: HashMap::new(),
            results: HashMap::new(),
            inputs: HashMap::new(),
            folds: Vec::new(),
            superseded: HashSet::new(),
            slots: BTreeMap::new(),
            totals: Arc::default(),
            run: None,
            view: Arc::default(),
        }
    }

    /// A thread from its stored entries.
    pub fn replay<'a>(id: ThreadId, entries: impl IntoIterator<Item = &'a Arc<Entry>>) -> Self {
        let mut thread = Self::new(id);
        entries.into_iter().for_each(|entry| thread.apply(entry));
        thread
    }

    /// The thread's id.
    pub fn id(&self) -> &ThreadId {
        &self.id
    }

    /// How many entries it has.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Every message ever admitted, in the order of the record, folded and superseded ones included.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The conversation as the next model call starts from it.
    pub fn view(&self) -> Arc<Vec<Arc<Message>>> {
        self.view.clone()
    }

    /// The run that is going on, or was the last.
    pub fn run(&self) -> Option<&RunRecord> {
        self.run.as_ref()
    }

    /// Sums over all runs.
    pub fn totals(&self) -> &Arc<Totals> {
        &self.totals
    }

    /// Whether a message no longer counts.
    pub fn is_superseded(&self, id: &MessageId) -> bool {
        self.superseded.contains(id)
    }

    /// The result of a call.
    pub fn result(&self, call: &CallId) -> Option<&Arc<Message>> {
        self.results.get(call)
    }

    /// Whether a call of that id was ever made.
    pub fn has_call(&self, call: &CallId) -> bool {
        self.owners.contains_key(call)
    }

    /// State slots of the thread, and of the run that is going on or was the last.
    pub fn slots(&self) -> impl Iterator<Item = (String, Scope, Arc<Value>)> + '_ {
        let thread = self
            .slots
            .iter()
            .map(|(key, value)| (key.clone(), Scope::Thread, value.clone()));
        let run = self.run.iter().flat_map(|run| run.slots.iter());
        thread.chain(run.map(|(key, value)| (key.clone(), Scope::Run, value.clone())))
    }

    /// State slots as `run` starts with them: a new run has none of the last one's.
    pub(crate) fn slots_for<'a>(&'a self, run: &'a RunId) -> impl Iterator<Item = (String, Scope, Arc<Value>)> + 'a {
        let same = self.run.as_ref().is_some_and(|last| last.id() == run);
        self.slots()
            .filter(move |(_, scope, _)| same || *scope == Scope::Thread)
    }

    /// The position of a message in [`messages`](Self::messages).
    pub fn position(&self, id: &MessageId) -> Option<usize> {
        self.positions.get(id).copied()
    }

    pub(super) fn fold(&self) -> Option<&Fold> {
        self.folds.last()
    }

    pub(crate) fn known(&self, id: &MessageId) -> Result<usize> {
        self.position(id).ok_or_else(|| Error::Unknown {
            what: "message",
            name: id.to_string(),
            suggestion: None,
        })
    }

    /// Takes the next entry into account.
    pub fn apply(&mut self, entry: &Entry) {
        self.length += 1;
        match entry {
            Entry::RunStarted(start) => self.run = Some(RunRecord::new(start.clone(), self.messages.len())),
            Entry::Admitted { input, .. } => input.iter().for_each(|message| self.push(message)),
            Entry::Message { message } => self.push(message),
            Entry::Model(step) => {
                self.push(&step.message);
                let usage = step.usage();
                Arc::make_mut(&mut self.totals).add_model(step.attempts, usage);
            }
            Entry::CallInput { call, tool, input, .. } => {
                self.inputs.insert(
                    call.clone(),
                    EffectiveInput {
                        tool: tool.clone(),
                        input: input.clone(),
                    },
                );
                self.show_as_it_ran(call);
            }
            Entry::CallEnded { message, status, .. } => {
                if let (true, Some(result)) = (status.executed(), message.as_tool()) {
                    Arc::make_mut(&mut self.totals).add_call(&result.name);
                }
                self.push(message);
            }
            Entry::Folded { up_to, summary, .. } => {
                // A summary of less than what is folded already would bring back what was put away.
                let folded = self.folds.last().map_or(0, |fold| fold.end);
                if let Some(&position) = self.positions.get(up_to).filter(|&&position| position >= folded) {
                    self.folds.push(Fold {
                        end: position + 1,
                        summary: summary.clone(),
                    });
                    self.view = Arc::new(self.compute_view());
                }
            }
            Entry::Superseded { messages } => {
                self.superseded.extend(messages.iter().cloned());
                // A summary of what no longer counts does not count either.
                let first = messages.iter().filter_map(|id| self.position(id)).min();
                self.folds.retain(|fold| first.is_none_or(|first| fold.end <= first));
                self.view = Arc::new(self.compute_view());
            }
            Entry::State {
                key,
                scope: Scope::Thread,
                value,
            } => {
                self.slots.insert(key.clone(), Arc::new(value.clone()));
            }
            Entry::InternalCall { by, usage, .. } => Arc::make_mut(&mut self.totals).add_internal(by, *usage),
            Entry::FailedAttempts { attempts, usage } => {
                Arc::make_mut(&mut self.totals).add_failed(*attempts, *usage);
            }
            Entry::State { scope: Scope::Run, .. }
            | Entry::CallStarted { .. }
            | Entry::Paused { .. }
            | Entry::Answered { .. }
            | Entry::ChildSpent { .. }
            | Entry::Ending { .. }
            | Entry::RunEnded { .. }
            | Entry::Forked { .. } => {}
        }
        if let Some(run) = &mut self.run {
            run.apply(entry, &self.inputs);
        }
    }

    fn push(&mut self, message: &Arc<Message>) {
        let index = self.messages.len();
        self.positions.insert(message.id().clone(), index);
        self.messages.push(message.clone());
        for call in message.calls() {
            self.owners.entry(call.id.clone()).or_insert(index);
        }
        match message.as_tool() {
            Some(result) if self.owners.contains_key(&result.call) => {
                let call = result.call.clone();
                let new = !self.results.contains_key(&call);
                self.results.entry(call.clone()).or_insert_with(|| message.clone());
                if new {
                    self.show_result(&call, message);
                }
            }
            _ => Arc::make_mut(&mut self.view).push(message.clone()),
        }
    }

    /// Puts a new result behind its call and the results of the calls before it. The call is near the end of the view, so this is quick
    /// however long the thread is.
    fn show_result(&mut self, call: &CallId, result: &Arc<Message>) {
        let Some(&index) = self.owners.get(call) else { return };
        let Some(owner) = self.messages.get(index) else { return };
        // One look at each call before it, however many there are: a message may hold thousands.
        let before = owner.calls().map(|c| &c.id).take_while(|id| *id != call);
        let shown = before.filter(|id| self.owners.get(*id) == Some(&index) && self.results.contains_key(*id));
        let shown = shown.count();
        let Some(place) = self.view.iter().rposition(|m| m.id() == owner.id()) else {
            return;
        };
        let view = Arc::make_mut(&mut self.view);
        let end = (place + 1 + shown).min(view.len());
        view.insert(end, result.clone());
    }

    fn show_as_it_ran(&mut self, call: &CallId) {
        let Some(owner) = self
            .owners
            .get(call)
            .and_then(|&index| self.messages.get(index))
            .cloned()
        else {
            return;
        };
        let shown = self.as_it_ran(&owner);
        if let Some(place) = self.view.iter().rposition(|m| m.id() == owner.id()) {
            Arc::make_mut(&mut self.view)[place] = shown;
        }
    }
}

#[cfg(test)]
mod tests;
