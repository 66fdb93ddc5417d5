//! What the killed process does: an agent, a client that drives it to the end from wherever it is, and the points where it can be killed.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use catena::agent::Invocation;
use catena::checkpoint::StoreError;
use catena::interrupt::{Decision, InterruptRequest, Pause};
use catena::prelude::*;
use catena::record::{Entry, OutcomeRecord};
use catena::state::Slot;
use catena::testing::{Reply, say};
use catena::tool::{FnTool, json_tool};
use serde_json::{Value, json};

use crate::support::{Watch, Watched, by_turn, spec, sqlite};

/// How often the model was about to be asked, by the record.
pub(super) const VISITS: Slot<u32> = Slot::thread("test.visits");
pub(super) const THREAD: &str = "t";
/// What the client says, in order.
pub(super) const INPUTS: [&str; 2] = ["go", "again"];
/// How often the model answers.
pub(super) const TURNS: usize = 6;

/// Where the database is, and two files that only grow: what was done, and what was acknowledged.
#[derive(Clone)]
pub(super) struct Place(PathBuf);

impl Place {
    pub(super) fn new(dir: &Path) -> Self {
        Self(dir.to_owned())
    }

    pub(super) fn dir(&self) -> &Path {
        &self.0
    }

    pub(super) fn deeds(&self) -> Vec<String> {
        self.lines("deeds")
    }

    /// Entries by position.
    pub(super) fn acknowledged(&self) -> Vec<Entry> {
        self.lines("acknowledged")
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn open(&self, file: &str) -> File {
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.0.join(file))
            .unwrap()
    }

    fn did(&self, deed: &str) {
        self.open("deeds").write_all(format!("{deed}\n").as_bytes()).unwrap();
    }
}

/// The points that the process passes, and the one where it waits to be killed; 0 is none.
pub(super) struct Points {
    kill_at: usize,
    passed: AtomicUsize,
}

impl Points {
    pub(super) fn new(kill_at: usize) -> Self {
        let passed = AtomicUsize::new(0);
        Self { kill_at, passed }
    }

    pub(super) fn passed(&self) -> usize {
        self.passed.load(Ordering::SeqCst)
    }

    fn pass(&self, what: &str) {
        if self.passed.fetch_add(1, Ordering::SeqCst) + 1 == self.kill_at {
            // Not `println!`: it would be caught by the test harness.
            let mut out = std::io::stdout().lock();
            writeln!(out, "\nnow {what}").unwrap();
            out.flush().unwrap();
            drop(out);
            loop {
                std::thread::park();
            }
        }
    }
}

/// Kills before and after every append, and writes down what was acknowledged.
struct AtAppends {
    place: Place,
    points: Arc<Points>,
}

#[async_trait]
impl Watch for AtAppends {
    async fn before(&self, append: usize, _: &[Arc<Entry>]) -> Result<(), StoreError> {
        self.points.pass(&format!("before append {append}"));
        Ok(())
    }

    async fn after(&self, append: usize, entries: &[Arc<Entry>]) -> Result<(), StoreError> {
        let lines: String = entries
            .iter()
            .map(|entry| serde_json::to_string(entry).unwrap() + "\n")
            .collect();
        self.place.open("acknowledged").write_all(lines.as_bytes()).unwrap();
        self.points.pass(&format!("after append {append}"));
        Ok(())
    }
}

/// Does everything that is left to do.
pub(super) async fn serve(place: &Place, points: Arc<Points>) {
    let store = Watched::new(
        sqlite(place.dir()).await,
        AtAppends {
            place: place.clone(),
            points: points.clone(),
        },
    );
    let agent = agent(place, &points).store(store).build().unwrap();
    while let Some(next) = next(&agent).await {
        agent.run(next).await.unwrap();
        points.pass("a run returned");
    }
}

/// What a client does that finds the thread as it is.
async fn next(agent: &Agent) -> Option<Invocation> {
    let thread = match agent.thread(&THREAD.into()).await {
        Ok(thread) => thread,
        Err(Error::NoThread(_)) => return Some(Input::new(INPUTS[0]).thread(THREAD).into()),
        Err(error) => panic!("{error}"),
    };
    let run = thread.run().unwrap();
    if run.outcome().is_none() {
        let resume = Resume::thread(THREAD);
        // One at a time, the first one first.
        let answered = run.pauses().next().map(|pause| (pause.id.clone(), decision(pause)));
        let resume = answered
            .into_iter()
            .fold(resume, |resume, (id, decision)| resume.answer(id, decision));
        return Some(resume.into());
    }
    let said = |text: &&str| thread.messages().iter().any(|message| message.text() == **text);
    let unsaid = INPUTS.into_iter().find(|text| !said(text));
    unsaid.map(|text| Input::new(text).thread(THREAD).into())
}

