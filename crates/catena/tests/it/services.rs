//! What the handle on a run offers: state, live values, models, background work, the caller's own values.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use catena::context::Extensions;
use catena::event::EventKind;
use catena::message::Message;
use catena::middleware::{before_agent_fn, before_model_fn, gate_fn};
use catena::model::ModelErrorKind;
use catena::prelude::*;
use catena::principal::Principal;
use catena::record::OutcomeRecord;
use catena::state::Slot;
use catena::testing::{Reply, call, calls, say, scripted};
use serde_json::json;
use tokio::sync::Barrier;

use crate::kit::{AGES, Log, echo, shown_text, text, tool, watch};

const VISITS: Slot<u32> = Slot::thread("greeter.visits");
const LIST: Slot<Vec<String>> = Slot::thread("greeter.list");
const STEPS: Slot<u32> = Slot::run("greeter.steps");

/// Notes its slots at the end of each run, after counting in every before_model.
struct Counts(Log);

#[middleware]
impl Middleware for Counts {
    fn name(&self) -> &str {
        "greeter"
    }
    async fn before_model(&self, turn: &mut Turn) -> Result<Flow> {
        turn.run().update(&VISITS, |visits| *visits += 1)?;
        turn.run().update(&STEPS, |steps| *steps += 1)?;
        Ok(Flow::Continue)
    }
    async fn after_model(&self, turn: &mut Turn, _: &mut ModelResponse) -> Result<AfterModel> {
        self.0.add(format!("after_model {}", turn.run().get(&STEPS)?));
        Ok(AfterModel::Continue)
    }
    async fn after_agent(&self, run: &RunContext, _: &OutcomeRecord) -> Result<()> {
        self.0
            .add(format!("visits {} steps {}", run.get(&VISITS)?, run.get(&STEPS)?));
        Ok(())
    }
}

/// LC-STATE-02, LC-STATE-03, LC-STATE-11, FC-062: what a hook put into a slot is there in all later hooks; a thread's slot outlives the
/// run; it is no part of what the caller gets; a run's slot is fresh at every start, also after a run that failed or was cancelled; what is
/// counted per run starts at zero in every run, however the last one ended.
#[tokio::test]
async fn thread_slots_stay_and_run_slots_start_afresh() {
    let log = Log::default();
    let model = scripted([
        say("one"),
        Reply::error(401, "no key"),
        say("three").hang(),
        say("four"),
    ]);
    let agent = Agent::builder(model.clone()).with(Counts(log.clone())).build().unwrap();
    agent.run(Input::new("a").thread("t")).await.unwrap();
    assert!(agent.run(Input::new("b").thread("t")).await.is_err());
    let handle = agent.start(Input::new("c").thread("t"));
    while model.requests().len() < 3 {
        tokio::task::yield_now().await;
    }
    handle.cancel();
    handle.outcome().await.unwrap();
    agent.run(Input::new("d").thread("t")).await.unwrap();
    assert_eq!(
        log.take(),
        [
            "after_model 1",
            "visits 1 steps 1",
            "visits 2 steps 1",
            "visits 3 steps 1",
            "after_model 1",
            "visits 4 steps 1"
        ]
    );
}

/// LC-STATE-12: state of one thread is never seen in another.
#[tokio::test]
async fn threads_do_not_share_slots() {
    let log = Log::default();
    let agent = Agent::builder(scripted([say("a"), say("b")]))
        .with(Counts(log.clone()))
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("a")).await.unwrap();
    agent.run(Input::new("go").thread("b")).await.unwrap();
    assert_eq!(
        log.take(),
        ["after_model 1", "visits 1 steps 1", "after_model 1", "visits 1 steps 1"]
    );
}

