//! Work that outlives its run: it asks, writes and ends by itself.

use std::time::Duration;

use catena::agent::OnBusy;
use catena::context::Background;
use catena::message::Message;
use catena::prelude::*;
use catena::record::{OutcomeRecord, Thread};
use catena::state::Slot;
use catena::testing::{call, say, scripted};
use serde_json::json;

use crate::kit::Log;
use crate::support::Hold;

const TITLE: Slot<String> = Slot::thread("titles.title");
const VISITS: Slot<u32> = Slot::thread("titles.visits");
const OF_RUN: Slot<u32> = Slot::run("titles.steps");

/// Gives the thread a title when its run is over, if it is let go on.
#[derive(Clone)]
struct Titles {
    hold: Hold,
    log: Log,
}

impl Titles {
    fn new() -> Self {
        Self {
            hold: Hold::new(),
            log: Log::default(),
        }
    }

    fn note<T>(&self, what: &str, result: Result<T>) -> Option<T> {
        let text = match &result {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        self.log.add(format!("{what}: {text}"));
        result.ok()
    }

    async fn work(self, background: Background) {
        self.hold.here().await;
        let small = background.model("small").unwrap();
        let request = ModelRequest::new(small.model().clone(), vec![Message::user("a title?")]);
        let Some(answer) = self.note("ask", small.ask(request).await) else {
            return;
        };
        let title = answer.text();
        self.note("update", background.update(&TITLE, |slot| *slot = title).await);
    }
}

#[middleware]
impl Middleware for Titles {
    fn name(&self) -> &str {
        "titles"
    }
    async fn after_agent(&self, run: &RunContext, _: &OutcomeRecord) -> Result<()> {
        run.update(&VISITS, |visits| *visits += 1)?;
        let this = self.clone();
        run.spawn(|background| this.work(background))
    }
}

fn agent(titles: &Titles, script: impl IntoIterator<Item = catena::testing::Reply>) -> Agent {
    Agent::builder(scripted(script))
        .named_model(
            "small",
            scripted([say("Winter").usage(20, 1), say("Summer").usage(20, 1)]),
        )
        .tool(titles.hold.tool("wait"))
        .with(titles.clone())
        .build()
        .unwrap()
}

fn slot(thread: &Thread, key: &str) -> Option<serde_json::Value> {
    let value = thread.slots().find(|(name, ..)| name == key)?.2;
    Some((*value).clone())
}

const LONG: Duration = Duration::from_secs(60);

/// CORE-SPAWN-02: background work goes on when the outcome is there; its state and its tokens are in the record, and the next run sees them.
#[tokio::test(start_paused = true)]
async fn background_work_goes_on_after_the_outcome() {
    let titles = Titles::new();
    let agent = agent(&titles, [say("hi").usage(5, 2), say("again")]);
    assert_eq!(agent.run(Input::new("go").thread("t")).await.unwrap().text(), "hi");
    titles.hold.reached().await;
    assert!(titles.log.lines().is_empty());
    titles.hold.release();
    assert!(agent.shutdown(LONG).await, "shutdown drains it");
    assert_eq!(titles.log.take(), ["ask: ok", "update: ok"]);
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(slot(&thread, TITLE.key()), Some(json!("Winter")));
    assert_eq!(thread.totals().internal["titles"].usage.total(), 21);
    agent.run(Input::new("more").thread("t")).await.unwrap();
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(slot(&thread, TITLE.key()), Some(json!("Winter")));
    assert_eq!(
        slot(&thread, VISITS.key()),
        Some(json!(2)),
        "nothing of the run's was lost"
    );
}

/// CORE-SPAWN-03: a cancelled run's background work goes on as well.
#[tokio::test(start_paused = true)]
async fn background_work_of_a_cancelled_run_goes_on() {
    let titles = Titles::new();
    let agent = agent(&titles, [call("wait", json!({}))]);
    let handle = agent.start(Input::new("go").thread("t"));
    titles.hold.reached().await;
    handle.cancel();
    assert_eq!(handle.outcome().await.unwrap().outcome, Outcome::Cancelled);
    titles.hold.reached().await;
    titles.hold.release();
    assert!(agent.shutdown(LONG).await);
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(slot(&thread, TITLE.key()), Some(json!("Winter")));
}

/// CORE-SPAWN-04: an update waits while a run has the thread, and neither undoes what the other wrote.
#[tokio::test(start_paused = true)]
async fn a_background_update_waits_for_the_thread() {
    let titles = Titles::new();
    let agent = agent(&titles, [say("hi"), call("wait", json!({})), say("done")]);
    agent.run(Input::new("go").thread("t")).await.unwrap();
    titles.hold.reached().await;
    let busy = agent.start(Input::new("more").thread("t"));
    titles.hold.reached().await;
    // The work goes first in line, the tool of the second run after it.
    titles.hold.release();
    while titles.log.count("ask: ok") == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(titles.log.count("update: ok"), 0);
    titles.hold.release();
    busy.outcome().await.unwrap();
    titles.hold.reached().await;
    titles.hold.release();
    assert!(agent.shutdown(LONG).await);
    assert_eq!(titles.log.count("update: ok"), 2);
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(slot(&thread, VISITS.key()), Some(json!(2)));
    assert_eq!(thread.totals().internal["titles"].calls, 2);
}

/// CORE-SPAWN-05: a shutdown that has waited long enough cancels background work, and the agent can be used after it.
#[tokio::test(start_paused = true)]
async fn a_shutdown_that_loses_patience_cancels_background_work() {
    struct Waits(Log);
    #[middleware]
    impl Middleware for Waits {
        fn name(&self) -> &str {
            "waits"
        }
        async fn after_agent(&self, run: &RunContext, _: &OutcomeRecord) -> Result<()> {
            let log = self.0.clone();
            run.spawn(async move |background| {
                let hang = background.default_model();
                let request = ModelRequest::new(hang.model().clone(), vec![Message::user("?")]);
                log.add(hang.ask(request).await.unwrap_err().kind());
                log.add(background.run().is_cancelled().to_string());
            })
        }
    }
    let log = Log::default();
    let script = [say("hi"), say("never").hang(), say("hi"), say("never").hang()];
    let agent = Agent::builder(scripted(script))
        .with(Waits(log.clone()))
        .build()
        .unwrap();
    for _ in 0..2 {
        agent.run("go").await.unwrap();
        assert!(!agent.shutdown(Duration::from_secs(5)).await);
        assert!(agent.shutdown(Duration::from_secs(5)).await);
        assert_eq!(log.take(), ["model_error", "true"]);
    }
}

/// CORE-SPAWN-06: what cannot be written any more is an error that says where it can, not a loss.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_is_an_error() {
    struct Late(Log);
    #[middleware]
    impl Middleware for Late {
        fn name(&self) -> &str {
            "late"
        }
        async fn after_agent(&self, run: &RunContext, _: &OutcomeRecord) -> Result<()> {
            let (log, run_handle) = (self.0.clone(), run.clone());
            run.spawn(async move |background| {
                tokio::time::sleep(Duration::from_secs(1)).await;
                for error in [
                    run_handle.update(&VISITS, |visits| *visits += 1).unwrap_err(),
                    background.run().update(&VISITS, |visits| *visits += 1).unwrap_err(),
                    background.update(&OF_RUN, |steps| *steps += 1).await.unwrap_err(),
                ] {
                    log.add(error.to_string());
                }
                let model = run_handle.default_model();
                let request = ModelRequest::new(model.model().clone(), vec![Message::user("?")]);
                log.add(model.ask(request).await.unwrap_err().to_string());
            })
        }
    }
    let log = Log::default();
    let agent = Agent::builder(scripted([say("hi")]))
        .with(Late(log.clone()))
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    assert!(agent.shutdown(LONG).await);
    let lines = log.take();
    assert!(
        lines[0].contains("the run is over") && lines[0].contains("`titles.visits`"),
        "{lines:?}"
    );
    assert!(lines[1].contains("Background::update"), "{lines:?}");
    assert!(lines[2].contains("use a slot of the thread"), "{lines:?}");
    assert!(lines[3].contains("the run is over"), "{lines:?}");
}

