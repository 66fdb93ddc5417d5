//! Runs below a run: what they spend is counted for good, and what they say is heard above.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catena::checkpoint::{Checkpointer, MemoryCheckpointer};
use catena::event::{EventKind, RunEvent};
use catena::interrupt::InterruptRequest;
use catena::middleware::gate_fn;
use catena::model::Model;
use catena::prelude::*;
use catena::record::{Entry, OutcomeRecord};
use catena::testing::{Reply, call, say, scripted};
use catena::tool::FnTool;
use serde_json::json;

use crate::kit::{Log, echo, text, tool, watch};

/// A tool that runs an agent as a child, on a thread of its own.
fn task(child: &Agent) -> FnTool {
    let child = child.clone();
    tool("task", move |_, context: ToolContext| {
        let child = child.clone();
        async move {
            let done = child
                .run(Input::new("the task").thread("child").child_of(context.run()))
                .await;
            done.map(|result| result.text())
                .map_err(|error| ToolError::new(error.to_string()))
        }
    })
}

/// Notes what the tree had done when the run ended.
struct Spent(Log);

#[middleware]
impl Middleware for Spent {
    fn name(&self) -> &str {
        "spent"
    }
    async fn after_agent(&self, run: &RunContext, _: &OutcomeRecord) -> Result<()> {
        let counts = run.counts();
        let (own, tree) = (&counts.run, &counts.tree);
        self.0.add(format!(
            "{} turns {}/{} echo {}/{} tokens {}/{}",
            run.agent(),
            own.turns,
            tree.turns,
            own.executed("echo"),
            tree.executed("echo"),
            own.usage.total(),
            tree.usage.total(),
        ));
        Ok(())
    }
}

fn ask_before(name: &'static str) -> impl Middleware {
    gate_fn("ask", move |_, call| match call.name == name {
        true => Ok(ToolDecision::Interrupt(InterruptRequest::approval("may it?"))),
        false => Ok(ToolDecision::Allow),
    })
}

/// A family on one store; a new one each time, as after a restart.
fn family(parent: impl Model, child: impl Model, store: &Arc<dyn Checkpointer>, log: &Log) -> (Agent, Agent) {
    let child = Agent::builder(child)
        .name("child")
        .tool(echo())
        .with(Spent(log.clone()))
        .store(store.clone())
        .build()
        .unwrap();
    let parent = Agent::builder(parent)
        .name("parent")
        .tool(task(&child))
        .tool(echo())
        .with(ask_before("echo"))
        .with(Spent(log.clone()))
        .store(store.clone())
        .build()
        .unwrap();
    (parent, child)
}

/// What a child did before the parent was resumed is counted in the tree after it, and journalled with the parent's own step.
#[tokio::test]
async fn the_tree_remembers_what_children_spent() {
    let (store, log): (Arc<dyn Checkpointer>, _) = (Arc::new(MemoryCheckpointer::new()), Log::default());
    let parent = scripted([call("task", json!({})).usage(1, 1), call("echo", text("x")).usage(1, 1)]);
    let child = scripted([call("echo", text("y")).usage(10, 10), say("did it").usage(10, 10)]);
    let (agent, _) = family(parent, child, &store, &log);
    let paused = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(paused.pauses().len(), 1);
    assert_eq!(log.take(), ["child turns 2/3 echo 1/1 tokens 40/42"]);

    let entries = store.load(&"t".into(), 0).await.unwrap();
    let result = entries
        .iter()
        .position(|entry| matches!(&**entry, Entry::CallEnded { .. }));
    let spent = entries
        .iter()
        .position(|entry| matches!(&**entry, Entry::ChildSpent { .. }));
    assert_eq!(spent, result.map(|result| result + 1));

    let (agent, _) = family(scripted([say("done").usage(1, 1)]), scripted([]), &store, &log);
    agent.run(Resume::thread("t").approve_all()).await.unwrap();
    assert_eq!(log.take(), ["parent turns 3/5 echo 1/2 tokens 6/46"]);
}

/// A child that goes on below the parent that started it joins with what it did, once, whether or not the parent had heard of that.
#[tokio::test]
async fn a_child_that_is_resumed_counts_once() {
    let log = Log::default();
    let child = Agent::builder(scripted([
        call("echo", text("y")).usage(10, 10),
        say("did it").usage(10, 10),
    ]))
    .name("child")
    .tool(echo())
    .with(ask_before("echo"))
    .build()
    .unwrap();
    let (first, again) = (task(&child), {
        let child = child.clone();
        tool("again", move |_, context: ToolContext| {
            let child = child.clone();
            async move {
                let resume = Resume::thread("child").approve_all().child_of(context.run());
                child.run(resume).await.unwrap().text()
            }
        })
    });
    let model = scripted([
        call("task", json!({})).usage(1, 1),
        call("again", json!({})).usage(1, 1),
        say("done").usage(1, 1),
    ]);
    let parent = Agent::builder(model)
        .name("parent")
        .tool(first)
        .tool(again)
        .with(Spent(log.clone()))
        .build()
        .unwrap();
    parent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(log.take(), ["parent turns 3/5 echo 0/1 tokens 6/46"]);
    let children = parent.thread(&"t".into()).await.unwrap();
    let totals: Vec<_> = children
        .run()
        .unwrap()
        .children()
        .values()
        .map(|t| t.usage.total())
        .collect();
    assert_eq!(totals, [40], "the last report of a child stands for it");
}

