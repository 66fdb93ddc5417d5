//! Futures that are dropped before they are done.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use catena_core::checkpoint::{Checkpointer, StoreError};
use catena_store::{SqliteCheckpointer, SqliteOptions};

use crate::support::{LONG, Place, note, texts};

/// Polls a future so many times, then drops it. A statement takes the time of some hundred polls.
async fn give_up_after<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..polls {
        if let Poll::Ready(output) = futures::poll!(future.as_mut()) {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// Numbers that look random and are the same each time: the first ones are small, to hit the steps before the statement is sent.
fn polls() -> impl Iterator<Item = usize> {
    let mut state = 0x9e37_79b9_u32;
    let random = std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % 1500
    });
    (0..30).chain(random)
}

async fn appends_that_are_dropped_happen_or_not(store: SqliteCheckpointer) {
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    let (mut acknowledged, mut dropped) = (Vec::new(), 0);
    for (n, polls) in polls().take(300).enumerate() {
        let group: Vec<_> = (0..3).map(|part| note(format!("{n}-{part}"))).collect();
        match give_up_after(polls, store.append(&lease, &group)).await {
            Some(length) => acknowledged.push((n, length.unwrap())),
            None => dropped += 1,
        }
    }
    assert!(dropped > 0);
    // The connection still works, and waits for whatever is still on its way.
    let length = store.append(&lease, &[]).await.unwrap();
    let found = texts(&store, "t").await;
    assert_eq!(found.len() as u64, length);
    let groups: Vec<usize> = found
        .chunks(3)
        .map(|group| {
            let n = group[0].strip_suffix("-0").unwrap();
            assert_eq!(group, (0..3).map(|part| format!("{n}-{part}")).collect::<Vec<_>>());
            n.parse().unwrap()
        })
        .collect();
    assert!(
        groups.is_sorted_by(|a, b| a < b),
        "each happened once at most, in order"
    );
    for (n, length) in acknowledged {
        assert_eq!(found[length as usize - 1], format!("{n}-2"));
    }
}

#[tokio::test]
async fn appends_to_a_file_that_are_dropped_happen_or_not() {
    let place = Place::new();
    appends_that_are_dropped_happen_or_not(place.store().await).await;
}

#[tokio::test]
async fn appends_in_memory_that_are_dropped_happen_or_not() {
    appends_that_are_dropped_happen_or_not(
        SqliteCheckpointer::open(":memory:", SqliteOptions::default())
            .await
            .unwrap(),
    )
    .await;
}

#[tokio::test]
async fn nobody_waits_for_a_lease_that_never_arrived() {
    let place = Place::new();
    let store = place.store().await;
    let mut dropped = 0;
    for polls in polls().take(200) {
        let held = give_up_after(polls, store.acquire(&"t".into(), LONG)).await;
        dropped += usize::from(held.is_none());
        let lease = match held {
            Some(lease) => lease.unwrap(),
            None => store.acquire(&"t".into(), LONG).await.unwrap(),
        };
        store.release(&lease).await.unwrap();
    }
    assert!(dropped > 0);
}

#[tokio::test]
async fn a_release_that_was_begun_frees_the_thread() {
    let place = Place::new();
    let store = place.store().await;
    for polls in polls().skip(1).take(100) {
        let lease = store.acquire(&"t".into(), LONG).await.unwrap();
        let _ = give_up_after(polls, store.release(&lease)).await;
    }
    store.acquire(&"t".into(), LONG).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_on_its_way_is_not_taken_for_one_that_never_arrived() {
    let place = Place::new();
    let store = Arc::new(place.store().await);
    for round in 0..100 {
        let thread = format!("t{round}");
        let asking = tokio::spawn({
            let (store, thread) = (store.clone(), thread.clone());
            async move { store.acquire(&thread.as_str().into(), LONG).await }
        });
        // Each of these would put out a holder that it takes for dead.
        let busybody = tokio::spawn({
            let (store, thread) = (store.clone(), thread.clone());
            async move {
                for _ in 0..3 {
                    let _ = store.request_cancel(&thread.as_str().into()).await.unwrap();
                    assert!(matches!(
                        store.delete(&thread.as_str().into()).await,
                        Ok(false) | Err(StoreError::Busy(_))
                    ));
                }
            }
        });
        let lease = asking.await.unwrap().unwrap();
        busybody.await.unwrap();
        assert_eq!(store.append(&lease, &[note("mine")]).await.unwrap(), 1);
    }
}

#[tokio::test]
async fn a_load_that_is_dropped_leaves_its_connection_usable() {
    let place = Place::new();
    let store = place.store().await;
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    let many: Vec<_> = (0..2000).map(|n| note(n.to_string())).collect();
    store.append(&lease, &many).await.unwrap();
    for polls in (0..40).map(|n| n * 3) {
        let _ = give_up_after(polls, store.load(&"t".into(), 0)).await;
    }
    assert_eq!(store.load(&"t".into(), 0).await.unwrap(), many);
}
