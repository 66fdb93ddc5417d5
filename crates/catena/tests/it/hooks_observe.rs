//! Events: every kind on the wire, and the middlewares that observe them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use catena::event::{EventKind, RunEvent};
use catena::interrupt::InterruptRequest;
use catena::middleware::{Hook, before_model_fn, gate_fn, wrap_model_fn};
use catena::prelude::*;
use catena::state::Slot;
use catena::testing::{call, say, scripted};
use serde_json::{Value, json};

use crate::kit::{Log, echo, text, tool, watch};

const SEEN: Slot<u32> = Slot::run("watcher.seen");

/// Keeps every event it sees.
#[derive(Clone, Default)]
struct Watcher(Arc<Mutex<Vec<RunEvent>>>);

#[middleware]
impl Middleware for Watcher {
    fn name(&self) -> &str {
        "watcher"
    }
    fn observe(&self, run: &RunContext, event: &RunEvent) {
        assert_eq!((run.middleware(), run.hook()), (Some("watcher"), Some(Hook::Observe)));
        self.0.lock().unwrap().push(event.clone());
    }
}

/// CORE-OBS-01: an observer sees every event that a reader sees, whether there is a reader or not.
#[tokio::test]
async fn an_observer_sees_every_event() {
    let watcher = Watcher::default();
    let agent = Agent::builder(scripted([call("echo", text("x")), say("done"), say("again")]))
        .tool(echo())
        .with(watcher.clone())
        .build()
        .unwrap();
    let (events, _) = watch(&agent, "go").await;
    assert_eq!(*watcher.0.lock().unwrap(), events);
    watcher.0.lock().unwrap().clear();
    agent.run("go").await.unwrap();
    let kinds = watcher.0.lock().unwrap().len();
    assert!(kinds > 4, "{kinds}");
}

/// CORE-OBS-02: an observer that panics does no harm to the run nor to the other observers.
#[tokio::test]
async fn a_panicking_observer_does_no_harm() {
    struct Broken;
    #[middleware]
    impl Middleware for Broken {
        fn name(&self) -> &str {
            "a_broken"
        }
        fn observe(&self, _: &RunContext, _: &RunEvent) {
            panic!("on purpose");
        }
    }
    let watcher = Watcher::default();
    let agent = Agent::builder(scripted([say("done")]))
        .with(Broken)
        .with(watcher.clone())
        .build()
        .unwrap();
    let (events, result) = watch(&agent, "go").await;
    assert_eq!(result.unwrap().text(), "done");
    assert_eq!(*watcher.0.lock().unwrap(), events);
}

/// CORE-OBS-03: an observer may tell something; it does not observe itself, and it cannot change state.
#[tokio::test]
async fn an_observer_may_speak_without_hearing_itself() {
    struct Talks;
    #[middleware]
    impl Middleware for Talks {
        fn name(&self) -> &str {
            "talks"
        }
        fn observe(&self, run: &RunContext, event: &RunEvent) {
            if let EventKind::Custom { .. } = event.kind {
                run.emit("heard", json!(event.seq));
                let error = run.update(&SEEN, |seen| *seen += 1).unwrap_err().to_string();
                assert!(error.contains("`talks`") && error.contains("`observe`"), "{error}");
            }
        }
    }
    let fails = before_model_fn("fails", |turn| {
        turn.run().emit("hello", json!(1));
        Err(Error::other("no"))
    });
    let agent = Agent::builder(scripted([say("done")]))
        .with(Talks)
        .with(crate::kit::open(fails))
        .build()
        .unwrap();
    let (events, _) = watch(&agent, Input::new("go").thread("t")).await;
    let custom: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Custom { source, name, .. } => Some(format!("{source} {name}")),
            _ => None,
        })
        .collect();
    assert_eq!(custom, ["fails hello", "talks heard"]);
    assert_eq!(agent.thread(&"t".into()).await.unwrap().slots().count(), 0);
}

/// An agent of which every kind of event can be had.
fn eventful() -> Agent {
    let noisy = tool("noisy", |_, context: ToolContext| async move {
        context.progress("half", Some(0.5));
        context.run().emit("custom", json!({"a": [1, null, "x"]}));
        context.run().warn("careful");
        context
            .run()
            .update(&SEEN, |seen| *seen += 1)
            .map_err(|error| ToolError::new(error.to_string()))
    });
    let twice = wrap_model_fn("twice", |request, next| {
        Box::pin(async move {
            if next.run().turn() == 0 {
                let _ = next.call(request.clone()).await;
            }
            next.call(request).await
        })
    });
    let ask = gate_fn("human", |_, call| {
        Ok(match call.name == "echo" {
            true => ToolDecision::Interrupt(InterruptRequest::approval("may it?").payload(json!({"k": 1}))),
            false => ToolDecision::Allow,
        })
    });
    let first = say("a")
        .and_think("hm")
        .and_call("noisy", json!({"deep": {"n": 1.5}}))
        .usage(3, 2);
    let script = [say("lost").cut(), first, call("echo", text("x")), say("done")];
    Agent::builder(scripted(script))
        .tool(noisy)
        .tool(echo())
        .with(twice)
        .with(ask)
        .build()
        .unwrap()
}