fn decision(pause: &Pause) -> Decision {
    match pause.input["x"].as_str().unwrap() {
        "f" | "g" => Decision::Respond { value: json!("blue") },
        "j" => Decision::Reject {
            message: Some("not today".into()),
        },
        "k" => Decision::Edit {
            name: None,
            input: json!({"x": "k2"}),
        },
        _ => Decision::Approve,
    }
}

/// Two free calls beside a repeatable one; an approval beside a free call; two tools that ask beside one that does not; three approvals
/// at once. The id of a call is its input.
fn script(turn: usize) -> Reply {
    let calls: &[(&str, &str)] = match turn {
        0 => &[("note", "a"), ("look", "b"), ("note", "c")],
        1 => &[("send", "d"), ("note", "e")],
        2 => &[("ask", "f"), ("wonder", "g"), ("look", "h")],
        3 => &[("send", "i"), ("send", "j"), ("send", "k")],
        _ => return say(format!("answer {turn}")),
    };
    calls.iter().fold(Reply::nothing(), |reply, (tool, x)| {
        reply.and_call_id(*x, *tool, json!({"x": x}))
    })
}

fn agent(place: &Place, points: &Arc<Points>) -> catena::AgentBuilder {
    let (p, k) = (place.clone(), points.clone());
    let model = by_turn(move |turn| {
        p.did(&format!("model {turn}"));
        k.pass("the model is asked");
        script(turn)
    });
    let approval = catena::middleware::gate_fn("approval", |_, call| {
        Ok(match call.name == "send" {
            true => ToolDecision::Interrupt(InterruptRequest::approval("send it?")),
            false => ToolDecision::Allow,
        })
    });
    Agent::builder(model)
        .tool(worker("note", false, place, points))
        .tool(worker("look", true, place, points))
        .tool(worker("send", false, place, points))
        .tool(asker("ask", false, place, points))
        .tool(asker("wonder", true, place, points))
        .with(approval)
        .with(Witness { place: place.clone() })
}

/// A tool with an effect that can be seen afterwards.
fn worker(name: &'static str, repeatable: bool, place: &Place, points: &Arc<Points>) -> FnTool {
    let (place, points) = (place.clone(), points.clone());
    json_tool(marked(name, repeatable), move |input: Value, _| {
        let (place, points) = (place.clone(), points.clone());
        async move {
            let x = input["x"].as_str().unwrap().to_owned();
            points.pass("a tool begins");
            place.did(&format!("work {x}"));
            points.pass("a tool has worked");
            format!("did {x}")
        }
    })
}

/// A tool that asks a person first.
fn asker(name: &'static str, repeatable: bool, place: &Place, points: &Arc<Points>) -> FnTool {
    let (place, points) = (place.clone(), points.clone());
    json_tool(marked(name, repeatable), move |input: Value, context: ToolContext| {
        let (place, points) = (place.clone(), points.clone());
        async move {
            let x = input["x"].as_str().unwrap().to_owned();
            let Some(Decision::Respond { value }) = context.answer() else {
                place.did(&format!("asked {x}"));
                points.pass("a tool has asked");
                return ToolOutcome::Interrupt(InterruptRequest::question("which colour?"));
            };
            place.did(&format!("work {x}"));
            points.pass("a tool has worked on an answer");
            ToolOutput::text(value.as_str().unwrap()).into()
        }
    })
}

fn marked(name: &str, repeatable: bool) -> catena::tool::ToolSpec {
    match repeatable {
        true => spec(name).repeatable(),
        false => spec(name),
    }
}

/// Sees runs begin and end, and counts in a slot.
struct Witness {
    place: Place,
}

#[middleware]
impl Middleware for Witness {
    fn name(&self) -> &str {
        "witness"
    }

    async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
        self.place.did(&format!("begin {}", intake.text()));
        Ok(Flow::Continue)
    }

    async fn before_model(&self, turn: &mut Turn) -> Result<Flow> {
        turn.run().update(&VISITS, |visits| *visits += 1)?;
        Ok(Flow::Continue)
    }

    async fn after_agent(&self, run: &RunContext, _: &OutcomeRecord) -> Result<()> {
        let messages = run.messages();
        let input = messages.iter().rev().find(|m| m.role() == catena::message::Role::User);
        self.place
            .did(&format!("end {}", input.map(|m| m.text()).unwrap_or_default()));
        Ok(())
    }
}