/// ZC-CHAIN-32: two runs beside each other count for themselves.
#[tokio::test]
async fn runs_beside_each_other_do_not_share_slots() {
    let log = Log::default();
    let meet = Arc::new(Barrier::new(2));
    let waits = {
        let meet = meet.clone();
        tool("wait", move |_, _| {
            let meet = meet.clone();
            async move {
                meet.wait().await;
            }
        })
    };
    let script = [call("wait", json!({})), call("wait", json!({})), say("a"), say("b")];
    let agent = Agent::builder(scripted(script))
        .tool(waits)
        .with(Counts(log.clone()))
        .build()
        .unwrap();
    let (a, b) = tokio::join!(
        agent.run(Input::new("a").thread("a")),
        agent.run(Input::new("b").thread("b"))
    );
    a.and(b).unwrap();
    assert_eq!(log.count("visits 2 steps 2"), 2);
}

/// LC-STATE-05, LC-STATE-13: a slot that was never set has its default; an unset slot is no error in a wrap of a tool call.
#[tokio::test]
async fn an_unset_slot_has_its_default() {
    let log = Log::default();
    let wrap = {
        let log = log.clone();
        catena::middleware::wrap_tool_fn("reads", move |call, next| {
            let log = log.clone();
            Box::pin(async move {
                log.add(format!(
                    "{} {:?}",
                    next.run().get(&VISITS)?,
                    next.run().get_json("greeter.visits")
                ));
                next.call(call).await
            })
        })
    };
    let agent = Agent::builder(scripted([call("echo", text("x")), say("done")]))
        .tool(echo())
        .with(wrap)
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(log.take(), ["0 None"]);
}

/// LC-STATE-06, LC-STATE-07: changing one slot does not touch another; a second run does not apply what is stored once more.
#[tokio::test]
async fn a_list_keeps_its_length() {
    let appends = before_model_fn("appends", |turn| {
        if turn.run().get(&LIST)?.is_empty() {
            turn.run().update(&LIST, |list| list.push("a".into()))?;
        }
        turn.run().update(&VISITS, |visits| *visits += 1)?;
        Ok(Flow::Continue)
    });
    let agent = Agent::builder(scripted([say("one"), say("two")]))
        .with(appends)
        .build()
        .unwrap();
    for question in ["one?", "two?"] {
        agent.run(Input::new(question).thread("t")).await.unwrap();
    }
    let slots: Vec<_> = agent
        .thread(&"t".into())
        .await
        .unwrap()
        .slots()
        .map(|(key, _, value)| (key, (*value).clone()))
        .collect();
    assert_eq!(
        slots,
        [
            ("greeter.list".to_owned(), json!(["a"])),
            ("greeter.visits".to_owned(), json!(2))
        ]
    );
}

/// LC-STATE-08: two slots of one key and different types are an error that names the slot, where the second is read.
#[tokio::test]
async fn a_slot_of_another_type_is_an_error_that_names_it() {
    const OTHER: Slot<Vec<u8>> = Slot::thread("greeter.visits");
    let clash = before_model_fn("clash", |turn| {
        turn.run().update(&VISITS, |visits| *visits = 3)?;
        turn.run().get(&OTHER).map(|_| Flow::Continue)
    });
    let error = Agent::builder(scripted([]))
        .with(clash)
        .build()
        .unwrap()
        .run("go")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), "state");
    assert!(
        catena::chain_text(&error).contains("state slot `greeter.visits` cannot be read"),
        "{error}"
    );
}

/// CORE-STATE-01: updates of calls that run side by side are all there, and each is told.
#[tokio::test]
async fn updates_are_atomic() {
    let counts = tool("count", |_, context: ToolContext| async move {
        tokio::task::yield_now().await;
        let counted = context.run().update(&VISITS, |visits| *visits += 1);
        counted.map_err(|error| ToolError::new(error.to_string()))
    });
    let agent = Agent::builder(scripted([calls((0..20).map(|_| ("count", json!({})))), say("done")]))
        .tool(counts)
        .build()
        .unwrap();
    let (events, _) = watch(&agent, Input::new("go").thread("t")).await;
    let told = events
        .iter()
        .filter(|e| matches!(&e.kind, EventKind::StateChanged { key } if key == "greeter.visits"))
        .count();
    assert_eq!(told, 20);
    let value = agent.thread(&"t".into()).await.unwrap().slots().next().unwrap().2;
    assert_eq!(*value, json!(20));
}

