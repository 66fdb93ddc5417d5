//! A run as its entries make it: what the loop decides its next step by.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::EffectiveInput;
use crate::id::{CallId, PauseId, RunId};
use crate::interrupt::{Asker, Decision, Pause};
use crate::message::ToolCall;
use crate::middleware::Ending;
use crate::model::StopReason;
use crate::prompt::Section;
use crate::record::counts::{CallRecord, CallStatus, Totals};
use crate::record::entry::{Entry, ModelStep, OutcomeRecord, RunStart};
use crate::state::Scope;

/// The run that is going on, or was the last one.
#[derive(Clone, Debug)]
pub struct RunRecord {
    start: RunStart,
    /// Where its messages begin in the record.
    pub(crate) first_message: usize,
    pub(crate) admitted: bool,
    pub(crate) prompt: Vec<Section>,
    pub(crate) offer: Arc<[String]>,
    pub(crate) open: Vec<OpenCall>,
    pub(crate) last: Last,
    pub(crate) ending: Option<(String, Ending)>,
    pub(crate) spoke: bool,
    /// The last answer had no calls, and another one was asked for.
    pub(crate) asked_again: bool,
    pub(crate) structured: Option<Value>,
    pub(crate) ended: Option<OutcomeRecord>,
    /// Model messages in a row whose calls were all invalid.
    pub(crate) invalid_in_a_row: u32,
    pub(super) slots: BTreeMap<String, Arc<Value>>,
    totals: Arc<Totals>,
    /// What children did, each with its own children.
    children: BTreeMap<RunId, Arc<Totals>>,
    calls: Arc<Vec<Arc<CallRecord>>>,
    batch: BatchEnd,
}

/// What the record of the run ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// Input, or results: the model is next.
    Input,
    /// A message of the model that asks for nothing more.
    Answer,
    /// Results of tools that all end the run.
    EndingResults,
}

/// How the calls of the last message have ended so far.
#[derive(Clone, Copy, Debug, Default)]
struct BatchEnd {
    calls: u32,
    ends_run: u32,
    invalid: u32,
}

/// A call that has no result yet.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The call as it would run.
    pub call: ToolCall,
    /// How far it is.
    pub state: CallState,
    /// What a person approved, which need not be asked again.
    pub(crate) approved: Vec<Approval>,
    /// What a person answered to the tool's last question: it is kept until the call ends, however often that is tried.
    pub(crate) answer: Option<Decision>,
}

impl OpenCall {
    /// A call that nothing is known about yet.
    pub(crate) fn undecided(call: ToolCall) -> Self {
        Self {
            call,
            state: CallState::Undecided,
            approved: Vec::new(),
            answer: None,
        }
    }
}

/// A person let a call run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Approval {
    pub(crate) askers: Vec<String>,
    pub(crate) tool: String,
    pub(crate) input: Value,
}

/// How far an open call is.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// Nothing was decided that would last.
    Undecided,
    /// The tool began to work.
    Started,
    /// A question is open.
    Paused(Pause),
    /// The question was answered.
    Answered(Pause, Decision),
}

impl ModelStep {
    /// Whether the model goes on when it gets the message back.
    fn is_paused(&self) -> bool {
        let stop = self.message.as_assistant().map(|message| message.stop);
        stop == Some(StopReason::Paused)
    }

    pub(crate) fn usage(&self) -> crate::model::Usage {
        let mut usage = self.wasted;
        if let Some(message) = self.message.as_assistant() {
            usage += message.usage;
        }
        usage
    }
}

impl RunRecord {
    pub(super) fn new(start: RunStart, first_message: usize) -> Self {
        Self {
            start,
            first_message,
            admitted: false,
            prompt: Vec::new(),
            offer: Arc::default(),
            open: Vec::new(),
            last: Last::Input,
            ending: None,
            spoke: false,
            asked_again: false,
            structured: None,
            ended: None,
            invalid_in_a_row: 0,
            slots: BTreeMap::new(),
            totals: Arc::default(),
            children: BTreeMap::new(),
            calls: Arc::default(),
            batch: BatchEnd::default(),
        }
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.start.run
    }

