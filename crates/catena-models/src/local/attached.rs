//! The server as a child of catena, which it never outlives.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::process::{Child, ChildStdin};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::launch::{self, Bond, NotReady};
use super::tail::Tail;
use super::{LocalError, LocalModel, child};

/// How long a server may take to end by itself once its standard input is closed.
const STOP_LIMIT: Duration = Duration::from_secs(2);

/// How long the last words of an ended server are waited for.
const LAST_WORDS_LIMIT: Duration = Duration::from_secs(1);

/// A running server of the local model. It ends when this is dropped (killed at once), when [`stop`](Self::stop) is called, and when catena ends
/// in whatever way, a kill signal included: the server watches its standard input, whose other end only this value holds.
#[derive(Debug)]
#[must_use = "dropping the server ends it"]
#[non_exhaustive]
pub struct LocalServer {
    /// Base URL for an OpenAI-compatible client, such as `http://127.0.0.1:40123/v1`.
    pub base_url: String,
    /// Name of the model in requests.
    pub model: &'static str,
    child: Child,
    lifeline: Option<ChildStdin>,
    stderr: Arc<Mutex<Tail>>,
    reader: JoinSet<()>,
}

impl LocalModel {
    /// Starts the server on a free loopback port and waits until it is healthy, at most [`start_limit`](super::LocalOptions::start_limit).
    ///
    /// # Errors
    /// `not_provisioned`, `bad_gguf`, `exited_early` with the end of the server's output, `timed_out`, `bad_announcement`, `io`.
    ///
    /// # Cancel safety
    /// Dropping the future kills the server.
    pub async fn start(&self) -> Result<LocalServer, LocalError> {
        let spec = self.launch_spec().await?;
        let mut starting = launch::spawn(&self.layout, &spec, Bond::Attached, Stdio::piped()).await?;
        let stderr = Arc::new(Mutex::new(Tail::default()));
        let mut reader = JoinSet::new();
        let (pipe, tail) = (starting.child.stderr.take(), Arc::clone(&stderr));
        // Read for as long as the server lives: a full pipe would stop it in the middle of an answer.
        reader.spawn(async move { child::each_line(pipe, |line| lock(&tail).push(line)).await });
        let mut last_words = async || {
            let _ = timeout(LAST_WORDS_LIMIT, reader.join_next()).await;
            lock(&stderr).to_string()
        };
        match timeout(spec.limit, starting.ready()).await {
            Ok(Ok(port)) => {
                let (child, lifeline) = (starting.child, starting.stdin);
                Ok(LocalServer {
                    base_url: launch::base_url(port),
                    model: super::MODEL_NAME,
                    child,
                    lifeline,
                    stderr,
                    reader,
                })
            }
            Ok(Err(NotReady::Exited(status))) => Err(LocalError::ExitedEarly {
                status: launch::exit_words(status),
                tail: last_words().await,
            }),
            Ok(Err(NotReady::Failed(error))) => Err(error),
            Err(_) => Err(LocalError::TimedOut {
                what: "starting the local model's server",
                limit: spec.limit,
                tail: after_colon(&lock(&stderr)),
            }),
        }
    }
}

impl LocalServer {
    /// The server's process, or none if it has ended and was seen to.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// End of the server's error output so far, for a message after a failed request. May be empty.
    pub fn stderr_tail(&self) -> String {
        lock(&self.stderr).to_string()
    }

    /// Waits until the server has ended by itself, and says how and with which last words: an error to show, since nobody asked it to.
    ///
    /// # Cancel safety
    /// Safe; the server runs on.
    pub async fn exited(&mut self) -> LocalError {
        let status = self.child.wait().await.ok();
        let _ = timeout(LAST_WORDS_LIMIT, self.reader.join_next()).await;
        LocalError::ExitedEarly {
            status: launch::exit_words(status),
            tail: self.stderr_tail(),
        }
    }

    /// Ends the server and waits for it: first by closing its standard input, after two seconds by force.
    ///
    /// # Errors
    /// `io` if the process cannot be waited for.
    ///
    /// # Cancel safety
    /// Dropping the future kills the server.
    pub async fn stop(mut self) -> Result<(), LocalError> {
        drop(self.lifeline.take());
        match timeout(STOP_LIMIT, self.child.wait()).await {
            Ok(ended) => ended.map(drop),
            Err(_) => self.child.kill().await,
        }
        .map_err(LocalError::io("end", "server.py"))
    }
}

/// The output after a sentence that ends here.
pub(super) fn after_colon(tail: &Tail) -> String {
    if tail.is_empty() {
        String::new()
    } else {
        format!("; its output ended with:\n{tail}")
    }
}

/// A poisoned tail is as good as any: it is only ever shown.
fn lock(tail: &Mutex<Tail>) -> std::sync::MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}
