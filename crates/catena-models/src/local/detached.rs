//! The server that stays when catena ends: `start_detached`, `status`, `stop_detached`.
//!
//! A state file names the process, when it started and its port. The start tells a server from a stranger that got its process id later, so a
//! stale file is seen as such and nobody else is ever signalled. The server keeps watching its standard input until the state file is written:
//! if catena dies in between, no server is left that nobody knows of.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::attached::after_colon;
use super::launch::{self, Bond, NotReady, Spec};
use super::lock::FileLock;
use super::process::{self, Signal};
use super::tail::Tail;
use super::{LocalError, LocalModel, files, health};

/// How long a server may take to end when asked politely.
const TERM_LIMIT: Duration = Duration::from_secs(5);

/// How long it may take to end by force.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// How long a start or stop waits for another one, on top of what a start may take.
const LOCK_LIMIT: Duration = Duration::from_secs(15);

/// A detached server, as its state file describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerState {
    /// Process id.
    pub pid: u32,
    /// When the process started; only good for comparing.
    pub started: String,
    /// Loopback port.
    pub port: u16,
    /// Name of the model in requests.
    pub model: String,
    /// File it runs.
    pub weights: PathBuf,
}

impl ServerState {
    /// Base URL for an OpenAI-compatible client.
    pub fn base_url(&self) -> String {
        launch::base_url(self.port)
    }
}

/// What there is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DetachedStatus {
    /// No server, and no trace of one.
    Stopped,
    /// The state file speaks of a server that has ended, or cannot be read. The next start or stop clears it away.
    Stale,
    /// The process lives but does not answer `/health`.
    Unresponsive(ServerState),
    /// Alive and healthy.
    Running(ServerState),
}

/// How a start ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum DetachedStart {
    /// A new server runs.
    Started(ServerState),
    /// One was running already and was left as it is; it may serve other weights than asked for now.
    AlreadyRunning(ServerState),
}

/// How a stop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DetachedStop {
    /// There was none.
    NotRunning,
    /// It ended when asked.
    Stopped,
    /// It had to be forced.
    Killed,
}

impl LocalModel {
    /// Starts a server that stays when catena ends, unless one runs already. Its output goes to `<data>/local/server.log`.
    ///
    /// # Errors
    /// Those of [`start`](Self::start); `unresponsive` if a server lives but does not answer; `timed_out` if another start or stop takes too long.
    ///
    /// # Cancel safety
    /// Dropping the future ends the server it was starting.
    pub async fn start_detached(&self) -> Result<DetachedStart, LocalError> {
        let spec = self.launch_spec().await?;
        let _lock = self.server_lock().await?;
        match self.status().await? {
            DetachedStatus::Running(state) => return Ok(DetachedStart::AlreadyRunning(state)),
            DetachedStatus::Unresponsive(state) => {
                return Err(LocalError::Unresponsive {
                    pid: state.pid,
                    port: state.port,
                });
            }
            DetachedStatus::Stopped | DetachedStatus::Stale => {}
        }
        let log = self.layout.log();
        let file = tokio::fs::File::create(&log)
            .await
            .map_err(LocalError::io("create", &log))?
            .into_std()
            .await;
        let mut starting = launch::spawn(&self.layout, &spec, Bond::Detachable, Stdio::from(file)).await?;
        let outcome = self.detach(&mut starting, spec).await;
        if outcome.is_err() {
            // Closing its input ends the server, but only once it is done loading; a start that failed has no time for that.
            let _ = starting.child.kill().await;
        }
        outcome.map(DetachedStart::Started)
    }