    /// How it began.
    pub fn start(&self) -> &RunStart {
        &self.start
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<&OutcomeRecord> {
        self.ended.as_ref()
    }

    /// Model messages so far.
    pub fn turns(&self) -> u32 {
        self.totals.turns
    }

    /// Sums over this run.
    pub fn totals(&self) -> &Arc<Totals> {
        &self.totals
    }

    /// What its children did, each with its own children, as far as they have reported it.
    pub fn children(&self) -> &BTreeMap<RunId, Arc<Totals>> {
        &self.children
    }

    /// Sums over this run and its children.
    pub(crate) fn tree_totals(&self) -> Totals {
        let mut sum = (*self.totals).clone();
        self.children.values().for_each(|child| sum.add(child));
        sum
    }

    /// The calls that have a result, in the order in which they ended.
    pub fn calls(&self) -> &Arc<Vec<Arc<CallRecord>>> {
        &self.calls
    }

    /// The calls of the last message that have none.
    pub fn open_calls(&self) -> &[OpenCall] {
        &self.open
    }

    /// The questions that wait for an answer, in call order.
    pub fn pauses(&self) -> impl Iterator<Item = &Pause> {
        self.open.iter().filter_map(|open| match &open.state {
            CallState::Paused(pause) => Some(pause),
            _ => None,
        })
    }

    pub(super) fn apply(&mut self, entry: &Entry, inputs: &HashMap<CallId, EffectiveInput>) {
        match entry {
            Entry::Admitted { prompt, .. } => {
                self.admitted = true;
                self.prompt.clone_from(prompt);
            }
            Entry::Model(step) => self.answered(step),
            Entry::CallInput { call, .. } => {
                if let (Some(open), Some(effective)) = (self.open_mut(call), inputs.get(call)) {
                    open.call.name.clone_from(&effective.tool);
                    open.call.input.clone_from(&effective.input);
                }
            }
            Entry::CallStarted { call } => {
                if let Some(open) = self.open_mut(call) {
                    open.state = CallState::Started;
                }
            }
            Entry::CallEnded {
                message,
                status,
                digest,
                ends_run,
                ..
            } => {
                if let Some(result) = message.as_tool() {
                    self.ended(&result.call, *status, digest.clone(), *ends_run);
                }
            }
            Entry::Paused { pauses } => {
                for pause in pauses {
                    if let Some(open) = self.open_mut(&pause.call) {
                        if pause.asked_by == Asker::Tool {
                            // A new question: the answer to the one before is used up.
                            open.answer = None;
                        }
                        open.state = CallState::Paused(pause.clone());
                    }
                }
            }
            Entry::Answered { answer } => self.decided(&answer.pause, &answer.decision),
            Entry::State {
                key,
                scope: Scope::Run,
                value,
            } => {
                self.slots.insert(key.clone(), Arc::new(value.clone()));
            }
            Entry::InternalCall { by, usage, .. } => Arc::make_mut(&mut self.totals).add_internal(by, *usage),
            Entry::FailedAttempts { attempts, usage } => {
                Arc::make_mut(&mut self.totals).add_failed(*attempts, *usage);
            }
            Entry::ChildSpent { run, totals, .. } => {
                self.children.insert(run.clone(), totals.clone());
            }
            Entry::Ending { by, ending } => self.ending = Some((by.clone(), ending.clone())),
            Entry::RunEnded { run, outcome } if *run == self.start.run => self.ended = Some(outcome.clone()),
            _ => {}
        }
    }

    fn open_mut(&mut self, call: &CallId) -> Option<&mut OpenCall> {
        self.open.iter_mut().find(|open| open.call.id == *call)
    }

    fn answered(&mut self, step: &ModelStep) {
        Arc::make_mut(&mut self.totals).add_model(step.attempts, step.usage());
        self.offer = step.offer.clone();
        self.spoke |= step.last_word;
        self.structured.clone_from(&step.structured);
        self.open = step.message.calls().cloned().map(OpenCall::undecided).collect();
        self.batch = BatchEnd {
            calls: u32::try_from(self.open.len()).unwrap_or(u32::MAX),
            ..BatchEnd::default()
        };
        self.last = if self.open.is_empty() && !step.ask_again && !step.is_paused() {
            Last::Answer
        } else {
            Last::Input
        };
        self.asked_again = self.open.is_empty() && step.ask_again;
        if self.open.is_empty() {
            self.invalid_in_a_row = 0;
        }
    }

    fn ended(&mut self, call: &CallId, status: CallStatus, digest: Option<String>, ends_run: bool) {
        let Some(position) = self.open.iter().position(|open| open.call.id == *call) else {
            return;
        };
        let ToolCall {
            id, name: tool, input, ..
        } = self.open.remove(position).call;
        if status.executed() {
            Arc::make_mut(&mut self.totals).add_call(&tool);
        }
        let turn = self.turns();
        let record = CallRecord {
            id,
            run: self.start.run.clone(),
            turn,
            tool,
            input,
            digest,
            status,
        };
        Arc::make_mut(&mut self.calls).push(Arc::new(record));
        self.batch.ends_run += u32::from(ends_run);
        self.batch.invalid += u32::from(status == CallStatus::Invalid);
        if self.open.is_empty() {
            self.last = if self.batch.ends_run == self.batch.calls {
                Last::EndingResults
            } else {
                Last::Input
            };
            self.invalid_in_a_row = if self.batch.invalid == self.batch.calls {
                self.invalid_in_a_row + 1
            } else {
                0
            };
        }
    }

    fn decided(&mut self, pause: &PauseId, decision: &Decision) {
        let asked = self
            .open
            .iter_mut()
            .find(|open| matches!(&open.state, CallState::Paused(p) if p.id == *pause));
        let Some(open) = asked else { return };
        let CallState::Paused(pause) = std::mem::replace(&mut open.state, CallState::Undecided) else {
            return;
        };
        if pause.asked_by == Asker::Tool {
            open.answer = Some(decision.clone());
        }
        if let (Asker::Gates(askers), Some((tool, input))) = (&pause.asked_by, approved(&pause, decision)) {
            open.approved.push(Approval {
                askers: askers.clone(),
                tool,
                input,
            });
        }
        open.state = CallState::Answered(pause, decision.clone());
    }
}

/// What a decision lets run.
fn approved(pause: &Pause, decision: &Decision) -> Option<(String, Value)> {
    match decision {
        Decision::Approve => Some((pause.tool.clone(), pause.input.clone())),
        // A person who edits a call lets it run as edited. Another tool has a policy of its own, which is asked.
        Decision::Edit { name, input } if name.as_ref().is_none_or(|name| *name == pause.tool) => {
            Some((pause.tool.clone(), input.clone()))
        }
        _ => None,
    }
}
