//! One active run per thread, within this process; and the threads that were used last.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use super::OnBusy;
use crate::checkpoint::Lease;
use crate::error::{Error, Result};
use crate::id::ThreadId;
use crate::record::Thread;

/// Threads kept in memory, so that the next run on one need not read it again.
const KEPT: usize = 64;
/// Runs that may wait for one thread.
const WAITING: usize = 64;

/// Where runs come to get their thread.
#[derive(Clone, Default)]
pub(crate) struct Desk {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    seats: Mutex<HashMap<ThreadId, Seat>>,
    kept: Mutex<VecDeque<Kept>>,
}

/// A thread that is in use or waited for.
#[derive(Clone, Default)]
struct Seat {
    taken: Arc<tokio::sync::Mutex<()>>,
    /// Cancels the run that has it.
    current: Arc<Mutex<Option<CancellationToken>>>,
    /// Those who have it or wait for it.
    users: usize,
}

struct Kept {
    thread: Arc<RwLock<Thread>>,
    id: ThreadId,
    token: u64,
}

/// The right to use a thread in this process; given back when dropped.
pub(crate) struct Place {
    _taken: OwnedMutexGuard<()>,
    user: User,
}

/// Counts one user of a seat.
struct User {
    inner: Arc<Inner>,
    thread: ThreadId,
    seat: Seat,
    has_it: bool,
}

impl Desk {
    /// Gets the thread, waiting in line if that is asked for.
    pub(crate) async fn enter(
        &self,
        thread: &ThreadId,
        on_busy: OnBusy,
        cancel: &CancellationToken,
        wait: Duration,
    ) -> Result<Place> {
        let mut user = self.user(thread)?;
        let taken = user.seat.taken.clone();
        let taken = match taken.clone().try_lock_owned() {
            Ok(taken) => taken,
            Err(_) if on_busy == OnBusy::Reject => return Err(Error::Busy(thread.clone())),
            Err(_) => {
                if on_busy == OnBusy::CancelFirst {
                    user.seat.cancel_current();
                }
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Err(Error::Cancelled),
                    taken = tokio::time::timeout(wait, taken.lock_owned()) => taken.map_err(|_| Error::Busy(thread.clone()))?,
                }
            }
        };
        *lock(&user.seat.current) = Some(cancel.clone());
        user.has_it = true;
        Ok(Place { _taken: taken, user })
    }

    fn user(&self, thread: &ThreadId) -> Result<User> {
        let mut seats = lock(&self.inner.seats);
        let seat = seats.entry(thread.clone()).or_default();
        if seat.users > WAITING {
            return Err(Error::Busy(thread.clone()));
        }
        seat.users += 1;
        Ok(User {
            inner: self.inner.clone(),
            thread: thread.clone(),
            seat: seat.clone(),
            has_it: false,
        })
    }

    /// Forgets a thread that was deleted.
    pub(crate) fn forget(&self, thread: &ThreadId) {
        lock(&self.inner.kept).retain(|kept| kept.id != *thread);
    }
}

impl Seat {
    fn cancel_current(&self) {
        if let Some(current) = &*lock(&self.current) {
            current.cancel();
        }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if self.has_it {
            *lock(&self.seat.current) = None;
        }
        let mut seats = lock(&self.inner.seats);
        if let Some(seat) = seats.get_mut(&self.thread) {
            seat.users -= 1;
            if seat.users == 0 {
                seats.remove(&self.thread);
            }
        }
    }
}

impl Place {
    /// The thread as this process left it, if it cannot have been replaced since.
    pub(crate) fn kept(&self, lease: &Lease) -> Option<Arc<RwLock<Thread>>> {
        let mut kept = lock(&self.user.inner.kept);
        let position = kept.iter().position(|kept| kept.id == self.user.thread)?;
        let kept = kept.remove(position)?;
        let length = kept.thread.read().unwrap_or_else(PoisonError::into_inner).length();
        // A thread that was deleted and made again starts with a lower token.
        (kept.token < lease.token && length <= lease.length).then_some(kept.thread)
    }

    /// Keeps the thread for the next run on it.
    pub(crate) fn keep(&self, token: u64, thread: Arc<RwLock<Thread>>) {
        let mut kept = lock(&self.user.inner.kept);
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back(Kept {
            thread,
            id: self.user.thread.clone(),
            token,
        });
    }
}

// What these locks guard is changed by single assignments: a panic leaves nothing half-done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