    /// Waits for the server, writes its state and lets it go.
    async fn detach(&self, starting: &mut launch::Starting, spec: Spec) -> Result<ServerState, LocalError> {
        let last_words = async || Tail::of(&tokio::fs::read_to_string(self.layout.log()).await.unwrap_or_default());
        let exited = async |status| LocalError::ExitedEarly {
            status: launch::exit_words(status),
            tail: last_words().await.to_string(),
        };
        let port = match timeout(spec.limit, starting.ready()).await {
            Ok(Ok(port)) => port,
            Ok(Err(NotReady::Exited(status))) => return Err(exited(status).await),
            Ok(Err(NotReady::Failed(error))) => return Err(error),
            Err(_) => {
                let tail = after_colon(&last_words().await);
                return Err(LocalError::TimedOut {
                    what: "starting the local model's server",
                    limit: spec.limit,
                    tail,
                });
            }
        };
        let pid = starting.child.id();
        let (Some(pid), Some(started)) = (pid, process::started(pid.unwrap_or_default()).await) else {
            return Err(exited(None).await);
        };
        let state = ServerState {
            pid,
            started,
            port,
            model: super::MODEL_NAME.to_owned(),
            weights: spec.weights,
        };
        let path = self.layout.state();
        let text = serde_json::to_vec_pretty(&state).map_err(|error| LocalError::io("write", &path)(error.into()))?;
        files::write_atomically(&path, &text).await?;
        let released = match starting.stdin.as_mut() {
            Some(stdin) => stdin.write_all(b"detach\n").await,
            None => Ok(()),
        };
        match released {
            Ok(()) => Ok(state),
            Err(error) => {
                files::remove(&path).await?;
                Err(LocalError::io("write to", "server.py")(error))
            }
        }
    }

    /// What the state file, the process and its port say together. Changes nothing.
    ///
    /// # Errors
    /// `io` if the state file is there but cannot be read.
    pub async fn status(&self) -> Result<DetachedStatus, LocalError> {
        let path = self.layout.state();
        let text = match tokio::fs::read(&path).await {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(DetachedStatus::Stopped);
            }
            Err(error) => return Err(LocalError::io("read", &path)(error)),
        };
        let Ok(state) = serde_json::from_slice::<ServerState>(&text) else {
            return Ok(DetachedStatus::Stale);
        };
        if process::started(state.pid).await.as_ref() != Some(&state.started) {
            return Ok(DetachedStatus::Stale);
        }
        Ok(if health::is_healthy(state.port).await {
            DetachedStatus::Running(state)
        } else {
            DetachedStatus::Unresponsive(state)
        })
    }

    /// Ends the detached server and waits for it: asks, and after five seconds forces.
    ///
    /// # Errors
    /// `not_stopped` if it survives both; `timed_out` if another start or stop takes too long; `io`.
    ///
    /// # Cancel safety
    /// The server may have been told to end already; calling again finishes the work.
    pub async fn stop_detached(&self) -> Result<DetachedStop, LocalError> {
        self.stop_within(TERM_LIMIT).await
    }

    pub(super) async fn stop_within(&self, patience: Duration) -> Result<DetachedStop, LocalError> {
        if self.status().await? == DetachedStatus::Stopped {
            return Ok(DetachedStop::NotRunning);
        }
        let _lock = self.server_lock().await?;
        let outcome = match self.status().await? {
            DetachedStatus::Stopped | DetachedStatus::Stale => DetachedStop::NotRunning,
            DetachedStatus::Unresponsive(state) | DetachedStatus::Running(state) => end(&state, patience).await?,
        };
        files::remove(&self.layout.state()).await?;
        Ok(outcome)
    }

    async fn server_lock(&self) -> Result<FileLock, LocalError> {
        let limit = self.options.start_limit + LOCK_LIMIT;
        FileLock::acquire(
            &self.layout.server_lock(),
            "waiting for another start or stop of the local model",
            limit,
            || (),
        )
        .await
    }
}

async fn end(state: &ServerState, patience: Duration) -> Result<DetachedStop, LocalError> {
    process::signal(state.pid, Signal::Term).await;
    if process::wait_gone(state.pid, &state.started, patience).await {
        return Ok(DetachedStop::Stopped);
    }
    process::signal(state.pid, Signal::Kill).await;
    match process::wait_gone(state.pid, &state.started, KILL_LIMIT).await {
        true => Ok(DetachedStop::Killed),
        false => Err(LocalError::NotStopped { pid: state.pid }),
    }
}
