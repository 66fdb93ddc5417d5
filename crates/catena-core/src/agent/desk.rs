//! One active run per thread, within this process; and the threads that were used last.

mod kept;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::OnBusy;
use crate::checkpoint::Lease;
use crate::error::{Error, Result};
use crate::id::ThreadId;
use crate::record::Thread;
use kept::KeptThreads;

/// Runs that may wait for one thread.
const WAITING: usize = 64;

/// Where runs come to get their thread.
#[derive(Clone, Default)]
pub(crate) struct Desk {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Only threads that are in use.
    seats: Mutex<HashMap<ThreadId, Seat>>,
    kept: Mutex<KeptThreads>,
}

/// A thread that is in use.
struct Seat {
    /// Cancels the run that has it.
    holder: CancellationToken,
    /// Whether it is taken for a moment only: then nobody is refused.
    brief: bool,
    /// Those who wait for it, in the order in which they came.
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    cancel: CancellationToken,
    brief: bool,
    place: oneshot::Sender<Place>,
}

/// The right to use a thread in this process; handed to the next in line when dropped.
pub(crate) struct Place {
    inner: Arc<Inner>,
    thread: ThreadId,
    /// Whether dropping it gives the thread on.
    held: bool,
}

impl Desk {
    /// Gets the thread for a moment, for no run: waits in line. Cancelling the thread's run does not reach it.
    pub(crate) async fn enter_briefly(
        &self,
        thread: &ThreadId,
        cancel: &CancellationToken,
        wait: Duration,
    ) -> Result<Place> {
        self.queue(thread, OnBusy::Enqueue, true, cancel, wait).await
    }

    /// Gets the thread, waiting in line if that is asked for.
    pub(crate) async fn enter(
        &self,
        thread: &ThreadId,
        on_busy: OnBusy,
        cancel: &CancellationToken,
        wait: Duration,
    ) -> Result<Place> {
        self.queue(thread, on_busy, false, cancel, wait).await
    }

    async fn queue(
        &self,
        thread: &ThreadId,
        on_busy: OnBusy,
        brief: bool,
        cancel: &CancellationToken,
        wait: Duration,
    ) -> Result<Place> {
        let busy = || Error::Busy(thread.clone());
        let turn = {
            let mut seats = lock(&self.inner.seats);
            let Some(seat) = seats.get_mut(thread) else {
                let seat = Seat {
                    // A token of its own when it is brief: the work goes on when the thread's run is cancelled.
                    holder: if brief { cancel.child_token() } else { cancel.clone() },
                    brief,
                    waiting: VecDeque::new(),
                };
                seats.insert(thread.clone(), seat);
                return Ok(Place::new(self.inner.clone(), thread.clone()));
            };
            seat.waiting.retain(|waiting| !waiting.place.is_closed());
            let by_a_run = !seat.brief || seat.waiting.iter().any(|waiting| !waiting.brief);
            if (on_busy == OnBusy::Reject && by_a_run) || seat.waiting.len() >= WAITING {
                return Err(busy());
            }
            if on_busy == OnBusy::CancelFirst {
                seat.holder.cancel();
            }
            let (place, turn) = oneshot::channel();
            let cancel = if brief { cancel.child_token() } else { cancel.clone() };
            seat.waiting.push_back(Waiting { cancel, brief, place });
            turn
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::Cancelled),
            // The sender lives in the seat until it sends, so an error is a desk that is gone.
            place = tokio::time::timeout(wait, turn) => place.map_err(|_| busy())?.map_err(|_| busy()),
        }
    }

    /// Cancels the run that has the thread. Returns whether there is one.
    pub(crate) fn cancel(&self, thread: &ThreadId) -> bool {
        let seats = lock(&self.inner.seats);
        let seat = seats.get(thread).filter(|seat| !seat.brief);
        seat.map(|seat| seat.holder.cancel()).is_some()
    }

    /// Forgets a thread that was deleted.
    pub(crate) fn forget(&self, thread: &ThreadId) {
        lock(&self.inner.kept).forget(thread);
    }
}

impl Place {
    fn new(inner: Arc<Inner>, thread: ThreadId) -> Self {
        let held = true;
        Self { inner, thread, held }
    }

    /// The thread as this process left it, if nobody else has had it since.
    pub(crate) fn kept(&self, lease: &Lease) -> Option<Arc<RwLock<Thread>>> {
        lock(&self.inner.kept).take(lease)
    }

    /// Keeps the thread for the next run on it.
    pub(crate) fn keep(&self, token: u64, thread: Arc<RwLock<Thread>>) {
        lock(&self.inner.kept).put(self.thread.clone(), token, thread);
    }
}

