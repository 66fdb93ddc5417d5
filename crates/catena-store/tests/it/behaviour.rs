//! One suite for every store.

use std::sync::Arc;
use std::time::Duration;

use catena_core::checkpoint::{Checkpointer, MemoryCheckpointer, StoreError, Wish};
use catena_store::{SqliteCheckpointer, SqliteOptions};
use tokio::sync::Barrier;

use crate::support::{LONG, Place, note, notes, text, texts};

/// Runs each behaviour over each store.
macro_rules! suite {
    ($($(#[$doc:meta])* $behaviour:ident)*) => {
        mod memory {
            $($(#[$doc])* #[tokio::test(flavor = "multi_thread", worker_threads = 2)] async fn $behaviour() {
                super::$behaviour(super::Arc::new(super::MemoryCheckpointer::new())).await;
            })*
        }
        mod sqlite_in_memory {
            $($(#[$doc])* #[tokio::test(flavor = "multi_thread", worker_threads = 2)] async fn $behaviour() {
                let options = super::SqliteOptions::default();
                super::$behaviour(super::Arc::new(super::SqliteCheckpointer::open("sqlite::memory:", options).await.unwrap())).await;
            })*
        }
        mod sqlite_in_a_file {
            $($(#[$doc])* #[tokio::test(flavor = "multi_thread", worker_threads = 2)] async fn $behaviour() {
                let place = super::Place::new();
                super::$behaviour(super::Arc::new(place.store().await)).await;
            })*
        }
    };
}

suite! {
    a_new_thread_is_empty
    a_held_thread_is_busy_until_it_is_released
    tokens_increase_with_every_lease
    entries_are_loaded_in_the_order_in_which_they_were_appended
    append_tells_the_new_length
    a_lease_tells_how_long_its_thread_is
    loading_starts_at_a_position
    a_late_write_with_an_old_token_writes_nothing
    a_lease_that_was_given_back_is_lost
    giving_back_a_lost_lease_leaves_the_new_holder_alone
    a_lease_on_a_deleted_thread_is_lost
    threads_are_listed_by_last_use
    a_list_is_cut_at_its_limit
    an_idle_thread_is_deleted_with_everything_in_it
    a_busy_thread_is_not_deleted
    /// FC-170: cancelling says whether there was anyone to tell.
    a_wish_to_cancel_reaches_the_holder_and_nobody_after
    an_unknown_thread_has_nothing_to_load_cancel_or_delete
    /// FC-163: the results of tools that finish at the same moment are all kept.
    eight_results_at_once_are_all_kept
    what_is_appended_together_stays_together
    names_of_threads_may_hold_anything
}

type Store = Arc<dyn Checkpointer>;

async fn a_new_thread_is_empty(store: Store) {
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    assert_eq!((lease.thread.as_str(), lease.length), ("t", 0));
    assert!(store.load(&"t".into(), 0).await.unwrap().is_empty());
    assert_eq!(store.list(10).await.unwrap()[0].entries, 0);
}

async fn a_held_thread_is_busy_until_it_is_released(store: Store) {
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    let error = store.acquire(&"t".into(), LONG).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy(thread) if thread.as_str() == "t"));
    store.acquire(&"another".into(), LONG).await.unwrap();
    store.release(&lease).await.unwrap();
    store.acquire(&"t".into(), LONG).await.unwrap();
}

async fn tokens_increase_with_every_lease(store: Store) {
    let mut last = 0;
    for _ in 0..5 {
        let lease = store.acquire(&"t".into(), LONG).await.unwrap();
        assert!(lease.token > last, "{} after {last}", lease.token);
        last = lease.token;
        store.release(&lease).await.unwrap();
    }
}

async fn entries_are_loaded_in_the_order_in_which_they_were_appended(store: Store) {
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    store.append(&lease, &notes(["a", "b"])).await.unwrap();
    store.append(&lease, &notes(["c"])).await.unwrap();
    assert_eq!(store.load(&"t".into(), 0).await.unwrap(), notes(["a", "b", "c"]));
}

async fn append_tells_the_new_length(store: Store) {
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    assert_eq!(store.append(&lease, &[]).await.unwrap(), 0);
    assert_eq!(store.append(&lease, &notes(["a", "b"])).await.unwrap(), 2);
    assert_eq!(store.append(&lease, &notes(["c"])).await.unwrap(), 3);
    assert_eq!(store.append(&lease, &[]).await.unwrap(), 3);
}

