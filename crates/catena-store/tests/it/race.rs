//! Two stores that want the same thread at the same time.

use std::sync::Arc;
use std::time::Duration;

use catena_core::checkpoint::{Checkpointer, StoreError};
use catena_store::{SqliteCheckpointer, SqliteOptions};

use crate::support::{LONG, Place, note, texts};

/// Takes the thread `runs` times and appends three groups of two each time. The lease of every third run is over at once, so that the
/// other store takes the thread in the middle of it. Returns the tokens, in the order in which they were given, and the notes that were
/// acknowledged.
async fn run_often(store: Arc<SqliteCheckpointer>, runs: usize) -> (Vec<u64>, Vec<String>) {
    let (mut tokens, mut acknowledged) = (Vec::new(), Vec::new());
    while tokens.len() < runs {
        let ttl = if tokens.len() % 3 == 0 { Duration::ZERO } else { LONG };
        let lease = match store.acquire(&"t".into(), ttl).await {
            Ok(lease) => lease,
            Err(StoreError::Busy(_)) => {
                tokio::task::yield_now().await;
                continue;
            }
            Err(other) => panic!("{other:?}"),
        };
        tokens.push(lease.token);
        for group in 0..3 {
            let texts = [
                format!("{}-{group}-a", lease.token),
                format!("{}-{group}-b", lease.token),
            ];
            match store.append(&lease, &[note(&texts[0]), note(&texts[1])]).await {
                Ok(_) => acknowledged.extend(texts),
                Err(StoreError::LeaseLost(_)) => break,
                Err(other) => panic!("{other:?}"),
            }
        }
        store.release(&lease).await.unwrap();
    }
    (tokens, acknowledged)
}

/// FC-167: two simultaneous runs on a thread never interleave.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_that_race_never_interleave() {
    let place = Place::new();
    let stores = [Arc::new(place.store().await), Arc::new(place.store().await)];
    let tasks = stores
        .each_ref()
        .map(|store| tokio::spawn(run_often(store.clone(), 60)));
    let (mut all_tokens, mut acknowledged) = (Vec::new(), Vec::new());
    for task in tasks {
        let (tokens, texts) = task.await.unwrap();
        assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
        all_tokens.extend(tokens);
        acknowledged.extend(texts);
    }
    all_tokens.sort_unstable();
    assert!(
        all_tokens.is_sorted_by(|a, b| a < b),
        "a token was given twice: {all_tokens:?}"
    );

    let written = texts(&*stores[0], "t").await;
    let keys: Vec<(u64, &str)> = written
        .iter()
        .map(|text| text.split_once('-').unwrap())
        .map(|(token, rest)| (token.parse().unwrap(), rest))
        .collect();
    assert!(keys.is_sorted_by(|a, b| a < b), "{written:?}");
    acknowledged.sort();
    let mut sorted = written.clone();
    sorted.sort();
    assert_eq!(sorted, acknowledged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_ask_at_once_one_gets_the_thread() {
    let place = Place::new();
    let stores = [Arc::new(place.store().await), Arc::new(place.store().await)];
    for round in 0..20 {
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                let store = stores[n % 2].clone();
                tokio::spawn(async move { store.acquire(&format!("t{round}").into(), LONG).await.is_ok() })
            })
            .collect();
        let mut winners = 0;
        for task in tasks {
            winners += usize::from(task.await.unwrap());
        }
        assert_eq!(winners, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_database_can_be_opened_by_many_at_once() {
    for _ in 0..10 {
        let place = Place::new();
        let tasks: Vec<_> = (0..6)
            .map(|_| {
                let path = place.database();
                tokio::spawn(async move { SqliteCheckpointer::open(&path, SqliteOptions::default()).await })
            })
            .collect();
        let mut stores = Vec::new();
        for task in tasks {
            stores.push(task.await.unwrap().unwrap());
        }
        let lease = stores[0].acquire(&"t".into(), LONG).await.unwrap();
        stores[0].append(&lease, &[note("a")]).await.unwrap();
        for store in &stores {
            assert_eq!(texts(store, "t").await, ["a"]);
        }
    }
}