impl Drop for Place {
    /// Hands the thread on in one step: whoever asks to cancel the first finds either the run that had it or the one that has it now.
    fn drop(&mut self) {
        if !self.held {
            return;
        }
        let mut seats = lock(&self.inner.seats);
        let Some(seat) = seats.get_mut(&self.thread) else {
            return;
        };
        while let Some(next) = seat.waiting.pop_front() {
            seat.holder = next.cancel;
            seat.brief = next.brief;
            match next.place.send(Self::new(self.inner.clone(), self.thread.clone())) {
                Ok(()) => return,
                // It was waited for no longer.
                Err(mut place) => place.held = false,
            }
        }
        seats.remove(&self.thread);
    }
}

// What these locks guard is changed by single assignments: a panic leaves nothing half-done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(60);

    async fn enter(desk: &Desk, on_busy: OnBusy, cancel: &CancellationToken) -> Result<Place> {
        desk.enter(&"t".into(), on_busy, cancel, WAIT).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_thread_is_handed_on_in_order_past_those_who_left() {
        let (desk, never) = (Desk::default(), CancellationToken::new());
        let first = enter(&desk, OnBusy::Reject, &never).await.unwrap();
        let gone = CancellationToken::new();
        let mut second = Box::pin(enter(&desk, OnBusy::Enqueue, &gone));
        let mut third = Box::pin(enter(&desk, OnBusy::Enqueue, &never));
        let mut fourth = Box::pin(enter(&desk, OnBusy::Enqueue, &never));
        for waiting in [&mut second, &mut third, &mut fourth] {
            assert!(futures::poll!(waiting).is_pending());
        }
        gone.cancel();
        assert!(matches!(second.await, Err(Error::Cancelled)));
        drop(first);
        assert!(futures::poll!(&mut fourth).is_pending());
        let place = third.await.unwrap();
        assert!(matches!(
            enter(&desk, OnBusy::Reject, &never).await,
            Err(Error::Busy(_))
        ));
        drop(place);
        drop(fourth.await.unwrap());
        assert!(lock(&desk.inner.seats).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_was_sent_to_someone_who_left_is_handed_on() {
        let (desk, never) = (Desk::default(), CancellationToken::new());
        let first = enter(&desk, OnBusy::Reject, &never).await.unwrap();
        let mut left = Box::pin(enter(&desk, OnBusy::Enqueue, &never));
        assert!(futures::poll!(&mut left).is_pending());
        drop(first);
        drop(left);
        assert!(enter(&desk, OnBusy::Reject, &never).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn cancelling_the_first_reaches_the_one_that_was_just_handed_the_thread() {
        let (desk, never) = (Desk::default(), CancellationToken::new());
        let first = enter(&desk, OnBusy::Reject, &never).await.unwrap();
        let cancel = CancellationToken::new();
        let mut second = Box::pin(enter(&desk, OnBusy::Enqueue, &cancel));
        assert!(futures::poll!(&mut second).is_pending());
        // It has the thread now and does not know it yet.
        drop(first);
        let mut third = Box::pin(enter(&desk, OnBusy::CancelFirst, &never));
        assert!(futures::poll!(&mut third).is_pending());
        assert!(cancel.is_cancelled());
        assert!(!never.is_cancelled());
        assert!(matches!(second.await, Err(Error::Cancelled)));
        assert!(third.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_is_not_refused_for_a_moments_work_and_cancelling_does_not_reach_that() {
        let (desk, never) = (Desk::default(), CancellationToken::new());
        let brief = desk.enter_briefly(&"t".into(), &never, WAIT).await.unwrap();
        let mut run = Box::pin(enter(&desk, OnBusy::Reject, &never));
        assert!(futures::poll!(&mut run).is_pending());
        assert!(!desk.cancel(&"t".into()), "there is no run to cancel");
        let second = enter(&desk, OnBusy::Reject, &never).await;
        assert!(matches!(second, Err(Error::Busy(_))), "a run is next");
        drop(brief);
        let _run = run.await.unwrap();
        assert!(desk.cancel(&"t".into()));
        assert!(never.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_has_a_limit() {
        let (desk, never) = (Desk::default(), CancellationToken::new());
        let _first = enter(&desk, OnBusy::Reject, &never).await.unwrap();
        let error = enter(&desk, OnBusy::Enqueue, &never).await.err().unwrap();
        assert!(matches!(error, Error::Busy(_)), "{error}");
    }
}