/// Counts how often it is dropped.
struct Shell(Arc<AtomicUsize>);

impl Drop for Shell {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// ZC-CHAIN-33: what a run holds is dropped when it ends, also by a cancellation or a panic.
#[tokio::test]
async fn live_values_of_a_run_end_with_it() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let holds = {
        let dropped = dropped.clone();
        before_model_fn("holds", move |turn| {
            turn.run().live().get_or_insert_with("shell", || Shell(dropped.clone()));
            match turn.request.messages[0].text().as_str() {
                "panic" => panic!("on purpose"),
                _ => Ok(Flow::Continue),
            }
        })
    };
    let model = scripted([call("echo", text("x")), say("one"), say("two").hang()]);
    let agent = Agent::builder(model.clone()).tool(echo()).with(holds).build().unwrap();
    agent.run("one").await.unwrap();
    assert_eq!(dropped.load(SeqCst), 1, "one value for all turns");
    assert!(agent.run("panic").await.is_err());
    assert_eq!(dropped.load(SeqCst), 2);
    let handle = agent.start("two");
    while model.requests().len() < 3 {
        tokio::task::yield_now().await;
    }
    handle.cancel();
    handle.outcome().await.unwrap();
    assert_eq!(dropped.load(SeqCst), 3);
}

/// CORE-LIVE-01: a thread's live values are there for its next run, and gone when it has been idle for ten minutes after the last.
#[tokio::test(start_paused = true)]
async fn live_values_of_a_thread_stay_until_it_is_idle() {
    let log = Log::default();
    let holds = {
        let log = log.clone();
        before_agent_fn("holds", move |intake| {
            let made = intake.run().live_thread().get_or_insert_with("shell", || intake.text());
            log.add((*made).clone());
            Ok(Flow::Continue)
        })
    };
    let slow = tool("slow", |_, _| tokio::time::sleep(Duration::from_secs(1_800)));
    let slow = slow.configure(|spec| spec.time_limit(AGES));
    let script = [
        say("1"),
        call("slow", json!({})),
        say("2"),
        say("3"),
        say("4"),
        say("5"),
    ];
    let agent = Agent::builder(scripted(script)).tool(slow).with(holds).build().unwrap();
    agent.run(Input::new("first").thread("t")).await.unwrap();
    agent.run(Input::new("slow").thread("t")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(599)).await;
    agent.run(Input::new("second").thread("t")).await.unwrap();
    agent.run(Input::new("other").thread("u")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(601)).await;
    agent.run(Input::new("late").thread("t")).await.unwrap();
    assert_eq!(log.take(), ["first", "first", "first", "other", "late"]);
}

/// A middleware that asks the small model in before_model.
fn titles(limit: Duration) -> impl Middleware {
    struct Titles(Duration);
    #[middleware]
    impl Middleware for Titles {
        fn name(&self) -> &str {
            "titles"
        }
        fn budget(&self) -> Duration {
            AGES
        }
        async fn before_model(&self, turn: &mut Turn) -> Result<Flow> {
            let small = turn.run().model("small")?.time_limit(self.0);
            let request = ModelRequest::new(small.model().clone(), vec![Message::user("a title?")]);
            small.ask(request).await?;
            Ok(Flow::Continue)
        }
    }
    Titles(limit)
}

