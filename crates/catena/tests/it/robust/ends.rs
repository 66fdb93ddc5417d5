//! How a run ended is decided once, and stays so whatever happens before it is closed.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use catena::checkpoint::{MemoryCheckpointer, StoreError};
use catena::event::EventKind;
use catena::middleware::{Ending, before_model_fn, wrap_model_fn};
use catena::prelude::*;
use catena::record::{Entry, OutcomeRecord};
use catena::testing::{call, say, scripted};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Ends, Hold, Watch, Watched, texts, valid_thread};

/// Refuses to close the first run, as if its process had died before it came to that.
#[derive(Default)]
struct NotClosed(AtomicBool);

#[async_trait]
impl Watch for NotClosed {
    async fn before(&self, _: usize, entries: &[Arc<Entry>]) -> Result<(), StoreError> {
        let closes = entries.iter().any(|entry| matches!(**entry, Entry::RunEnded { .. }));
        match closes && !self.0.swap(true, Ordering::SeqCst) {
            true => Err(StoreError::DiskFull(None)),
            false => Ok(()),
        }
    }
}

fn not_closed() -> Watched<NotClosed> {
    Watched::new(MemoryCheckpointer::new(), NotClosed::default())
}

#[tokio::test]
async fn a_cancelled_run_that_was_not_closed_is_still_cancelled_when_it_is_resumed() {
    let hold = Hold::new();
    let model = scripted([call("slow", json!({})), say("never")]);
    let ends = Ends::default();
    let agent = Agent::builder(model.clone())
        .tool(hold.tool("slow"))
        .store(not_closed())
        .with(ends.clone())
        .build()
        .unwrap();
    let handle = agent.start(Input::new("go").thread("t"));
    hold.reached().await;
    handle.cancel();
    assert!(matches!(handle.outcome().await, Err(Error::Store(_))));
    let resumed = agent.run(Resume::thread("t")).await.unwrap();
    assert_eq!(resumed.outcome, Outcome::Cancelled);
    assert_eq!(model.left(), 1, "the model is not asked again");
    let thread = valid_thread(agent.store(), "t").await;
    assert_eq!(thread.run().unwrap().outcome(), Some(&OutcomeRecord::Cancelled));
    assert_eq!(ends.seen(), [OutcomeRecord::Cancelled, OutcomeRecord::Cancelled]);
}

#[tokio::test]
async fn a_run_that_had_given_its_answer_is_not_called_crashed_afterwards() {
    let ends = Ends::default();
    let agent = Agent::builder(scripted([say("one"), say("two")]))
        .store(not_closed())
        .with(ends.clone())
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap_err();
    let next = agent.run(Input::new("next").thread("t")).await.unwrap();
    assert_eq!(next.text(), "two");
    let done = OutcomeRecord::Done { structured: None };
    assert_eq!(ends.seen(), [done.clone(), done.clone(), done]);
}

#[tokio::test]
async fn a_run_that_was_stopped_keeps_its_reason_and_no_model_is_asked_for_its_last_word() {
    /// The process dies while the last word is on its way.
    struct NoLastWord(AtomicBool);
    #[async_trait]
    impl Watch for NoLastWord {
        async fn before(&self, _: usize, entries: &[Arc<Entry>]) -> Result<(), StoreError> {
            let last_word = |entry: &Arc<Entry>| matches!(&**entry, Entry::Model(step) if step.last_word);
            match entries.iter().any(last_word) && !self.0.swap(true, Ordering::SeqCst) {
                true => Err(StoreError::DiskFull(None)),
                false => Ok(()),
            }
        }
    }
    let ends = Ends::default();
    let once = AtomicBool::new(false);
    let stop = before_model_fn("stop", move |_| match once.swap(true, Ordering::SeqCst) {
        false => Ok(Flow::Stop(Ending::stopped("enough", "it is enough").let_model_answer())),
        true => Ok(Flow::Continue),
    });
    let agent = Agent::builder(scripted([say("lost"), say("two")]))
        .store(Watched::new(
            MemoryCheckpointer::new(),
            NoLastWord(AtomicBool::new(false)),
        ))
        .with(stop)
        .with(ends.clone())
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap_err();
    let next = agent.run(Input::new("next").thread("t")).await.unwrap();
    assert_eq!(next.text(), "two");
    let seen = ends.seen();
    assert!(
        matches!(&seen[0], OutcomeRecord::Stopped { by, reason } if by == "stop" && reason.kind == "enough"),
        "{seen:?}"
    );
    valid_thread(agent.store(), "t").await;
}

/// Never lets go of the first run that ends, after having been at an end once.
struct Clings(AtomicBool);

#[middleware]
impl Middleware for Clings {
    fn name(&self) -> &str {
        "clings"
    }

    fn budget(&self) -> Duration {
        Duration::from_secs(3600)
    }

