//! Random scripts, and the world in which they are played.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use catena::AgentBuilder;
use catena::agent::{Invocation, Limits, OnInterrupt, OnMaxTurns};
use catena::checkpoint::{Checkpointer, MemoryCheckpointer, StoreError};
use catena::interrupt::{Asker, Decision, DecisionKind, InterruptRequest, Pause};
use catena::message::ToolCall;
use catena::prelude::*;
use catena::record::Entry;
use catena::state::Slot;
use catena::testing::{Reply, say};
use catena::tool::{FnTool, ToolSpec, json_tool};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Watch, Watched, by_turn};

pub(super) const THREAD: &str = "t";
/// A gate's decision is chosen by the remainder of the input.
pub(super) const COLUMNS: usize = 8;
/// Enough to come to an end: a resume per pause, and some for disturbances.
const STEPS: usize = 60;
const COUNT: Slot<u32> = Slot::run("test.count");

/// What the model says and how the agent is bounded.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// The calls of each answer: the tool, by its place in [`TOOLS`], and its number.
    pub(super) turns: Vec<Vec<(usize, u8)>>,
    pub(super) max_turns: u32,
    pub(super) fails_at_max: bool,
    pub(super) parallel: usize,
    /// Whether all questions of a pause are answered at once.
    pub(super) all_at_once: bool,
}

/// `unknown` is not offered, and `misfit` gets an input that does not fit.
const TOOLS: [&str; 8] = ["ok", "ok", "lane", "fails", "panics", "asks", "unknown", "misfit"];

/// What a gate does, by column.
pub(super) type Table = [Does; COLUMNS];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Does {
    Allow,
    Block,
    Interrupt,
    Replace,
    Abort(Last),
    Fail,
    Panic,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Last {
    Silent,
    Says,
    Model,
    Fails,
}

/// What happens to the run, at an append or a turn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Disturbance {
    None,
    CancelBefore(usize),
    CancelAfter(usize),
    StoreFails(usize),
    /// The entries are there, and the process is told that they are not.
    AcknowledgementLost(usize),
    ModelFails(usize),
    /// A new input in place of an answer.
    InputAtPause,
}

pub(super) fn scripts() -> impl Strategy<Value = Script> {
    let call = (0..TOOLS.len(), any::<u8>());
    let turns = prop::collection::vec(prop::collection::vec(call, 0..4), 0..5);
    (turns, 1..7u32, any::<bool>(), 1..4usize, any::<bool>()).prop_map(
        |(turns, max_turns, fails_at_max, parallel, all_at_once)| Script {
            turns,
            max_turns,
            fails_at_max,
            parallel,
            all_at_once,
        },
    )
}

pub(super) fn gate_tables() -> impl Strategy<Value = Vec<Table>> {
    let last = prop_oneof![
        Just(Last::Silent),
        Just(Last::Says),
        Just(Last::Model),
        Just(Last::Fails)
    ];
    let does = prop_oneof![
        6 => Just(Does::Allow),
        2 => Just(Does::Block),
        2 => Just(Does::Interrupt),
        2 => Just(Does::Replace),
        1 => last.prop_map(Does::Abort),
        1 => Just(Does::Fail),
        1 => Just(Does::Panic),
    ];
    prop::collection::vec(prop::array::uniform8(does), 0..4)
}

pub(super) fn disturbances() -> impl Strategy<Value = Disturbance> {
    prop_oneof![
        2 => Just(Disturbance::None),
        2 => (1..20usize).prop_map(Disturbance::CancelBefore),
        2 => (1..20usize).prop_map(Disturbance::CancelAfter),
        2 => (1..20usize).prop_map(Disturbance::StoreFails),
        2 => (1..20usize).prop_map(Disturbance::AcknowledgementLost),
        1 => (0..4usize).prop_map(Disturbance::ModelFails),
        1 => Just(Disturbance::InputAtPause),
    ]
}

/// A gate that decides by its table.
pub(super) struct TableGate {
    pub(super) name: String,
    pub(super) priority: u16,
    pub(super) table: Table,
}

#[middleware]
impl Middleware for TableGate {
    fn name(&self) -> &str {
        &self.name
    }

    fn priority(&self) -> Priority {
        Priority(self.priority)
    }

    async fn before_tool_call(&self, _: &Turn, call: &ToolCall) -> Result<ToolDecision> {
        let n = number(&call.input);
        Ok(match self.table[n % COLUMNS] {
            Does::Allow => ToolDecision::Allow,
            Does::Block => ToolDecision::block("blocked"),
            Does::Interrupt => ToolDecision::Interrupt(InterruptRequest::approval("may it?").allow([
                DecisionKind::Approve,
                DecisionKind::Edit,
                DecisionKind::Reject,
                DecisionKind::Respond,
            ])),
            // In the same column, so that it is content with what it put in place.
            Does::Replace => {
                let mut new = call.clone();
                new.input["n"] = json!(n % 100 + 100 * COLUMNS);
                ToolDecision::Replace(new)
            }
            Does::Abort(last) => ToolDecision::AbortLoop(match last {
                Last::Silent => Ending::stopped("table", "the table says so"),
                Last::Says => Ending::stopped("table", "the table says so").say("That is all."),
                Last::Model => Ending::stopped("table", "the table says so").let_model_answer(),
                Last::Fails => Ending::failed("table", "the table says so"),
            }),
            Does::Fail => return Err(Error::other("the gate failed")),
            Does::Panic => panic_quietly(),
        })
    }
}