/// LC-STREAM-02, FC-017: words of a middleware's own model call are never those of the answer; its tokens stand under its name; internal
/// model calls do not appear in the message stream.
#[tokio::test]
async fn a_middlewares_own_call_is_counted_and_not_shown() {
    let small = scripted([say("SUM1 SUM2").usage(100, 10)]);
    let agent = Agent::builder(scripted([say("Hi").usage(7, 3)]))
        .named_model("small", small)
        .with(titles(AGES))
        .build()
        .unwrap();
    let (events, result) = watch(&agent, "go").await;
    let result = result.unwrap();
    assert_eq!(shown_text(&events), "Hi");
    let usages: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Usage { by, model, usage } => Some((by.as_deref(), model.as_str(), usage.total())),
            _ => None,
        })
        .collect();
    assert_eq!(
        usages,
        [(Some("titles"), "scripted:test", 110), (None, "scripted:test", 10)]
    );
    assert_eq!(result.totals.usage.total(), 10, "the run's own count is without it");
    assert_eq!(
        (
            result.totals.internal["titles"].calls,
            result.totals.internal["titles"].usage.total()
        ),
        (1, 110)
    );
    assert_eq!(result.totals.attempts, 1);
}

/// CORE-ASK-01: a middleware's own model call has a time limit.
#[tokio::test(start_paused = true)]
async fn a_middlewares_own_call_has_a_time_limit() {
    let agent = Agent::builder(scripted([]))
        .named_model("small", scripted([say("never").hang()]))
        .with(titles(Duration::from_secs(9)))
        .build()
        .unwrap();
    let started = tokio::time::Instant::now();
    let error = agent.run("go").await.unwrap_err();
    assert_eq!(error.as_model().unwrap().kind, ModelErrorKind::Timeout);
    assert_eq!(started.elapsed(), Duration::from_secs(9));
}

/// CORE-ASK-02: a middleware's own model call ends with the run.
#[tokio::test(start_paused = true)]
async fn a_middlewares_own_call_ends_with_the_run() {
    let small = scripted([say("never").hang()]);
    let agent = Agent::builder(scripted([]))
        .named_model("small", small.clone())
        .with(titles(AGES))
        .build()
        .unwrap();
    let handle = agent.start("go");
    while small.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    handle.cancel();
    let started = tokio::time::Instant::now();
    assert_eq!(handle.outcome().await.unwrap().outcome, Outcome::Cancelled);
    assert_eq!(started.elapsed(), Duration::ZERO);
}

/// CORE-ASK-03: a model that the agent does not have is an error that names it.
#[tokio::test]
async fn a_model_that_is_not_there_is_named() {
    let agent = Agent::builder(scripted([])).with(titles(AGES)).build().unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert_eq!(error.kind(), "unknown_name");
    assert!(catena::chain_text(&error).contains("there is no model `small`"));
}

/// CORE-SPAWN-01: background work is bounded, and shutdown waits for it as long as it is told to.
#[tokio::test(start_paused = true)]
async fn background_work_is_bounded_and_drained() {
    let log = Log::default();
    let busy = {
        let log = log.clone();
        before_model_fn("busy", move |turn| {
            let mut refused = 0;
            for _ in 0..300 {
                let log = log.clone();
                let work = async move {
                    tokio::time::sleep(Duration::from_secs(30)).await;
                    log.add("done");
                };
                refused += usize::from(turn.run().spawn(|_| work).is_err());
            }
            log.add(format!("{refused} refused"));
            Ok(Flow::Continue)
        })
    };
    let agent = Agent::builder(scripted([say("hi")])).with(busy).build().unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(log.take(), ["44 refused"], "the run does not wait for it");
    assert!(!agent.shutdown(Duration::from_secs(10)).await);
    assert!(agent.shutdown(Duration::from_secs(60)).await);
    assert_eq!(log.count("done"), 256);
}

