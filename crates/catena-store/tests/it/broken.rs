//! Files and entries that cannot be used.

use std::fs;

use catena_core::checkpoint::{Checkpointer, StoreError};
use catena_store::{SqliteCheckpointer, SqliteOptions};
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use crate::support::{LONG, Place, note, notes, texts};

/// The reason for which a database does not open; the error names its path.
async fn refused(path: &str) -> String {
    match SqliteCheckpointer::open(path, SqliteOptions::default()).await {
        Err(StoreError::Open { path: named, reason }) if named == path => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_not_touched() {
    let place = Place::new();
    place.store().await.close().await.unwrap();
    place.sql("PRAGMA user_version = 1000").await;
    match SqliteCheckpointer::open(&place.database(), SqliteOptions::default()).await {
        Err(error @ StoreError::Newer { .. }) => assert!(error.to_string().contains(&place.database()), "{error}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_database_of_another_program_is_not_touched() {
    let place = Place::new();
    let path = place.path("bookmarks.db");
    let mut other = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(true)
        .connect()
        .await
        .unwrap();
    sqlx::raw_sql("CREATE TABLE threads (x)")
        .execute(&mut other)
        .await
        .unwrap();
    assert!(refused(&path).await.contains("another program"));
    let tables: (i64,) = sqlx::query_as("SELECT count(*) FROM sqlite_schema")
        .fetch_one(&mut other)
        .await
        .unwrap();
    assert_eq!(tables.0, 1);
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_left_as_it_is() {
    let place = Place::new();
    let (path, letter) = (
        place.path("letter.txt"),
        "Dear reader, this is no database. ".repeat(100),
    );
    fs::write(&path, &letter).unwrap();
    assert!(refused(&path).await.contains("not an SQLite database"));
    assert_eq!(fs::read_to_string(&path).unwrap(), letter);
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let place = Place::new();
    fs::write(place.database(), "").unwrap();
    let store = place.store().await;
    store.acquire(&"t".into(), LONG).await.unwrap();
}

#[tokio::test]
async fn a_path_that_cannot_be_a_file_is_explained() {
    let place = Place::new();
    fs::create_dir(place.path("directory")).unwrap();
    fs::write(place.path("file"), "").unwrap();
    for (name, remedy) in [
        ("directory", "it is a directory"),
        ("missing/catena.db", "does not exist; create it"),
        ("file/catena.db", "is not a directory"),
    ] {
        let reason = refused(&place.path(name)).await;
        assert!(reason.contains(remedy), "{name}: {reason}");
    }
}

/// Fills a thread, closes the database and breaks all of its pages but the first.
async fn damaged() -> Place {
    let place = Place::new();
    let store = place.store().await;
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    for n in 0..50 {
        store
            .append(&lease, &[note(format!("{n} {}", "x".repeat(1000)))])
            .await
            .unwrap();
    }
    store.close().await.unwrap();
    let mut bytes = fs::read(place.database()).unwrap();
    assert!(bytes.len() > 10 * 4096);
    bytes[4096..].fill(0xa5);
    fs::write(place.database(), bytes).unwrap();
    place
}

#[tokio::test]
async fn a_damaged_file_is_an_error_that_says_what_to_do() {
    let place = damaged().await;
    let store = place.store().await;
    let error = store.acquire(&"t".into(), LONG).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Open { reason, .. } if reason.contains("backup")),
        "{error:?}"
    );
    let error = store.load(&"t".into(), 0).await.unwrap_err();
    assert!(matches!(&error, StoreError::Corrupt { .. }), "{error:?}");
    let error = store.list(10).await.unwrap_err();
    assert!(matches!(&error, StoreError::Open { .. }), "{error:?}");
}

#[tokio::test]
async fn a_file_that_was_cut_short_is_an_error() {
    let place = Place::new();
    place.store().await.close().await.unwrap();
    let bytes = fs::read(place.database()).unwrap();
    fs::write(place.database(), &bytes[..2000]).unwrap();
    let reason = refused(&place.database()).await;
    assert!(
        reason.contains("damaged") || reason.contains("not an SQLite database"),
        "{reason}"
    );
}

/// A thread of three entries, and what SQL does to it.
async fn tampered(sql: &'static str) -> (Place, SqliteCheckpointer) {
    let place = Place::new();
    let store = place.store().await;
    let lease = store.acquire(&"t".into(), LONG).await.unwrap();
    store.append(&lease, &notes(["a", "b", "c"])).await.unwrap();
    store.release(&lease).await.unwrap();
    place.sql("DROP TRIGGER entries_are_never_rewritten").await;
    place.sql(sql).await;
    (place, store)
}

#[tokio::test]
async fn an_entry_that_is_not_json_is_named_by_its_position() {
    let (_place, store) = tampered("UPDATE entries SET body = '{\"entry\": \"call_st' WHERE position = 1").await;
    let error = store.load(&"t".into(), 0).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Corrupt { thread, position: 1, .. } if thread.as_str() == "t"),
        "{error:?}"
    );
    assert_eq!(store.load(&"t".into(), 2).await.unwrap(), notes(["c"]));
}

#[tokio::test]
async fn a_missing_entry_is_named_by_its_position() {
    for (sql, missing) in [
        ("DELETE FROM entries WHERE position = 0", 0),
        ("DELETE FROM entries WHERE position = 1", 1),
        ("DELETE FROM entries WHERE position = 2", 2),
        ("DELETE FROM entries", 0),
    ] {
        let (_place, store) = tampered(sql).await;
        let error = store.load(&"t".into(), 0).await.unwrap_err();
        assert!(
            matches!(&error, StoreError::Corrupt { position, .. } if *position == missing),
            "{sql}: {error:?}"
        );
    }
}

#[tokio::test]
async fn an_entry_of_an_unknown_kind_asks_for_a_newer_version() {
    let (_place, store) = tampered("UPDATE entries SET body = '{\"entry\":\"telepathy\"}' WHERE position = 2").await;
    let error = store.load(&"t".into(), 0).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Newer { what } if what.contains("`t`")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_thread_that_cannot_be_read_does_not_harm_others() {
    let (_place, store) = tampered("UPDATE entries SET body = 'x' WHERE position = 1").await;
    let lease = store.acquire(&"other".into(), LONG).await.unwrap();
    store.append(&lease, &notes(["fine"])).await.unwrap();
    assert_eq!(texts(&store, "other").await, ["fine"]);
    assert_eq!(store.list(10).await.unwrap().len(), 2);
    assert!(store.delete(&"t".into()).await.unwrap());
}