    async fn after_agent(&self, run: &RunContext, _: &OutcomeRecord) -> Result<()> {
        if !self.0.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        run.cancelled().await;
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn closing_what_was_left_can_be_cancelled() {
    let agent = Agent::builder(scripted([say("one"), say("two")]))
        .store(not_closed())
        .with(Clings(AtomicBool::new(false)))
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap_err();
    let handle = agent.start(Input::new("next").thread("t"));
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    let begun = Instant::now();
    handle.cancel();
    assert_eq!(handle.outcome().await.unwrap().outcome, Outcome::Cancelled);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    valid_thread(agent.store(), "t").await;
}

#[tokio::test]
async fn a_last_word_of_calls_alone_is_none() {
    let stop = before_model_fn("stop", |_| {
        Ok(Flow::Stop(Ending::stopped("enough", "it is enough").let_model_answer()))
    });
    let agent = Agent::builder(scripted([call("work", json!({})).usage(7, 3)]))
        .with(stop)
        .build()
        .unwrap();
    let stopped = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert!(matches!(&stopped.outcome, Outcome::Stopped { by, .. } if by == "stop"));
    let thread = valid_thread(agent.store(), "t").await;
    assert_eq!(texts(thread.messages()), ["go"]);
    assert_eq!(thread.totals().usage.input, 7, "its tokens are counted");
}

#[tokio::test]
async fn an_error_of_another_store_fails_the_run_as_any_error_does() {
    let wrap = wrap_model_fn("elsewhere", |_, _| {
        Box::pin(async { Err(Error::Store(StoreError::DiskFull(None))) })
    });
    let agent = Agent::builder(scripted([])).with(wrap).build().unwrap();
    let error = agent.run(Input::new("go").thread("t")).await.unwrap_err();
    assert!(matches!(error, Error::Store(_)), "{error:?}");
    let thread = valid_thread(agent.store(), "t").await;
    let outcome = thread.run().unwrap().outcome();
    assert!(
        matches!(outcome, Some(OutcomeRecord::Failed { error }) if error.kind == "store"),
        "{outcome:?}"
    );
}

/// Holds the append of the first answer until it is dropped: before it is stored, or after.
struct HeldAnswer {
    stored: bool,
    hold: Hold,
    done: AtomicBool,
}

impl HeldAnswer {
    async fn at(&self, stored: bool, entries: &[Arc<Entry>]) {
        let answer = entries.iter().any(|entry| matches!(**entry, Entry::Model(_)));
        if stored == self.stored && answer && !self.done.swap(true, Ordering::SeqCst) {
            self.hold.here().await;
        }
    }
}

#[async_trait]
impl Watch for HeldAnswer {
    async fn before(&self, _: usize, entries: &[Arc<Entry>]) -> Result<(), StoreError> {
        self.at(false, entries).await;
        Ok(())
    }

    async fn after(&self, _: usize, entries: &[Arc<Entry>]) -> Result<(), StoreError> {
        self.at(true, entries).await;
        Ok(())
    }
}

/// Asks a model of its own before the answer.
struct Asks;

#[middleware]
impl Middleware for Asks {
    fn name(&self) -> &str {
        "asks"
    }

    async fn after_model(&self, turn: &mut Turn, _: &mut ModelResponse) -> Result<AfterModel> {
        let request = turn.request.clone().into_inner();
        turn.run().model("small")?.ask(request).await?;
        Ok(AfterModel::Continue)
    }
}

#[tokio::test]
async fn what_a_dropped_append_held_is_counted_once_and_told_once() {
    for stored in [false, true] {
        let hold = Hold::new();
        let watch = HeldAnswer {
            stored,
            hold: hold.clone(),
            done: AtomicBool::new(false),
        };
        let agent = Agent::builder(scripted([say("answer")]))
            .named_model("small", scripted([say("hm").usage(5, 2)]))
            .with(Asks)
            .store(Watched::new(MemoryCheckpointer::new(), watch))
            .build()
            .unwrap();
        let mut handle = agent.start(Input::new("go").thread("t"));
        hold.reached().await;
        handle.cancel();
        let told = Mutex::new(Vec::new());
        while let Some(event) = handle.next().await {
            if let EventKind::Message { message } = event.kind {
                told.lock().unwrap().push(message);
            }
        }
        assert_eq!(handle.outcome().await.unwrap().outcome, Outcome::Cancelled);
        let thread = valid_thread(agent.store(), "t").await;
        let small = thread.totals().internal["asks"];
        assert_eq!((small.calls, small.usage.input), (1, 5), "stored: {stored}");
        let expected: &[&str] = if stored { &["go", "answer"] } else { &["go"] };
        assert_eq!(texts(thread.messages()), expected);
        assert_eq!(texts(&*told.lock().unwrap()), expected);
    }
}
