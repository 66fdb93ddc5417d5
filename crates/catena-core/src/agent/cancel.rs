//! Cancelling a thread's run from anywhere.

use tokio_util::sync::CancellationToken;

use super::{Agent, Resume, RunHandle};
use crate::error::{Error, Result};
use crate::id::ThreadId;

impl Agent {
    /// Cancels the thread's run, wherever it is. One that is active, in this process or in another one on the same store, is asked to
    /// stop, which one of another process notices within a third of [`Limits::lease`](super::Limits::lease). One that waits for an answer,
    /// or was left by a process that died, is closed here and now. Returns whether there was anything to cancel.
    ///
    /// # Errors
    /// [`Error::NoThread`] if there is no such thread, [`Error::Store`] if the store fails.
    ///
    /// # Cancel safety
    /// A dropped call may or may not have cancelled the run.
    pub async fn cancel(&self, thread: &ThreadId) -> Result<bool> {
        if self.shared.desk.cancel(thread) || self.shared.store.request_cancel(thread).await? {
            return Ok(true);
        }
        let record = self.thread(thread).await?;
        if record.run().is_none_or(|run| run.outcome().is_some()) {
            return Ok(false);
        }
        // What is left of a run is closed by a run that resumes it and is cancelled already.
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let mut resume = Resume::thread(thread.clone());
        resume.options.cancel = Some(cancelled);
        match RunHandle::launch(self, resume.into(), false).outcome().await {
            Ok(_) => Ok(true),
            Err(Error::NotInterrupted(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
