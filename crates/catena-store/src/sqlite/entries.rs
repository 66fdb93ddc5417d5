//! Entries: appending, loading; and the list of threads.

use std::sync::Arc;

use catena_core::checkpoint::{Lease, StoreError, ThreadInfo};
use catena_core::id::ThreadId;
use catena_core::record::Entry;
use futures::TryStreamExt;
use jiff::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::error::is_damage;
use super::leases::is_alive;
use super::{SqliteCheckpointer, from_sql, to_sql};
use crate::codec;

/// The check of the token and all rows, in one statement; the entries come as one JSON array, so that the statement is the same for any
/// number of them. SQLite keeps the text of each element as it is. Triggers count the thread's entries.
const APPEND: &str = "\
    INSERT INTO entries (thread, position, at, body) \
    SELECT t.key, t.length + new.key, ?4, new.value FROM threads t, json_each(?3) new \
    WHERE t.id = ?1 AND t.token = ?2 AND t.owner IS NOT NULL \
    RETURNING position";
const LENGTH: &str = "SELECT length FROM threads WHERE id = ?1 AND token = ?2 AND owner IS NOT NULL";
/// One row of nulls if the thread has no entries from there on.
const LOAD: &str = "\
    SELECT t.length, e.position, e.body FROM threads t LEFT JOIN entries e ON e.thread = t.key AND e.position >= ?2 \
    WHERE t.id = ?1 ORDER BY e.position";
const LIST: &str = "\
    SELECT id, length, created, updated, token, CASE WHEN lease_until > ?2 THEN owner END \
    FROM threads ORDER BY updated DESC, id LIMIT ?1";

pub(super) async fn append(
    store: &SqliteCheckpointer,
    lease: &Lease,
    entries: &[Arc<Entry>],
) -> Result<u64, StoreError> {
    let lost = || StoreError::LeaseLost(lease.thread.clone());
    if entries.is_empty() {
        return length(store, lease).await?.ok_or_else(lost);
    }
    let bodies = codec::encode(entries)?;
    // `fetch_all`, for the reason given in `leases`.
    let positions: Vec<(i64,)> = sqlx::query_as(APPEND)
        .bind(lease.thread.as_str())
        .bind(to_sql(lease.token))
        .bind(bodies)
        .bind(Timestamp::now().as_microsecond())
        .fetch_all(&mut *store.connections.writer().await)
        .await
        .map_err(store.explain("appending to a thread"))?;
    positions
        .into_iter()
        .max()
        .map(|(last,)| from_sql(last) + 1)
        .ok_or_else(lost)
}

async fn length(store: &SqliteCheckpointer, lease: &Lease) -> Result<Option<u64>, StoreError> {
    let row: Option<(i64,)> = sqlx::query_as(LENGTH)
        .bind(lease.thread.as_str())
        .bind(to_sql(lease.token))
        .fetch_optional(&mut *store.connections.writer().await)
        .await
        .map_err(store.explain("reading the length of a thread"))?;
    Ok(row.map(|(length,)| from_sql(length)))
}

pub(super) async fn load(
    store: &SqliteCheckpointer,
    thread: &ThreadId,
    from: u64,
) -> Result<Vec<Arc<Entry>>, StoreError> {
    let mut connection = store.connections.reader().await;
    let mut rows = sqlx::query(LOAD)
        .bind(thread.as_str())
        .bind(to_sql(from))
        .fetch(&mut *connection);
    let (mut entries, mut position, mut length) = (Vec::new(), from, 0);
    loop {
        let corrupt = |reason: String| StoreError::Corrupt {
            thread: thread.clone(),
            position,
            reason,
        };
        let row = match rows.try_next().await {
            Ok(Some(row)) => row,
            Ok(None) => break,
            Err(error) if is_damage(&error) => return Err(corrupt("the file is damaged".to_owned())),
            Err(error) => return Err(store.explain("loading a thread")(error)),
        };
        let (total, found) = numbers(&row).map_err(store.explain("loading a thread"))?;
        length = from_sql(total);
        match found {
            None => break,
            Some(found) if found != to_sql(position) => {
                return Err(corrupt(format!("it is missing; the next one is {found}")));
            }
            Some(_) => {}
        }
        let body: &str = row.try_get(2).map_err(|error| corrupt(error.to_string()))?;
        entries.push(codec::decode(thread, position, body)?);
        position += 1;
        // Reading a long thread takes a while; others get their turn.
        tokio::task::coop::consume_budget().await;
    }
    if position < length {
        let reason = format!("it is missing, and so is all up to {length}");
        return Err(StoreError::Corrupt {
            thread: thread.clone(),
            position,
            reason,
        });
    }
    Ok(entries)
}

/// The thread's length, and the position of the entry.
fn numbers(row: &SqliteRow) -> Result<(i64, Option<i64>), sqlx::Error> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// A thread as it is listed: id, length, created, updated, token, and the owner if the lease's time is not over.
type Listed = (String, i64, i64, i64, i64, Option<String>);

pub(super) async fn list(store: &SqliteCheckpointer, limit: usize) -> Result<Vec<ThreadInfo>, StoreError> {
    let threads: Vec<Listed> = sqlx::query_as(LIST)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .bind(Timestamp::now().as_millisecond())
        .fetch_all(&mut *store.connections.reader().await)
        .await
        .map_err(store.explain("listing the threads"))?;
    Ok(threads.into_iter().map(|listed| info(store, listed)).collect())
}

fn info(store: &SqliteCheckpointer, (id, length, created, updated, token, owner): Listed) -> ThreadInfo {
    let thread = ThreadId::from(id);
    let active = owner.is_some_and(|owner| is_alive(store, &owner, || store.held.may_have(&thread, from_sql(token))));
    ThreadInfo {
        thread,
        entries: from_sql(length),
        created: time(created),
        updated: time(updated),
        active,
    }
}

/// Times are ours, so they are in range; the beginning of 1970 is as good as any for one that is not.
fn time(microseconds: i64) -> Timestamp {
    Timestamp::from_microsecond(microseconds).unwrap_or(Timestamp::UNIX_EPOCH)
}
