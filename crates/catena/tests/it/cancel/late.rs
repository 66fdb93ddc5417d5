//! Stores that finish an append even if its future is dropped, as a database on a thread of its own does.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use catena::checkpoint::{Checkpointer, Lease, MemoryCheckpointer, StoreError, ThreadInfo, Wish};
use catena::id::ThreadId;
use catena::prelude::*;
use catena::record::Entry;
use catena::testing::{call, scripted};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::{agent, cancelled, goes_on};
use crate::support::{Hold, counting};

/// Appends one after another on a task of its own, and holds those that bring a model's answer.
struct Late {
    inner: Arc<MemoryCheckpointer>,
    under_way: Mutex<JoinSet<Result<u64, StoreError>>>,
    hold: Hold,
}

#[async_trait]
impl Checkpointer for Late {
    async fn acquire(&self, thread: &ThreadId, ttl: Duration) -> Result<Lease, StoreError> {
        self.inner.acquire(thread, ttl).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Wish, StoreError> {
        self.inner.renew(lease, ttl).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.inner.release(lease).await
    }

    async fn request_cancel(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        self.inner.request_cancel(thread).await
    }

    async fn append(&self, lease: &Lease, entries: &[Arc<Entry>]) -> Result<u64, StoreError> {
        let mut under_way = self.under_way.lock().await;
        while under_way.join_next().await.is_some() {}
        let held = entries.iter().any(|entry| matches!(**entry, Entry::Model(_)));
        let (inner, hold, lease, entries) = (self.inner.clone(), self.hold.clone(), lease.clone(), entries.to_vec());
        under_way.spawn(async move {
            if held {
                hold.here().await;
            }
            inner.append(&lease, &entries).await
        });
        under_way.join_next().await.unwrap().unwrap()
    }

    async fn load(&self, thread: &ThreadId, from: u64) -> Result<Vec<Arc<Entry>>, StoreError> {
        self.inner.load(thread, from).await
    }

    async fn list(&self, limit: usize) -> Result<Vec<ThreadInfo>, StoreError> {
        self.inner.list(limit).await
    }

    async fn delete(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        self.inner.delete(thread).await
    }
}

/// The answer is on its way to the store when the run is cancelled: its calls are answered all the same.
#[tokio::test]
async fn an_append_that_is_still_on_its_way_is_not_overlooked() {
    let hold = Hold::new();
    let store = Late {
        inner: Arc::default(),
        under_way: Mutex::default(),
        hold: hold.clone(),
    };
    let model = scripted([call("work", json!({}))]);
    let (agent, ends) = agent(model.clone(), |builder| builder.tool(counting("work").0).store(store));
    let handle = agent.start(Input::new("go").thread("t"));
    hold.reached().await;
    let cancel = handle.cancellation();
    cancel.cancel();
    // The run has been dropped where it was by the time that others had their turn.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    hold.release();
    assert_eq!(
        cancelled(&agent, &ends, handle).await,
        ["go", "", "not run: the run was cancelled"]
    );
    // The next answer is let through.
    hold.release();
    goes_on(&agent, &model).await;
}