/// A panic that is caught anyway need not fill the output.
fn panic_quietly() -> ! {
    std::panic::resume_unwind(Box::new("a test panics"))
}

fn number(input: &Value) -> usize {
    usize::try_from(input["n"].as_u64().unwrap_or(0)).unwrap()
}

/// Does what the disturbance says.
#[derive(Clone)]
struct Disturber {
    disturbance: Disturbance,
    cancel: Arc<Mutex<CancellationToken>>,
}

impl Disturber {
    fn cancel(&self) {
        self.cancel.lock().unwrap().cancel();
    }

    fn failed() -> StoreError {
        StoreError::Other {
            context: "testing",
            source: "the disk went away".into(),
        }
    }
}

#[async_trait]
impl Watch for Disturber {
    async fn before(&self, append: usize, _: &[Arc<Entry>]) -> Result<(), StoreError> {
        match self.disturbance {
            Disturbance::StoreFails(at) if at == append => return Err(Self::failed()),
            Disturbance::CancelBefore(at) if at == append => self.cancel(),
            _ => {}
        }
        // Someone else gets a turn, so that what is cancelled is dropped here.
        tokio::task::yield_now().await;
        Ok(())
    }

    async fn after(&self, append: usize, _: &[Arc<Entry>]) -> Result<(), StoreError> {
        match self.disturbance {
            Disturbance::AcknowledgementLost(at) if at == append => return Err(Self::failed()),
            Disturbance::CancelAfter(at) if at == append => self.cancel(),
            _ => {}
        }
        tokio::task::yield_now().await;
        Ok(())
    }
}

/// A store, an agent over it, and what its tools did.
pub(super) struct World {
    script: Script,
    gates: Vec<Table>,
    priorities: Vec<u16>,
    disturber: Disturber,
    store: Arc<dyn Checkpointer>,
    executed: Arc<Mutex<Vec<(String, usize)>>>,
    /// The calls whose tools did something.
    worked: Arc<Mutex<Vec<String>>>,
    /// Whether each step has an agent of its own, as after a restart.
    restarts: bool,
}

impl World {
    pub(super) fn new(script: Script, gates: Vec<Table>, disturbance: Disturbance) -> Self {
        let cancel = Arc::default();
        let disturber = Disturber { disturbance, cancel };
        Self {
            script,
            priorities: (0..gates.len()).map(|n| 500 + u16::try_from(n).unwrap()).collect(),
            gates,
            store: Arc::new(Watched::new(MemoryCheckpointer::new(), disturber.clone())),
            disturber,
            executed: Arc::default(),
            worked: Arc::default(),
            restarts: false,
        }
    }

    /// With the gates in another order.
    pub(super) fn ordered(mut self, priorities: Vec<u16>) -> Self {
        self.priorities = priorities;
        self
    }

    pub(super) fn restarting(mut self) -> Self {
        self.restarts = true;
        self
    }

    pub(super) async fn stored(&self) -> Vec<Arc<Entry>> {
        self.store.load(&THREAD.into(), 0).await.unwrap()
    }

    /// What tools did, in no particular order: those of one message work side by side.
    pub(super) fn executed(&self) -> Vec<(String, usize)> {
        let mut executed = self.executed.lock().unwrap().clone();
        executed.sort();
        executed
    }

    /// Calls whose tools worked more than once; none of them may.
    pub(super) fn repeated(&self) -> Vec<String> {
        let mut worked = self.worked.lock().unwrap().clone();
        worked.sort();
        worked
            .windows(2)
            .filter(|pair| pair[0] == pair[1])
            .map(|pair| pair[0].clone())
            .collect()
    }