/// LC-STREAM-03, LC-CTX-05: an event of a middleware's own is delivered under its name; the handle is the same in every hook: who asks,
/// which hook, which call.
#[tokio::test]
async fn events_of_ones_own_say_who_sent_them() {
    let emits = gate_fn("gate", |turn, _| {
        turn.run()
            .emit("hello", json!({"hook": turn.run().hook().map(|hook| hook.as_str())}));
        Ok(ToolDecision::Allow)
    });
    let model_hook = before_model_fn("model_hook", |turn| {
        turn.run()
            .emit("hello", json!({"hook": turn.run().hook().map(|hook| hook.as_str())}));
        turn.run().warn("mind the gap");
        Ok(Flow::Continue)
    });
    let agent = Agent::builder(scripted([call("echo", text("x")), say("done")]))
        .tool(echo())
        .with(emits)
        .with(model_hook)
        .build()
        .unwrap();
    let (events, _) = watch(&agent, "go").await;
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Custom { source, name, data } => Some(format!("{source} {name} {}", data["hook"])),
            EventKind::Warning { source, message } => Some(format!("{source} warns: {message}")),
            _ => None,
        })
        .collect();
    let turn = [r#"model_hook hello "before_model""#, "model_hook warns: mind the gap"];
    assert_eq!(
        told,
        [turn[0], turn[1], r#"gate hello "before_tool_call""#, turn[0], turn[1]]
    );
}

/// LC-CTX-03, LC-CTX-04, LC-CTX-07: the caller's values are the same in hooks and tools; they can be read and not changed; they go by type,
/// so they cannot collide with a middleware's options.
#[tokio::test]
async fn the_callers_values_reach_hooks_and_tools() {
    struct Locale(&'static str);
    let log = Log::default();
    let hook = {
        let log = log.clone();
        before_model_fn("hook", move |turn| {
            log.add(format!(
                "hook {:?}",
                turn.run().context().get::<Locale>().map(|locale| locale.0)
            ));
            Ok(Flow::Continue)
        })
    };
    let reads = {
        let log = log.clone();
        tool("reads", move |_, context: ToolContext| {
            let run = context.run();
            log.add(format!(
                "tool {:?} for {}",
                run.context().get::<Locale>().map(|l| l.0),
                run.principal().user
            ));
            async {}
        })
    };
    let agent = Agent::builder(scripted([call("reads", json!({})), say("done"), say("bye")]))
        .tool(reads)
        .with(hook)
        .build()
        .unwrap();
    let mut context = Extensions::default();
    context.insert(Locale("de"));
    agent
        .run(Input::new("go").context(context).principal(Principal::user("ann")))
        .await
        .unwrap();
    assert_eq!(
        log.take(),
        [r#"hook Some("de")"#, r#"tool Some("de") for ann"#, r#"hook Some("de")"#]
    );
    agent.run("without").await.unwrap();
    assert_eq!(log.take(), ["hook None"]);
}

/// CORE-STATE-02: what a hook changed before a cancellation cut it off is taken back; what was done before it stays.
#[tokio::test]
async fn a_hook_that_is_cut_off_leaves_no_state() {
    struct Slow(Log);
    #[middleware]
    impl Middleware for Slow {
        fn name(&self) -> &str {
            "slow"
        }
        async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
            intake.run().update(&LIST, |list| list.push("whole".into()))?;
            Ok(Flow::Continue)
        }
        async fn before_model(&self, turn: &mut Turn) -> Result<Flow> {
            turn.run().update(&VISITS, |visits| *visits += 1)?;
            turn.run().update(&LIST, |list| list.push("half".into()))?;
            self.0.add("inside");
            std::future::pending().await
        }
    }
    let log = Log::default();
    let agent = Agent::builder(scripted([])).with(Slow(log.clone())).build().unwrap();
    let handle = agent.start(Input::new("go").thread("t"));
    while log.lines().is_empty() {
        tokio::task::yield_now().await;
    }
    handle.cancel();
    handle.outcome().await.unwrap();
    let thread = agent.thread(&"t".into()).await.unwrap();
    let slots: Vec<_> = thread.slots().map(|(key, _, value)| (key, (*value).clone())).collect();
    assert_eq!(slots, [("greeter.list".to_owned(), json!(["whole"]))]);
}
