//! A disk that is full, a database that is locked, a store that is read-only.

use std::time::{Duration, Instant};

use catena_core::checkpoint::{Checkpointer, Lease, StoreError, Wish};
use catena_store::{SqliteCheckpointer, SqliteOptions};

use crate::support::{LONG, Place, note, notes, texts};

/// Appends until there is no room. Returns how many were acknowledged.
async fn fill(store: &SqliteCheckpointer, lease: &Lease) -> u64 {
    let kilobyte = "x".repeat(1000);
    let mut length = lease.length;
    loop {
        match store
            .append(lease, &[note(format!("{length} {kilobyte}")), note("end")])
            .await
        {
            Ok(new) => length = new,
            Err(StoreError::DiskFull(Some(_))) => return length,
            Err(other) => panic!("{other:?}"),
        }
        assert!(length < 10_000, "it never got full");
    }
}

#[tokio::test]
async fn a_full_disk_loses_nothing_that_was_acknowledged_and_the_store_goes_on_when_there_is_room() {
    let place = Place::new();
    let store = place
        .store_with(SqliteOptions::default().pragma("max_page_count", "60"))
        .await;
    let spare = store.acquire(&"spare".into(), LONG).await.unwrap();
    store.append(&spare, &[note("y".repeat(50_000))]).await.unwrap();
    store.release(&spare).await.unwrap();

    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    let kept = fill(&store, &lease).await;
    assert!(kept > 0);
    assert_eq!(texts(&store, "t").await.len() as u64, kept);
    assert_eq!(store.renew(&lease, LONG).await.unwrap(), Wish::Continue);
    assert_eq!(fill(&store, &lease).await, lease.length, "still full");

    assert!(store.delete(&"spare".into()).await.unwrap());
    assert_eq!(store.append(&lease, &notes(["after"])).await.unwrap(), kept + 1);
    assert_eq!(texts(&store, "t").await.last().unwrap(), "after");
}

#[tokio::test]
async fn a_lock_that_is_not_released_is_an_error_after_the_busy_timeout_and_not_before() {
    let place = Place::new();
    let timeout = Duration::from_millis(100);
    let store = place.store_with(SqliteOptions::default().busy_timeout(timeout)).await;
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    let mut other = place.raw().await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();

    let start = Instant::now();
    let error = store.append(&lease, &notes(["a"])).await.unwrap_err();
    assert!(start.elapsed() >= timeout);
    assert!(error.to_string().contains("locked"), "{error}");
    assert!(texts(&store, "t").await.is_empty(), "readers are not in the way");

    sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    assert_eq!(store.append(&lease, &notes(["a"])).await.unwrap(), 1);
}

#[tokio::test]
async fn a_database_that_cannot_be_written_can_be_read_and_says_what_to_check() {
    let place = Place::new();
    let store = place.store().await;
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    store.append(&lease, &notes(["a"])).await.unwrap();
    store.close().await.unwrap();

    let store = place
        .store_with(SqliteOptions::default().pragma("query_only", "ON"))
        .await;
    assert_eq!(texts(&store, "t").await, ["a"]);
    let error = store.acquire(&"t".into(), LONG).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Open { reason, .. } if reason.contains("permissions")),
        "{error:?}"
    );
    assert!(error.to_string().contains(&place.database()), "{error}");
}
