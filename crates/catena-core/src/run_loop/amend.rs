//! Adding to a thread that no run holds: the state and the counts of background work.

use std::sync::{Arc, PoisonError};

use tokio_util::sync::CancellationToken;

use super::session::{lease, load, read};
use crate::agent::{AgentShared, OnBusy, Place, Tree};
use crate::checkpoint::Lease;
use crate::error::{Error, Result};
use crate::id::{RunId, ThreadId};
use crate::record::{Entry, Thread};
use crate::state::StateStore;

/// What could not be appended comes back with the error.
type Unwritten = (Error, Vec<Arc<Entry>>);

/// Takes the thread for a moment, waiting until it is free, and appends what `gather` makes of its state.
pub(crate) async fn amend<R>(
    agent: &AgentShared,
    thread: &ThreadId,
    cancel: &CancellationToken,
    tree: &Tree,
    gather: impl FnOnce(&StateStore) -> Result<(Vec<Entry>, R)>,
) -> Result<R, Unwritten> {
    let bare = |error| (error, Vec::new());
    let wait = agent.limits.queue_wait;
    let place = agent.desk.enter_briefly(thread, cancel, wait).await.map_err(bare)?;
    let held = lease(agent, thread, OnBusy::Enqueue, cancel).await.map_err(bare)?;
    let done = append(agent, &held, &place, tree, gather).await;
    if let Err(error) = agent.store.release(&held).await {
        // The lease runs out by itself.
        tracing::warn!(thread = %held.thread, %error, "could not release the lease");
    }
    agent.forget_if_empty(&held).await;
    done
}

async fn append<R>(
    agent: &AgentShared,
    lease: &Lease,
    place: &Place,
    tree: &Tree,
    gather: impl FnOnce(&StateStore) -> Result<(Vec<Entry>, R)>,
) -> Result<R, Unwritten> {
    let bare = |error| (error, Vec::new());
    let record = load(agent, &lease.thread, lease, place).await.map_err(bare)?;
    if read(&record, Thread::length) == 0 {
        // It was deleted meanwhile, and is not to come back for this.
        return Err(bare(Error::NoThread(lease.thread.clone())));
    }
    let run = read(&record, |thread| thread.run().map(|run| run.id().clone())).unwrap_or_else(RunId::fresh);
    let slots: Vec<_> = read(&record, |thread| thread.slots_for(&run).collect());
    let (entries, result) = gather(&StateStore::load(slots.into_iter())).map_err(bare)?;
    let entries: Vec<Arc<Entry>> = entries.into_iter().map(Arc::new).collect();
    if !entries.is_empty() {
        match agent.store.append(lease, &entries).await {
            Ok(_) => {}
            Err(error) => return Err((error.into(), entries)),
        }
        tree.apply(&entries);
        let mut thread = record.write().unwrap_or_else(PoisonError::into_inner);
        entries.iter().for_each(|entry| thread.apply(entry));
    }
    place.keep(lease.token, record);
    Ok(result)
}
