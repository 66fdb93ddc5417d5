//! Runs and background work of an agent: counted, bounded, drained at shutdown.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::error::{Error, Result};

/// The tasks of an agent.
pub(crate) struct Background {
    tasks: TaskTracker,
    permits: Arc<Semaphore>,
}

impl Background {
    /// Background tasks at once; more means that work is produced faster than it is done.
    const LIMIT: usize = 256;

    pub(crate) fn new() -> Self {
        Self {
            tasks: TaskTracker::new(),
            permits: Arc::new(Semaphore::new(Self::LIMIT)),
        }
    }

    /// Background work of a middleware.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let permit = self.permits.clone().try_acquire_owned();
        let permit =
            permit.map_err(|_| Error::Other(format!("{} background tasks are running already", Self::LIMIT)))?;
        self.tasks.spawn(async move {
            work.await;
            drop(permit);
        });
        Ok(())
    }

    /// A run: its caller bounds how many there are.
    pub(crate) fn spawn_run<T: Send + 'static>(&self, run: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.tasks.spawn(run)
    }

    pub(crate) async fn drain(&self, limit: Duration) -> bool {
        self.tasks.close();
        let done = tokio::time::timeout(limit, self.tasks.wait()).await.is_ok();
        self.tasks.reopen();
        done
    }
}