async fn a_lease_tells_how_long_its_thread_is(store: Store) {
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    store.append(&lease, &notes(["a", "b"])).await.unwrap();
    store.release(&lease).await.unwrap();
    assert_eq!(store.acquire(&"t".into(), LONG).await.unwrap().length, 2);
}

async fn loading_starts_at_a_position(store: Store) {
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    store.append(&lease, &notes(["a", "b", "c"])).await.unwrap();
    for (from, rest) in [
        (0, &["a", "b", "c"][..]),
        (1, &["b", "c"]),
        (2, &["c"]),
        (3, &[]),
        (u64::MAX, &[]),
    ] {
        let entries = store.load(&"t".into(), from).await.unwrap();
        assert_eq!(
            entries.iter().map(|entry| text(entry)).collect::<Vec<_>>(),
            rest,
            "from {from}"
        );
    }
}

async fn a_late_write_with_an_old_token_writes_nothing(store: Store) {
    let old = store.acquire(&"t".into(), LONG).await.unwrap();
    store.append(&old, &notes(["old"])).await.unwrap();
    store.release(&old).await.unwrap();
    let new = store.acquire(&"t".into(), LONG).await.unwrap();
    for late in [&notes(["late", "later"])[..], &[]] {
        assert!(matches!(store.append(&old, late).await, Err(StoreError::LeaseLost(thread)) if thread.as_str() == "t"));
    }
    assert!(matches!(store.renew(&old, LONG).await, Err(StoreError::LeaseLost(_))));
    store.append(&new, &notes(["new"])).await.unwrap();
    assert_eq!(texts(&*store, "t").await, ["old", "new"]);
}

async fn a_lease_that_was_given_back_is_lost(store: Store) {
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    store.release(&lease).await.unwrap();
    assert!(matches!(
        store.append(&lease, &notes(["late"])).await,
        Err(StoreError::LeaseLost(_))
    ));
    assert!(matches!(store.renew(&lease, LONG).await, Err(StoreError::LeaseLost(_))));
    assert!(texts(&*store, "t").await.is_empty());
}

async fn giving_back_a_lost_lease_leaves_the_new_holder_alone(store: Store) {
    let old = store.acquire(&"t".into(), LONG).await.unwrap();
    store.release(&old).await.unwrap();
    let new = store.acquire(&"t".into(), LONG).await.unwrap();
    store.release(&old).await.unwrap();
    assert_eq!(store.append(&new, &notes(["mine"])).await.unwrap(), 1);
    assert!(matches!(
        store.acquire(&"t".into(), LONG).await,
        Err(StoreError::Busy(_))
    ));
}

async fn a_lease_on_a_deleted_thread_is_lost(store: Store) {
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    store.release(&lease).await.unwrap();
    store.delete(&"t".into()).await.unwrap();
    assert!(matches!(
        store.append(&lease, &notes(["late"])).await,
        Err(StoreError::LeaseLost(_))
    ));
    assert!(store.list(10).await.unwrap().is_empty());
}

async fn threads_are_listed_by_last_use(store: Store) {
    let mut leases = Vec::new();
    for name in ["a", "b", "c"] {
        leases.push(store.acquire(&name.into(), LONG).await.unwrap());
        // The clock need not move between two steps of a test.
        store.append(leases.last().unwrap(), &notes(["x"])).await.unwrap();
        tick().await;
    }
    store.append(&leases[0], &notes(["y", "z"])).await.unwrap();
    store.release(&leases[1]).await.unwrap();
    let threads = store.list(10).await.unwrap();
    let listed: Vec<_> = threads
        .iter()
        .map(|info| (info.thread.as_str(), info.entries, info.active))
        .collect();
    assert_eq!(listed, [("a", 3, true), ("c", 1, true), ("b", 1, false)]);
    assert!(threads.iter().all(|info| info.created <= info.updated));
}

/// Returns when the clock shows another microsecond.
async fn tick() {
    let start = jiff::Timestamp::now().as_microsecond();
    while jiff::Timestamp::now().as_microsecond() <= start {
        tokio::task::yield_now().await;
    }
}

async fn a_list_is_cut_at_its_limit(store: Store) {
    for name in ["a", "b", "c"] {
        store.acquire(&name.into(), LONG).await.unwrap();
    }
    assert_eq!(store.list(2).await.unwrap().len(), 2);
    assert_eq!(store.list(0).await.unwrap().len(), 0);
    assert_eq!(store.list(usize::MAX).await.unwrap().len(), 3);
}

