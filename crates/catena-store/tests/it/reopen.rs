//! What outlives a store, and leases between stores that share a file.

use std::time::Duration;

use catena_core::checkpoint::{Checkpointer, StoreError, Wish};
use catena_store::{SqliteOptions, Synchronous};

use crate::support::{LONG, Place, notes, texts};

#[tokio::test]
async fn everything_is_there_after_reopening() {
    for synchronous in [Synchronous::Full, Synchronous::Normal] {
        let place = Place::new();
        let options = SqliteOptions::default().synchronous(synchronous);
        let store = place.store_with(options.clone()).await;
        let lease = store.acquire(&"t".into(), LONG).await.unwrap();
        store.append(&lease, &notes(["a", "b"])).await.unwrap();
        store.release(&lease).await.unwrap();
        let before = store.list(10).await.unwrap();
        store.close().await.unwrap();

        let store = place.store_with(options).await;
        assert_eq!(store.list(10).await.unwrap(), before);
        assert_eq!(texts(&store, "t").await, ["a", "b"]);
        let next = store.acquire(&"t".into(), LONG).await.unwrap();
        assert!(next.token > lease.token);
        assert_eq!(next.length, 2);
    }
}

#[tokio::test]
async fn each_store_sees_what_the_other_wrote() {
    let place = Place::new();
    let (one, two) = (place.store().await, place.store().await);
    let lease = one.acquire(&"t".into(), LONG).await.unwrap();
    one.append(&lease, &notes(["a"])).await.unwrap();
    assert_eq!(texts(&two, "t").await, ["a"]);
    assert!(matches!(two.acquire(&"t".into(), LONG).await, Err(StoreError::Busy(_))));
    assert!(matches!(two.delete(&"t".into()).await, Err(StoreError::Busy(_))));
    assert!(two.list(1).await.unwrap()[0].active);
    assert!(two.request_cancel(&"t".into()).await.unwrap());
    assert_eq!(one.renew(&lease, LONG).await.unwrap(), Wish::Cancel);
}

#[tokio::test]
async fn an_expired_lease_is_taken_over_and_its_holder_cannot_write() {
    let place = Place::new();
    let (slow, fast) = (place.store().await, place.store().await);
    let old = slow.acquire(&"t".into(), Duration::ZERO).await.unwrap();
    slow.append(&old, &notes(["old"])).await.unwrap();
    let new = fast.acquire(&"t".into(), LONG).await.unwrap();
    assert!(new.token > old.token);
    assert!(matches!(
        slow.append(&old, &notes(["late"])).await,
        Err(StoreError::LeaseLost(_))
    ));
    assert!(matches!(slow.renew(&old, LONG).await, Err(StoreError::LeaseLost(_))));
    slow.release(&old).await.unwrap();
    fast.append(&new, &notes(["new"])).await.unwrap();
    assert_eq!(texts(&slow, "t").await, ["old", "new"]);
}

#[tokio::test]
async fn an_expired_lease_that_nobody_wanted_goes_on() {
    let place = Place::new();
    let (store, other) = (place.store().await, place.store().await);
    let lease = store.acquire(&"t".into(), Duration::ZERO).await.unwrap();
    assert!(!store.list(1).await.unwrap()[0].active);
    assert_eq!(store.append(&lease, &notes(["a"])).await.unwrap(), 1);
    store.renew(&lease, LONG).await.unwrap();
    assert!(matches!(
        other.acquire(&"t".into(), LONG).await,
        Err(StoreError::Busy(_))
    ));
}

#[tokio::test]
async fn the_leases_of_a_dropped_store_are_free() {
    let place = Place::new();
    let (one, two) = (place.store().await, place.store().await);
    let lease = one.acquire(&"t".into(), LONG).await.unwrap();
    one.append(&lease, &notes(["a"])).await.unwrap();
    drop(one);
    assert!(!two.list(1).await.unwrap()[0].active);
    assert!(!two.request_cancel(&"t".into()).await.unwrap());
    assert_eq!(two.acquire(&"t".into(), LONG).await.unwrap().length, 1);
}

#[tokio::test]
async fn a_thread_whose_holder_is_gone_can_be_deleted() {
    let place = Place::new();
    let (one, two) = (place.store().await, place.store().await);
    one.acquire(&"t".into(), LONG).await.unwrap();
    drop(one);
    assert!(two.delete(&"t".into()).await.unwrap());
}

#[tokio::test]
async fn a_lease_from_before_a_thread_was_deleted_stays_lost_when_it_is_made_again() {
    let place = Place::new();
    let store = place.store().await;
    let old = store.acquire(&"t".into(), Duration::ZERO).await.unwrap();
    assert!(store.delete(&"t".into()).await.unwrap());
    let new = store.acquire(&"t".into(), LONG).await.unwrap();
    assert!(new.token > old.token);
    assert!(matches!(
        store.append(&old, &notes(["late"])).await,
        Err(StoreError::LeaseLost(_))
    ));
    assert!(texts(&store, "t").await.is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_database_can_be_read_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let store = place.store().await;
    store.acquire(&"t".into(), LONG).await.unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let mode = std::fs::metadata(place.database() + suffix)
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "catena.db{suffix}");
    }
}

#[tokio::test]
async fn the_database_refuses_to_rewrite_entries() {
    let place = Place::new();
    let store = place.store().await;
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    store.append(&lease, &notes(["a"])).await.unwrap();
    let error = sqlx::raw_sql("UPDATE entries SET body = '{}'")
        .execute(&mut place.raw().await)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("never rewritten"), "{error}");
}
