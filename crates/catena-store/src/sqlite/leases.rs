//! Leases: taking, keeping, giving back, taking over; and what they guard, deleting a thread.
//!
//! Statements that write and return rows are run with `fetch_all`, never with `fetch_one` or `fetch_optional`: those stop at the first row,
//! which is before the commit, and would report a commit that failed as done.

use std::time::Duration;

use catena_core::checkpoint::{Lease, StoreError, Wish};
use catena_core::id::ThreadId;
use jiff::Timestamp;

use super::{SqliteCheckpointer, from_sql, to_sql};
use crate::owner::Standing;

/// A free thread is taken, an unknown one made; otherwise nothing happens and no row comes back.
const ACQUIRE: &str = "\
    INSERT INTO threads (id, created, updated, token, owner, lease_until) \
    VALUES (?1, ?2, ?2, (SELECT token FROM fence) + 1, ?3, ?4) \
    ON CONFLICT (id) DO UPDATE SET token = token + 1, owner = ?3, lease_until = ?4, cancel = 0 \
    WHERE owner IS NULL OR lease_until <= ?5 \
    RETURNING token, length";
const RENEW: &str =
    "UPDATE threads SET lease_until = ?3 WHERE id = ?1 AND token = ?2 AND owner IS NOT NULL RETURNING cancel";
const RELEASE: &str = "UPDATE threads SET owner = NULL, lease_until = NULL, cancel = 0 WHERE id = ?1 AND token = ?2";
const REQUEST_CANCEL: &str = "UPDATE threads SET cancel = 1 WHERE id = ?1 AND token = ?2 AND owner IS NOT NULL";
const DELETE: &str = "DELETE FROM threads WHERE id = ?1 AND (owner IS NULL OR lease_until <= ?2)";
const HOLDER: &str = "SELECT token, owner FROM threads WHERE id = ?1 AND owner IS NOT NULL AND lease_until > ?2";

/// How often to try again after a dead owner was put out. Each time but the first means that another process took the thread in the
/// moment between, and died.
const TRIES: usize = 3;

fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

fn until(ttl: Duration) -> i64 {
    now().saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX))
}

pub(super) async fn acquire(store: &SqliteCheckpointer, thread: &ThreadId, ttl: Duration) -> Result<Lease, StoreError> {
    let busy = || StoreError::Busy(thread.clone());
    let asking = store.held.ask(thread).ok_or_else(busy)?;
    for _ in 0..TRIES {
        let rows: Vec<(i64, i64)> = sqlx::query_as(ACQUIRE)
            .bind(thread.as_str())
            .bind(Timestamp::now().as_microsecond())
            .bind(store.presence.text())
            .bind(until(ttl))
            .bind(now())
            .fetch_all(&mut *store.connections.writer().await)
            .await
            .map_err(store.explain("taking a thread"))?;
        if let Some(&(token, length)) = rows.first() {
            let lease = Lease {
                thread: thread.clone(),
                token: from_sql(token),
                length: from_sql(length),
            };
            asking.given(lease.token);
            return Ok(lease);
        }
        // This task has the turn to ask, so a lease of this store that is in nobody's hands is not on its way to another task.
        if let Some(token) = holder(store, thread, |token| store.held.has(thread, token)).await? {
            tracing::debug!(%thread, token, "the thread is in use");
            return Err(busy());
        }
    }
    Err(busy())
}

/// The token of the lease that is alive on the thread. A dead owner is put out.
async fn holder(
    store: &SqliteCheckpointer,
    thread: &ThreadId,
    in_our_hands: impl Fn(u64) -> bool,
) -> Result<Option<u64>, StoreError> {
    let row: Option<(i64, String)> = sqlx::query_as(HOLDER)
        .bind(thread.as_str())
        .bind(now())
        .fetch_optional(&mut *store.connections.writer().await)
        .await
        .map_err(store.explain("looking for the holder of a thread"))?;
    let Some((token, owner)) = row else { return Ok(None) };
    let token = from_sql(token);
    if is_alive(store, &owner, || in_our_hands(token)) {
        return Ok(Some(token));
    }
    tracing::info!(%thread, token, "the holder of the thread is dead");
    // Only this lease: if someone was faster, theirs has another token.
    free(store, thread, token).await?;
    Ok(None)
}