/// CORE-SPAWN-07: background work does not bring back a thread that was deleted.
#[tokio::test(start_paused = true)]
async fn background_work_does_not_revive_a_deleted_thread() {
    let titles = Titles::new();
    let agent = agent(&titles, [say("hi")]);
    agent
        .run(Input::new("go").thread("t").on_busy(OnBusy::Enqueue))
        .await
        .unwrap();
    titles.hold.reached().await;
    assert!(agent.delete_thread(&"t".into()).await.unwrap());
    titles.hold.release();
    assert!(agent.shutdown(LONG).await);
    assert_eq!(titles.log.take(), ["ask: ok", "update: there is no thread `t`"]);
    assert!(agent.store().list(10).await.unwrap().is_empty());
}

/// CORE-SPAWN-08: background work that panics is a warning, gives its place back and keeps its tokens in the record.
#[tokio::test(start_paused = true)]
async fn background_work_that_panics_keeps_its_tokens() {
    struct Panics;
    #[middleware]
    impl Middleware for Panics {
        fn name(&self) -> &str {
            "panics"
        }
        async fn after_agent(&self, run: &RunContext, _: &OutcomeRecord) -> Result<()> {
            run.spawn(async move |background| {
                let model = background.default_model();
                let request = ModelRequest::new(model.model().clone(), vec![Message::user("?")]);
                model.ask(request).await.unwrap();
                panic!("on purpose");
            })
        }
    }
    let script = [say("hi"), say("x").usage(7, 3)];
    let agent = Agent::builder(scripted(script)).with(Panics).build().unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    assert!(agent.shutdown(LONG).await);
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(thread.totals().internal["panics"].usage.total(), 10);
}
