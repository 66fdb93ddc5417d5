//! A process that is killed while it holds a lease.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use catena_core::checkpoint::{Checkpointer, StoreError};
use catena_store::{SqliteCheckpointer, SqliteOptions};

use crate::support::{LONG, Place, note, texts};

/// Tells the test binary to be the process that is killed, and on which database.
const VICTIM: &str = "CATENA_STORE_TEST_VICTIM";
const THIS_TEST: &str = "death::a_thread_of_a_killed_process_is_free_at_once_and_keeps_what_was_acknowledged";

/// FC-164, FC-170: what a killed process was told is kept is kept, and its thread can be used at once.
#[tokio::test]
async fn a_thread_of_a_killed_process_is_free_at_once_and_keeps_what_was_acknowledged() {
    if let Ok(path) = std::env::var(VICTIM) {
        write_until_killed(&path).await;
    }
    let place = Place::new();
    let store = place.store().await;
    let mut kept = 0;
    for round in 1..=5 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args([THIS_TEST, "--exact", "--nocapture"])
            .env(VICTIM, place.database())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let acknowledged = wait_for(&mut victim, kept + 10 * round);
        assert!(
            matches!(store.acquire(&"t".into(), LONG).await, Err(StoreError::Busy(_))),
            "its holder lives"
        );
        assert!(store.list(1).await.unwrap()[0].active);
        victim.kill().unwrap();
        victim.wait().unwrap();

        assert!(!store.list(1).await.unwrap()[0].active);
        assert!(!store.request_cancel(&"t".into()).await.unwrap());
        let lease = store.acquire(&"t".into(), LONG).await.unwrap();
        assert!(
            lease.length >= acknowledged,
            "{} entries, {acknowledged} acknowledged",
            lease.length
        );
        let expected: Vec<_> = (1..=lease.length).map(|n| n.to_string()).collect();
        assert_eq!(texts(&store, "t").await, expected);
        store.release(&lease).await.unwrap();
        kept = lease.length;
    }
}

/// Reads what the victim was acknowledged until it is as much as asked for.
fn wait_for(victim: &mut Child, enough: u64) -> u64 {
    let lines = BufReader::new(victim.stdout.as_mut().unwrap()).lines();
    let lengths = lines.filter_map(|line| {
        line.unwrap()
            .rsplit_once("kept ")
            .map(|(_, length)| length.parse::<u64>().unwrap())
    });
    lengths
        .into_iter()
        .find(|length| *length >= enough)
        .expect("the victim ended early")
}

async fn write_until_killed(path: &str) -> ! {
    let store = SqliteCheckpointer::open(path, SqliteOptions::default()).await.unwrap();
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    let (mut length, mut stdout) = (lease.length, std::io::stdout());
    loop {
        length = store.append(&lease, &[note((length + 1).to_string())]).await.unwrap();
        // `println!` would be caught by the test harness.
        stdout.write_all(format!("kept {length}\n").as_bytes()).unwrap();
    }
}
