//! A lease that is lost in the middle of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use catena::checkpoint::{Checkpointer, Lease, MemoryCheckpointer, StoreError, ThreadInfo, Wish};
use catena::id::ThreadId;
use catena::prelude::*;
use catena::record::Entry;
use catena::testing::{say, scripted};
use catena_store::SqliteCheckpointer;

use super::{Log, agent, logged};
use crate::support::{Hold, sqlite, texts, valid_thread};

/// A process that was suspended: its leases run out at once, and while it sleeps its heart does not beat.
struct Suspended {
    inner: SqliteCheckpointer,
    asleep: Arc<AtomicBool>,
}

#[async_trait]
impl Checkpointer for Suspended {
    async fn acquire(&self, thread: &ThreadId, _: Duration) -> Result<Lease, StoreError> {
        self.inner.acquire(thread, Duration::ZERO).await
    }

    async fn renew(&self, lease: &Lease, _: Duration) -> Result<Wish, StoreError> {
        match self.asleep.load(Ordering::SeqCst) {
            true => Ok(Wish::Continue),
            false => self.inner.renew(lease, Duration::ZERO).await,
        }
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.inner.release(lease).await
    }

    async fn request_cancel(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        self.inner.request_cancel(thread).await
    }

    async fn append(&self, lease: &Lease, entries: &[Arc<Entry>]) -> Result<u64, StoreError> {
        self.inner.append(lease, entries).await
    }

    async fn load(&self, thread: &ThreadId, from: u64) -> Result<Vec<Arc<Entry>>, StoreError> {
        self.inner.load(thread, from).await
    }

    async fn list(&self, limit: usize) -> Result<Vec<ThreadInfo>, StoreError> {
        self.inner.list(limit).await
    }

    async fn delete(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        self.inner.delete(thread).await
    }
}

/// A run that wakes up after another process took its thread over and finished there fails, and nothing of it gets in between.
async fn taken_over(asleep: bool) {
    let dir = tempfile::tempdir().unwrap();
    let (hold, log, other_log) = (Hold::new(), Log::default(), Log::default());
    let store = Suspended {
        inner: sqlite(dir.path()).await,
        asleep: Arc::new(AtomicBool::new(asleep)),
    };
    let sleeper = agent(store, &hold, &log, None);
    let run = sleeper.start(Input::new("a").thread("t"));
    let token = run.cancellation();
    hold.reached().await;

    let other_hold = Hold::new();
    let other = agent(sqlite(dir.path()).await, &other_hold, &other_log, None);
    let resumed = other.run(Resume::thread("t")).await.unwrap();
    assert_eq!(resumed.outcome, Outcome::Done);
    let before = sleeper.store().load(&"t".into(), 0).await.unwrap();

    if asleep {
        // Its tool is done, and the result comes too late.
        hold.release();
    }
    let error = run.outcome().await.unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::LeaseLost(_))), "{error:?}");
    assert_eq!(error.kind(), "store");
    assert!(token.is_cancelled(), "so are the runs below it");
    assert_eq!(logged(&log), ["begin a"], "it did not end here");
    assert_eq!(logged(&other_log), ["end a"], "but there");
    assert_eq!(sleeper.store().load(&"t".into(), 0).await.unwrap(), before);
    let thread = valid_thread(other.store(), "t").await;
    assert_eq!(thread.view().len(), 4);

    // What the sleeper remembers of the thread is out of date, and it knows.
    hold.release();
    let next = sleeper.run(Input::new("b").thread("t")).await.unwrap();
    assert_eq!(next.outcome, Outcome::Done);
    let view = valid_thread(other.store(), "t").await.view();
    assert_eq!(texts(view[4..].iter()), ["b", "", "released", "done"]);
}

#[tokio::test]
async fn a_run_whose_lease_was_lost_unnoticed_fails_at_its_next_append() {
    taken_over(true).await;
}

#[tokio::test]
async fn a_heartbeat_that_finds_the_lease_lost_ends_the_run() {
    taken_over(false).await;
}

/// What an agent remembers of a thread is not what another one made of that name.
#[tokio::test]
async fn a_thread_that_another_agent_deleted_and_made_again_is_read_anew() {
    let dir = tempfile::tempdir().unwrap();
    let shared: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let stores: [[Arc<dyn Checkpointer>; 2]; 2] = [
        [shared.clone(), shared],
        [Arc::new(sqlite(dir.path()).await), Arc::new(sqlite(dir.path()).await)],
    ];
    for [first, second] in stores {
        let (first_model, second_model) = (scripted([]), scripted([]));
        let first = Agent::builder(first_model.clone()).store(first).build().unwrap();
        let second = Agent::builder(second_model.clone()).store(second).build().unwrap();
        first_model.push(say("secret answer"));
        first.run(Input::new("secret").thread("t")).await.unwrap();

        assert!(second.delete_thread(&"t".into()).await.unwrap());
        for n in 0..3 {
            second_model.push(say(format!("new answer {n}")));
            second.run(Input::new(format!("new {n}")).thread("t")).await.unwrap();
        }
        first_model.push(say("done"));
        first.run(Input::new("what is here?").thread("t")).await.unwrap();
        let seen = texts(first_model.last_messages().iter());
        assert_eq!(seen.first().map(String::as_str), Some("new 0"));
        assert_eq!(seen.len(), 7);
    }
}