async fn an_idle_thread_is_deleted_with_everything_in_it(store: Store) {
    for name in ["t", "other"] {
        let lease = store.acquire(&name.into(), LONG).await.unwrap();
        store.append(&lease, &notes(["a"])).await.unwrap();
        store.release(&lease).await.unwrap();
    }
    assert!(store.delete(&"t".into()).await.unwrap());
    assert!(!store.delete(&"t".into()).await.unwrap());
    assert!(texts(&*store, "t").await.is_empty());
    assert_eq!(texts(&*store, "other").await, ["a"]);
    assert_eq!(store.acquire(&"t".into(), LONG).await.unwrap().length, 0);
}

async fn a_busy_thread_is_not_deleted(store: Store) {
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    store.append(&lease, &notes(["a"])).await.unwrap();
    assert!(matches!(store.delete(&"t".into()).await, Err(StoreError::Busy(_))));
    assert_eq!(store.append(&lease, &notes(["b"])).await.unwrap(), 2);
}

async fn a_wish_to_cancel_reaches_the_holder_and_nobody_after(store: Store) {
    let first = store.acquire(&"t".into(), LONG).await.unwrap();
    assert_eq!(store.renew(&first, LONG).await.unwrap(), Wish::Continue);
    assert!(store.request_cancel(&"t".into()).await.unwrap());
    assert_eq!(store.renew(&first, LONG).await.unwrap(), Wish::Cancel);
    assert_eq!(store.renew(&first, LONG).await.unwrap(), Wish::Cancel);
    store.release(&first).await.unwrap();
    assert!(!store.request_cancel(&"t".into()).await.unwrap());
    let second = store.acquire(&"t".into(), LONG).await.unwrap();
    assert_eq!(store.renew(&second, LONG).await.unwrap(), Wish::Continue);
}

async fn an_unknown_thread_has_nothing_to_load_cancel_or_delete(store: Store) {
    assert!(store.load(&"t".into(), 0).await.unwrap().is_empty());
    assert!(!store.request_cancel(&"t".into()).await.unwrap());
    assert!(!store.delete(&"t".into()).await.unwrap());
    assert!(store.list(10).await.unwrap().is_empty());
}

async fn eight_results_at_once_are_all_kept(store: Store) {
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    for round in 0..10 {
        let start = Arc::new(Barrier::new(8));
        let tools: Vec<_> = (0..8)
            .map(|tool| {
                let (store, lease, start) = (store.clone(), lease.clone(), start.clone());
                tokio::spawn(async move {
                    start.wait().await;
                    store.append(&lease, &[note(format!("{round}-{tool}"))]).await.unwrap()
                })
            })
            .collect();
        let mut lengths = Vec::new();
        for tool in tools {
            lengths.push(tool.await.unwrap());
        }
        lengths.sort_unstable();
        assert_eq!(lengths, (round * 8 + 1..=round * 8 + 8).collect::<Vec<_>>());
    }
    let mut found = texts(&*store, "t").await;
    found.sort();
    let mut expected: Vec<_> = (0..10)
        .flat_map(|round| (0..8).map(move |tool| format!("{round}-{tool}")))
        .collect();
    expected.sort();
    assert_eq!(found, expected);
}

async fn what_is_appended_together_stays_together(store: Store) {
    let lease = store.acquire(&"t".into(), Duration::from_secs(60)).await.unwrap();
    let tasks: Vec<_> = (0..20)
        .map(|task| {
            let (store, lease) = (store.clone(), lease.clone());
            tokio::spawn(async move {
                let group: Vec<_> = (0..5).map(|n| note(format!("{task}-{n}"))).collect();
                store.append(&lease, &group).await.unwrap()
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let found = texts(&*store, "t").await;
    assert_eq!(found.len(), 100);
    for group in found.chunks(5) {
        let task = group[0].strip_suffix("-0").unwrap();
        assert_eq!(group, (0..5).map(|n| format!("{task}-{n}")).collect::<Vec<_>>());
    }
}

async fn names_of_threads_may_hold_anything(store: Store) {
    let names = ["", " ", "a'b\"c", "对话 🧵", "nul\0inside", "%", "a", "A"];
    for name in names {
        let lease = store.acquire(&name.into(), LONG).await.unwrap();
        store.append(&lease, &[note(name)]).await.unwrap();
    }
    for name in names {
        assert_eq!(texts(&*store, name).await, [name]);
    }
    assert_eq!(store.list(100).await.unwrap().len(), names.len());
}
