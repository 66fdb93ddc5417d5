//! What a long thread costs.

use std::fs;

use catena_core::checkpoint::Checkpointer;

use crate::support::{LONG, Place, note};

const KILOBYTE: usize = 1000;

/// The size of a database with one thread of so many steps of a kilobyte.
async fn bytes(steps: usize) -> u64 {
    let place = Place::new();
    let store = place.store().await;
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    for _ in 0..steps {
        store.append(&lease, &[note("x".repeat(KILOBYTE))]).await.unwrap();
        store.renew(&lease, LONG).await.unwrap();
    }
    store.release(&lease).await.unwrap();
    store.close().await.unwrap();
    fs::metadata(place.database()).unwrap().len()
}

/// FC-161: stored bytes grow linearly with the conversation, and are not much more than what was said.
#[tokio::test]
async fn stored_bytes_grow_linearly_with_the_conversation() {
    let (short, long) = (bytes(200).await, bytes(400).await);
    assert!(short <= 2 * 200 * KILOBYTE as u64, "{short} bytes for 200 steps");
    assert!(long * 10 <= short * 22, "{short} bytes for 200 steps, {long} for 400");
}