async fn all_events() -> Vec<RunEvent> {
    let agent = eventful();
    let (mut events, _) = watch(&agent, Input::new("go").thread("t")).await;
    let (resumed, result) = watch(&agent, Resume::thread("t").approve_all()).await;
    assert_eq!(result.unwrap().text(), "done");
    assert_eq!(events[0].run, resumed[0].run, "a resumed run keeps its id");
    events.extend(resumed);
    events
}

fn kind(event: &RunEvent) -> String {
    serde_json::to_value(event).unwrap()["event"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// CORE-EVENT-01: every kind of event survives the wire, and says which version wrote it.
#[tokio::test]
async fn every_kind_of_event_survives_the_wire() {
    let mut events = all_events().await;
    let lagged = RunEvent {
        kind: EventKind::Lagged { dropped: 7 },
        ..events[0].clone()
    };
    events.push(lagged);
    for event in &events {
        let line = serde_json::to_string(event).unwrap();
        assert!(!line.contains('\n'));
        let back: RunEvent = serde_json::from_str(&line).unwrap();
        assert_eq!(in_micros(&back), in_micros(event));
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["v"], RunEvent::VERSION);
        for field in ["seq", "run", "thread", "path", "event"] {
            assert!(!value[field].is_null(), "{field}: {line}");
        }
    }
    let kinds: BTreeSet<_> = events.iter().map(kind).collect();
    let all = [
        "custom",
        "interrupted",
        "lagged",
        "message",
        "middleware",
        "model_reset",
        "model_started",
        "reasoning",
        "run_ended",
        "run_started",
        "state_changed",
        "text",
        "tool_call_delta",
        "tool_ended",
        "tool_progress",
        "tool_started",
        "usage",
        "warning",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

/// The wire counts in microseconds.
fn in_micros(event: &RunEvent) -> RunEvent {
    let mut event = event.clone();
    let whole =
        |duration: &mut Duration| *duration = Duration::from_micros(u64::try_from(duration.as_micros()).unwrap());
    match &mut event.kind {
        EventKind::Middleware { duration_us, .. } => whole(duration_us),
        EventKind::ToolEnded {
            duration_us: Some(duration),
            ..
        } => whole(duration),
        _ => {}
    }
    event
}

/// CORE-EVENT-02: a run's events are numbered from 0 without gaps, and end with its end.
#[tokio::test]
async fn events_are_numbered_and_end_with_the_run() {
    let log = Log::default();
    let agent = eventful();
    for invocation in [
        Input::new("go").thread("t").into(),
        catena::agent::Invocation::from(Resume::thread("t").approve_all()),
    ] {
        let (events, _) = watch(&agent, invocation).await;
        let numbers: Vec<_> = events.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
        log.add(kind(&events[0]));
        log.add(kind(events.last().unwrap()));
    }
    assert_eq!(log.take(), ["run_started", "run_ended", "run_started", "run_ended"]);
}

/// CORE-EVENT-03: tools that work on several threads tell their progress in the order of the numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn events_of_tools_on_several_threads_are_read_in_order() {
    let noisy = tool("noisy", |_, context: ToolContext| async move {
        for n in 0..40 {
            context.progress(n.to_string(), None);
        }
    });
    let batch = catena::testing::calls((0..6).map(|_| ("noisy", json!({}))));
    let agent = Agent::builder(scripted([batch, say("done")]))
        .tool(noisy)
        .build()
        .unwrap();
    let (events, _) = watch(&agent, "go").await;
    let numbers: Vec<_> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    assert_eq!(
        events.iter().filter(|event| kind(event) == "tool_progress").count(),
        240
    );
}

/// CORE-EVENT-04: an invocation that cannot begin ends its events with the error.
#[tokio::test]
async fn an_invocation_that_cannot_begin_says_so() {
    let agent = Agent::builder(scripted([])).build().unwrap();
    let (events, result) = watch(&agent, Resume::thread("nowhere")).await;
    assert_eq!(result.unwrap_err().kind(), "no_thread");
    let [
        RunEvent {
            kind: EventKind::RunEnded {
                outcome: None,
                error: Some(error),
            },
            ..
        },
    ] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!(error.kind, "no_thread");
}

/// LC-STREAM-01: every message is told once, when the record has it, and nothing that was told before is told again.
#[tokio::test]
async fn every_message_is_told_once() {
    let agent = Agent::builder(scripted([call("echo", text("x")), say("one"), say("two")]))
        .tool(echo())
        .build()
        .unwrap();
    let (first, result) = watch(&agent, Input::new("first").thread("t")).await;
    assert_eq!(crate::kit::told(&first), result.unwrap().messages);
    let (second, result) = watch(&agent, Input::new("second").thread("t")).await;
    assert_eq!(crate::kit::told(&second), result.unwrap().messages);
    let told = [crate::kit::told(&first), crate::kit::told(&second)].concat();
    assert_eq!(told, agent.thread(&"t".into()).await.unwrap().messages());
}