/// Notes the agent of every event it observes.
struct Hears(&'static str, Log);

#[middleware]
impl Middleware for Hears {
    fn name(&self) -> &str {
        self.0
    }
    fn observe(&self, _: &RunContext, event: &RunEvent) {
        self.1.add(format!("{} {}", self.0, event.path.join(">")));
    }
}

fn words(events: &[RunEvent]) -> String {
    let words = events.iter().filter_map(|event| match &event.kind {
        EventKind::Text { text } => Some(text.as_str()),
        _ => None,
    });
    words.collect()
}

/// Whoever watches the parent reads the child's events too, each run numbered by itself; observers see only the runs of their own chain.
#[tokio::test]
async fn children_speak_in_the_parents_stream() {
    let log = Log::default();
    let child = Agent::builder(scripted([say("from below")]))
        .name("child")
        .with(Hears("below", log.clone()))
        .build()
        .unwrap();
    let parent = Agent::builder(scripted([call("task", json!({})), say("from above")]))
        .name("parent")
        .tool(task(&child))
        .with(Hears("above", log.clone()))
        .build()
        .unwrap();
    let (events, result) = watch(&parent, Input::new("go").thread("t")).await;
    let own = result.unwrap().run;
    let (above, below): (Vec<_>, Vec<_>) = events.iter().cloned().partition(|event| event.run == own);
    assert_eq!(
        (words(&above), words(&below)),
        ("from above".into(), "from below".into())
    );
    assert!(
        above
            .iter()
            .all(|event| event.thread.as_str() == "t" && *event.path == ["parent"])
    );
    assert!(
        below
            .iter()
            .all(|e| e.thread.as_str() == "child" && *e.path == ["parent", "child"])
    );
    for run in [&above, &below] {
        let numbers: Vec<u64> = run.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
        let ends = run.iter().filter(|e| matches!(e.kind, EventKind::RunEnded { .. }));
        assert_eq!(ends.count(), 1);
    }
    assert_eq!(
        events.last().unwrap().run,
        own,
        "the child's end is not the end of the stream"
    );
    let heard = log.lines();
    let count = |line: &str| heard.iter().filter(|heard| *heard == line).count();
    assert_eq!(
        (count("above parent"), count("below parent>child")),
        (above.len(), below.len())
    );
    assert_eq!(heard.len(), events.len(), "nobody hears of another chain's run");
}

/// A grandchild is heard by whoever watches the root, though nobody watches the run between them.
#[tokio::test]
async fn grandchildren_speak_at_the_root() {
    let grandchild = Agent::builder(scripted([say("deep")])).name("c").build().unwrap();
    let deep = {
        let grandchild = grandchild.clone();
        tool("deep", move |_, context: ToolContext| {
            let grandchild = grandchild.clone();
            async move {
                let input = Input::new("deeper").child_of(context.run());
                grandchild.run(input).await.unwrap().text()
            }
        })
    };
    let child = Agent::builder(scripted([call("deep", json!({})), say("middle")]))
        .name("b")
        .tool(deep);
    let child = child.build().unwrap();
    let root = Agent::builder(scripted([call("task", json!({})), say("top")]))
        .name("a")
        .tool(task(&child));
    let (events, _) = watch(&root.build().unwrap(), "go").await;
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    for event in &events {
        if let EventKind::Text { text } = &event.kind {
            said.entry(event.path.join(">")).or_default().push_str(text);
        }
    }
    let expected = [("a", "top"), ("a>b", "middle"), ("a>b>c", "deep")];
    assert_eq!(
        said,
        expected.map(|(path, text)| (path.to_owned(), text.to_owned())).into()
    );
}

/// An answer of this many words, each in two deltas.
fn long(words: usize) -> Reply {
    (1..words).fold(say("ab"), |reply, _| reply.and_say("ab"))
}

/// A reader that falls behind holds up the child as it would the parent: nothing of what a model says is lost. One that goes away does
/// not.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_of_the_parent_slows_the_child() {
    let child = Agent::builder(scripted([long(2_000), long(2_000)]))
        .name("child")
        .build()
        .unwrap();
    let replies = [
        call("task", json!({})),
        say("done"),
        call("task", json!({})),
        say("done"),
    ];
    let parent = Agent::builder(scripted(replies)).tool(task(&child)).build().unwrap();
    let mut handle = parent.start("go");
    // Long enough for every task to have run out of things to do.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let record = child.thread(&"child".into()).await.unwrap();
    assert_eq!(record.messages().len(), 1, "the child's answer is still under way");
    let mut events = Vec::new();
    while let Some(event) = handle.next().await {
        assert!(!matches!(event.kind, EventKind::Lagged { .. }));
        events.push(event);
    }
    assert_eq!(words(&events).len(), 4_000 + 4);
    assert_eq!(handle.outcome().await.unwrap().text(), "done");

    let mut handle = parent.start("again");
    handle.next().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(handle.outcome().await.unwrap().text(), "done");
}
