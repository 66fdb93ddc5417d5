//! Runs and background work of an agent: counted, bounded, drained at shutdown.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::context::Background;
use crate::error::{Error, Result};

/// The tasks of an agent.
pub(crate) struct Tasks {
    tasks: TaskTracker,
    permits: Arc<Semaphore>,
    /// Cancels the background work that is going on; a new one takes its place then.
    shutdown: Mutex<CancellationToken>,
}

impl Tasks {
    /// Background tasks at once; more means that work is produced faster than it is done.
    const LIMIT: usize = 256;

    pub(crate) fn new() -> Self {
        Self {
            tasks: TaskTracker::new(),
            permits: Arc::new(Semaphore::new(Self::LIMIT)),
            shutdown: Mutex::default(),
        }
    }

    /// Background work of a middleware. What its own model calls used is journalled when it is over, however it ended.
    pub(crate) fn spawn<W: Future<Output = ()> + Send + 'static>(
        &self,
        handle: Background,
        work: impl FnOnce(Background) -> W,
    ) -> Result<()> {
        let permit = self.permits.clone().try_acquire_owned();
        let permit =
            permit.map_err(|_| Error::Other(format!("{} background tasks are running already", Self::LIMIT)))?;
        let work = AssertUnwindSafe(work(handle.clone())).catch_unwind();
        self.tasks.spawn(async move {
            match tokio::time::timeout(Background::TIME_LIMIT, work).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => handle.run().warn("background work panicked"),
                Err(_) => handle
                    .run()
                    .warn(format!("background work took longer than {:?}", Background::TIME_LIMIT)),
            }
            handle.finish().await;
            drop(permit);
        });
        Ok(())
    }

    /// A run, or work on a thread: its caller bounds how many there are.
    pub(crate) fn spawn_run<T: Send + 'static>(&self, run: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.tasks.spawn(run)
    }

    /// Cancelled when a shutdown loses its patience.
    pub(crate) fn cancellation(&self) -> CancellationToken {
        self.shutdown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) async fn drain(&self, limit: Duration) -> bool {
        self.tasks.close();
        let done = tokio::time::timeout(limit, self.tasks.wait()).await.is_ok();
        self.tasks.reopen();
        if !done {
            std::mem::take(&mut *self.shutdown.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
        }
        done
    }
}
