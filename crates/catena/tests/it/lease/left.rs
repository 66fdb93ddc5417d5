//! Runs that a process left behind when it died.

use std::path::Path;
use std::time::Duration;

use catena::prelude::*;
use catena::record::{CallStatus, OutcomeRecord};

use super::{Log, agent, logged};
use crate::support::{Hold, sqlite, valid_thread};

/// Runs on these threads until all of them are in the middle of a tool, and dies there.
fn die_with_active_runs(dir: &Path, threads: &[&str]) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (hold, log) = (Hold::new(), Log::default());
        let agent = agent(sqlite(dir).await, &hold, &log, None);
        for thread in threads {
            agent.start(Input::new("go").thread(*thread)).detach();
            hold.reached().await;
        }
    });
    // Its tasks stop where they are, and the leases of its store die with it.
    runtime.shutdown_timeout(Duration::from_secs(60));
}

/// FC-170: runs that were active at a crash are seen to be so at once, and each can be continued, cancelled or left behind by a new input.
#[tokio::test]
async fn what_a_dead_process_left_can_be_continued_cancelled_or_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    let dead = std::thread::spawn(move || die_with_active_runs(&path, &["resumed", "cancelled", "left"]));
    dead.join().unwrap();

    let (hold, log) = (Hold::new(), Log::default());
    let agent = agent(sqlite(dir.path()).await, &hold, &log, None);
    let threads = agent.store().list(10).await.unwrap();
    assert_eq!(threads.len(), 3);
    for info in threads {
        assert!(!info.active, "{} is not active any more", info.thread);
        let thread = agent.thread(&info.thread).await.unwrap();
        assert_eq!(thread.run().unwrap().outcome(), None, "and not finished either");
    }

    let resumed = agent.run(Resume::thread("resumed")).await.unwrap();
    assert_eq!(resumed.outcome, Outcome::Done);
    let thread = valid_thread(agent.store(), "resumed").await;
    assert_eq!(
        thread.run().unwrap().calls()[0].status,
        CallStatus::Unknown,
        "it may not be repeated"
    );

    assert!(agent.cancel(&"cancelled".into()).await.unwrap());
    let thread = valid_thread(agent.store(), "cancelled").await;
    assert_eq!(thread.run().unwrap().outcome(), Some(&OutcomeRecord::Cancelled));
    let late = agent.run(Resume::thread("cancelled")).await;
    assert!(matches!(late, Err(Error::NotInterrupted(_))), "{late:?}");

    hold.release();
    let next = agent.run(Input::new("next").thread("left")).await.unwrap();
    assert_eq!(next.outcome, Outcome::Done);
    valid_thread(agent.store(), "left").await;
    assert_eq!(
        logged(&log),
        ["end go", "end go", "end go", "begin next", "end next"],
        "each run ended once"
    );
}