    /// Plays the script to its end: pauses are answered, errors of the store are followed by a resume.
    pub(super) async fn play(&self, add: impl Fn(AgentBuilder) -> AgentBuilder) {
        let mut agent = self.agent(&add);
        let mut next: Invocation = Input::new("go").thread(THREAD).into();
        let new_input = AtomicBool::new(matches!(self.disturber.disturbance, Disturbance::InputAtPause));
        for _ in 0..STEPS {
            if self.restarts {
                agent = self.agent(&add);
            }
            let handle = agent.start(next);
            *self.disturber.cancel.lock().unwrap() = handle.cancellation();
            next = match handle.outcome().await {
                Ok(result) => match result.outcome {
                    Outcome::Interrupted(pauses) if new_input.swap(false, Ordering::Relaxed) => {
                        assert!(!pauses.is_empty());
                        Input::new("never mind")
                            .thread(THREAD)
                            .on_interrupt(OnInterrupt::Cancel)
                            .into()
                    }
                    Outcome::Interrupted(pauses) => self.answer(&pauses).into(),
                    _ => return,
                },
                // The input was not admitted, or the run is there to be resumed.
                Err(Error::Store(_)) if self.stored().await.is_empty() => Input::new("go").thread(THREAD).into(),
                Err(Error::Store(_)) => Resume::thread(THREAD).into(),
                // The last append was done, and its acknowledgement lost.
                Err(Error::NotInterrupted(_)) => return,
                Err(Error::Panic(what)) if what == "the run" => panic!("the run panicked"),
                Err(_) => return,
            };
        }
        // Gates that ask again and again. A person gives up.
        assert!(agent.cancel(&THREAD.into()).await.unwrap());
    }

    fn answer(&self, pauses: &[Pause]) -> Resume {
        let answered = pauses
            .iter()
            .take(if self.script.all_at_once { pauses.len() } else { 1 });
        answered.fold(Resume::thread(THREAD), |resume, pause| {
            resume.answer(pause.id.clone(), decision(pause))
        })
    }

    fn agent(&self, add: &impl Fn(AgentBuilder) -> AgentBuilder) -> Agent {
        let (script, disturbance) = (self.script.clone(), self.disturber.disturbance);
        let model = by_turn(move |turn| match disturbance {
            Disturbance::ModelFails(at) if at == turn => Reply::error(500, "out of order"),
            _ => reply(&script, turn),
        });
        let limits = Limits {
            max_turns: self.script.max_turns,
            on_max_turns: if self.script.fails_at_max {
                OnMaxTurns::Error
            } else {
                OnMaxTurns::Answer
            },
            parallel_tools: self.script.parallel,
            ..Limits::default()
        };
        let gates = self
            .gates
            .iter()
            .zip(&self.priorities)
            .enumerate()
            .map(|(n, (table, priority))| TableGate {
                name: format!("gate-{n}"),
                priority: *priority,
                table: *table,
            });
        let builder = ["ok", "lane", "fails", "panics", "asks", "misfit"]
            .into_iter()
            .fold(Agent::builder(model), |builder, name| builder.tool(self.tool(name)));
        let builder = gates.fold(builder, AgentBuilder::with);
        add(builder.limits(limits).store(self.store.clone())).build().unwrap()
    }

    fn tool(&self, name: &'static str) -> FnTool {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let spec = ToolSpec::new(name, "Does what its name says.", schema);
        let spec = if name == "lane" { spec.lane("one") } else { spec };
        let (executed, worked) = (self.executed.clone(), self.worked.clone());
        json_tool(spec, move |input: Value, context: ToolContext| {
            let (executed, worked) = (executed.clone(), worked.clone());
            async move {
                let n = number(&input);
                context.run().update(&COUNT, |count| *count += 1).unwrap();
                if name == "asks" && context.answer().is_none() {
                    return Ok(ToolOutcome::Interrupt(InterruptRequest::question("well?")));
                }
                worked.lock().unwrap().push(context.call().to_string());
                for _ in 0..n % 3 {
                    tokio::task::yield_now().await;
                }
                executed.lock().unwrap().push((name.to_owned(), n));
                match name {
                    "fails" => Err(ToolError::new("it failed")),
                    "panics" => panic_quietly(),
                    _ => Ok(ToolOutput::text(format!("{name} {n}")).into()),
                }
            }
        })
    }
}

fn reply(script: &Script, turn: usize) -> Reply {
    let calls = script.turns.get(turn).map(Vec::as_slice).unwrap_or_default();
    let call = |reply: Reply, (tool, n): &(usize, u8)| {
        let name = TOOLS[*tool];
        let input = if name == "misfit" {
            json!({"n": "many"})
        } else {
            json!({"n": n})
        };
        reply.and_call(name, input)
    };
    calls.iter().fold(say(format!("answer {turn}")), call)
}

/// A person who decides by the number, and the same way every time.
fn decision(pause: &Pause) -> Decision {
    let n = number(&pause.input);
    match (n / COLUMNS) % 4 {
        _ if pause.asked_by == Asker::Tool => Decision::Respond { value: json!("well") },
        // An approval holds for the very input that was approved, so what else is in it stays.
        0 => {
            let mut input = pause.input.clone();
            input["n"] = json!(n + COLUMNS + 1);
            Decision::Edit { name: None, input }
        }
        1 => Decision::Reject { message: None },
        2 => Decision::Respond {
            value: json!("a person's result"),
        },
        _ => Decision::Approve,
    }
}
