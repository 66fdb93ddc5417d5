//! A store that fails in the middle of a run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use catena::checkpoint::{Checkpointer, MemoryCheckpointer, StoreError};
use catena::message::Role;
use catena::prelude::*;
use catena::record::{CallStatus, Entry};
use catena::testing::{Reply, say};
use catena::tool::{FnTool, json_tool};
use catena_store::{SqliteCheckpointer, SqliteOptions, Synchronous};
use serde_json::json;

use crate::support::{Watch, Watched, answering, by_turn, spec, stored_thread, valid_thread};

/// A tool whose results are large, which may not be repeated.
fn large() -> (FnTool, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let tool = json_tool(spec("read"), move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { "x".repeat(20_000) }
    });
    (tool, count)
}

async fn database(dir: &Path, pages: u32) -> SqliteCheckpointer {
    let options = SqliteOptions::default()
        .synchronous(Synchronous::Normal)
        .pragma("max_page_count", pages.to_string());
    SqliteCheckpointer::open(dir.join("catena.db").to_str().unwrap(), options)
        .await
        .unwrap()
}

/// A disk that is full in the middle of a run: the run ends with an error that says what to do, what was acknowledged is there, and with
/// room again the run goes on.
#[tokio::test]
async fn a_full_disk_ends_the_run_and_it_goes_on_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let (tool, count) = large();
    let tool: Arc<dyn catena::tool::Tool> = Arc::new(tool);
    let agent = |store| {
        let model = by_turn(|turn| match turn {
            0..20 => Reply::nothing().and_call_id(format!("c{turn}"), "read", json!({})),
            _ => say("read it all"),
        });
        Agent::builder(model)
            .shared_tool(tool.clone())
            .store(store)
            .build()
            .unwrap()
    };
    let small = agent(database(dir.path(), 60).await);
    let error = small.run(Input::new("read everything").thread("t")).await.unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::DiskFull(_))), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("the disk is full; free some space and resume the thread"),
        "{text}"
    );
    let read = count.load(Ordering::SeqCst);
    assert!((1..20).contains(&read), "{read}");
    let thread = stored_thread(small.store(), "t").await;
    assert!(thread.messages().len() > 2);
    // Without room it fails again, and nothing is lost by that.
    small.run(Resume::thread("t")).await.unwrap_err();
    drop(small);

    let roomy = agent(database(dir.path(), 10_000).await);
    let done = roomy.run(Resume::thread("t")).await.unwrap();
    assert_eq!(
        (done.outcome.clone(), done.text().as_str()),
        (Outcome::Done, "read it all")
    );
    let whole = valid_thread(roomy.store(), "t").await;
    assert!(
        whole.messages().starts_with(thread.messages()),
        "what was acknowledged is there"
    );
    let calls = whole.run().unwrap().calls().clone();
    assert_eq!(calls.len(), 20);
    let lost = calls.iter().filter(|call| call.status == CallStatus::Unknown).count();
    assert!(lost <= 2, "a result for which there was no room is unknown");
    assert!(count.load(Ordering::SeqCst) <= 20, "nothing was read twice");
}

/// Fails one append, before or after it is done.
struct FailsAt {
    append: usize,
    done: bool,
}

#[async_trait]
impl Watch for FailsAt {
    async fn before(&self, append: usize, _: &[Arc<Entry>]) -> Result<(), StoreError> {
        if append == self.append && !self.done {
            Err(StoreError::DiskFull(None))
        } else {
            Ok(())
        }
    }

    async fn after(&self, append: usize, _: &[Arc<Entry>]) -> Result<(), StoreError> {
        if append == self.append && self.done {
            Err(StoreError::DiskFull(None))
        } else {
            Ok(())
        }
    }
}

/// Whichever append fails, and whether or not it was done all the same: the run ends with the store's error, leaves no lease behind, and a
/// resume, or a new input, brings the thread to a good end without running a tool twice.
#[tokio::test]
async fn whichever_append_fails_the_thread_can_be_used_afterwards() {
    let mut failed = 0;
    for (append, done, resume) in
        (1..12).flat_map(|n| [(n, false, true), (n, true, true), (n, false, false), (n, true, false)])
    {
        let (tool, count) = large();
        let model = answering(|request| match request.messages.last().unwrap().role() {
            Role::User => Reply::nothing().and_call("read", json!({})).and_call("read", json!({})),
            _ => say("done"),
        });
        let store = Watched::new(MemoryCheckpointer::new(), FailsAt { append, done });
        let agent = Agent::builder(model).tool(tool).store(store).build().unwrap();
        let Err(error) = agent.run(Input::new("go").thread("t")).await else {
            continue;
        };
        failed += 1;
        assert!(matches!(error, Error::Store(StoreError::DiskFull(_))), "{error:?}");
        // If the very first append failed, there is no thread.
        assert!(agent.store().list(1).await.unwrap().iter().all(|thread| !thread.active));
        let before = agent.store().load(&"t".into(), 0).await.unwrap();
        let again = match resume && !before.is_empty() {
            true => agent.run(Resume::thread("t")).await,
            false => agent.run(Input::new("go on").thread("t")).await,
        };
        match again {
            Ok(result) => assert_eq!(result.outcome, Outcome::Done),
            // Its very end was recorded, and only the acknowledgement lost.
            Err(error) => assert!(done && matches!(error, Error::NotInterrupted(_)), "{error:?}"),
        }
        let after = agent.store().load(&"t".into(), 0).await.unwrap();
        assert!(after.starts_with(&before));
        let thread = valid_thread(agent.store(), "t").await;
        let rounds = thread.messages().iter().filter(|m| m.role() == Role::User).count();
        assert!(
            count.load(Ordering::SeqCst) <= 2 * rounds,
            "append {append}, done {done}"
        );
    }
    assert!(failed >= 24, "{failed}");
}
