//! One process at a time: an advisory lock on a file.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::LocalError;

/// How often a taken lock is tried again. The system offers no waiting that could be cancelled, and what is waited for takes seconds.
const RETRY_EVERY: Duration = Duration::from_millis(100);

/// A held lock. The system drops it when every process that holds the file has closed it, so no crash can leave it behind; the file itself stays.
#[derive(Debug)]
pub(super) struct FileLock {
    file: File,
}

impl FileLock {
    /// Takes the lock, waiting up to `limit`. `on_wait` is called once if another holds it.
    pub(super) async fn acquire(
        path: &Path,
        what: &'static str,
        limit: Duration,
        on_wait: impl FnOnce() + Send,
    ) -> Result<Self, LocalError> {
        let file = tokio::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .read(true)
            .open(path)
            .await
            .map_err(LocalError::io("open the lock file", path))?
            .into_std()
            .await;
        let until = Instant::now() + limit;
        let mut on_wait = Some(on_wait);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file }),
                Err(TryLockError::Error(error)) => return Err(LocalError::io("lock", path)(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            if let Some(tell) = on_wait.take() {
                tell();
            }
            if Instant::now() >= until {
                return Err(LocalError::TimedOut {
                    what,
                    limit,
                    tail: String::new(),
                });
            }
            sleep(RETRY_EVERY).await;
        }
    }

    /// The (empty) lock file as standard input of a child, which so holds the lock too. If catena is killed while pip works, the pip left behind
    /// keeps others away from the environment until it ends.
    pub(super) fn as_stdin(&self, path: &Path) -> Result<Stdio, LocalError> {
        self.file
            .try_clone()
            .map(Stdio::from)
            .map_err(LocalError::io("share the lock file", path))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_taken_lock_is_waited_for_up_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = FileLock::acquire(&path, "waiting", Duration::ZERO, || panic!("nobody holds it"))
            .await
            .unwrap();
        let mut told = 0;
        let error = FileLock::acquire(&path, "waiting", Duration::from_secs(5), || told += 1)
            .await
            .unwrap_err();
        assert_eq!((error.kind(), told), ("timed_out", 1));
        drop(held);
        // In real time and with patience: a process that another test is just forking holds a copy of the
        // handle until it has become another program.
        tokio::time::resume();
        FileLock::acquire(&path, "waiting", Duration::from_secs(60), || ())
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_child_that_was_given_the_lock_keeps_it_when_we_let_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = FileLock::acquire(&path, "waiting", Duration::ZERO, || ())
            .await
            .unwrap();
        let stdin = held.as_stdin(&path).unwrap();
        let mut child = tokio::process::Command::new("sleep")
            .arg("60")
            .stdin(stdin)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        drop(held);
        assert_eq!(
            FileLock::acquire(&path, "waiting", Duration::ZERO, || ())
                .await
                .unwrap_err()
                .kind(),
            "timed_out"
        );
        child.kill().await.unwrap();
        FileLock::acquire(&path, "waiting", Duration::from_secs(60), || ())
            .await
            .unwrap();
    }
}