/// Whether the owner of a lease lives; one of this store's own leases, whether it is in someone's hands.
pub(super) fn is_alive(store: &SqliteCheckpointer, owner: &str, in_our_hands: impl FnOnce() -> bool) -> bool {
    match store.presence.look_up(owner) {
        Standing::Own => in_our_hands(),
        Standing::Other => true,
        Standing::Dead => false,
    }
}

async fn free(store: &SqliteCheckpointer, thread: &ThreadId, token: u64) -> Result<(), StoreError> {
    sqlx::query(RELEASE)
        .bind(thread.as_str())
        .bind(to_sql(token))
        .execute(&mut *store.connections.writer().await)
        .await
        .map_err(store.explain("giving a thread back"))?;
    Ok(())
}

pub(super) async fn renew(store: &SqliteCheckpointer, lease: &Lease, ttl: Duration) -> Result<Wish, StoreError> {
    let rows: Vec<(i64,)> = sqlx::query_as(RENEW)
        .bind(lease.thread.as_str())
        .bind(to_sql(lease.token))
        .bind(until(ttl))
        .fetch_all(&mut *store.connections.writer().await)
        .await
        .map_err(store.explain("renewing a lease"))?;
    match rows.first() {
        None => Err(StoreError::LeaseLost(lease.thread.clone())),
        Some((0,)) => Ok(Wish::Continue),
        Some(_) => Ok(Wish::Cancel),
    }
}

pub(super) async fn release(store: &SqliteCheckpointer, lease: &Lease) -> Result<(), StoreError> {
    // First, so that a release that is dropped half-way leaves a lease that is in nobody's hands.
    store.held.drop_lease(&lease.thread, lease.token);
    free(store, &lease.thread, lease.token).await
}

pub(super) async fn request_cancel(store: &SqliteCheckpointer, thread: &ThreadId) -> Result<bool, StoreError> {
    let Some(token) = holder(store, thread, |token| store.held.may_have(thread, token)).await? else {
        return Ok(false);
    };
    let done = sqlx::query(REQUEST_CANCEL)
        .bind(thread.as_str())
        .bind(to_sql(token))
        .execute(&mut *store.connections.writer().await)
        .await
        .map_err(store.explain("asking a run to cancel"))?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn delete(store: &SqliteCheckpointer, thread: &ThreadId) -> Result<bool, StoreError> {
    for _ in 0..TRIES {
        let done = sqlx::query(DELETE)
            .bind(thread.as_str())
            .bind(now())
            .execute(&mut *store.connections.writer().await)
            .await
            .map_err(store.explain("deleting a thread"))?;
        if done.rows_affected() > 0 {
            return Ok(true);
        }
        if holder(store, thread, |token| store.held.may_have(thread, token))
            .await?
            .is_some()
        {
            return Err(StoreError::Busy(thread.clone()));
        }
        // No holder: there is no such thread, or its dead owner was put out, or it was given back a moment ago.
        if !exists(store, thread).await? {
            return Ok(false);
        }
    }
    Err(StoreError::Busy(thread.clone()))
}

async fn exists(store: &SqliteCheckpointer, thread: &ThreadId) -> Result<bool, StoreError> {
    let row: Option<(i64,)> = sqlx::query_as("SELECT 1 FROM threads WHERE id = ?1")
        .bind(thread.as_str())
        .fetch_optional(&mut *store.connections.writer().await)
        .await
        .map_err(store.explain("looking for a thread"))?;
    Ok(row.is_some())
}
