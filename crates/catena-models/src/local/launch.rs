//! What both kinds of server share: how the engine is started and when it counts as ready.
//!
//! The server picks a free port itself (port 0) and announces it, so no other program can take the port between a choice of ours and its bind.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use super::layout::Layout;
use super::tail::clean;
use super::{LocalError, files, health};

/// The Python side.
const SCRIPT: &str = include_str!("server.py");

/// First bytes of every GGUF file.
const GGUF_MAGIC: [u8; 4] = *b"GGUF";

/// What the script writes before its address.
const ANNOUNCEMENT: &str = "listening http://127.0.0.1:";

/// Bytes of an announcement that are read.
const ANNOUNCEMENT_BYTES: u64 = 256;

/// How often a server that listens is asked whether it is healthy.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// How long a server that has closed its output may take to end.
const EXIT_LIMIT: Duration = Duration::from_secs(5);

/// Variables the server gets. All others stay here: the keys and tokens of the user's shell are none of a third-party program's business, least
/// of all of one that outlives catena.
const PASSED_ON: [&str; 9] = [
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
    "OMP_WAIT_POLICY",
];

/// What to serve, and how.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) weights: PathBuf,
    pub(super) context: u32,
    pub(super) threads: usize,
    pub(super) limit: Duration,
}

/// Whether the server ends with its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bond {
    /// Until its standard input ends.
    Attached,
    /// Until its standard input ends, or says that it may stay.
    Detachable,
}

/// A server that was started and is not ready yet. Dropping it closes the server's standard input, which ends it.
#[derive(Debug)]
pub(super) struct Starting {
    pub(super) child: Child,
    pub(super) stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
}

/// Why a server did not become ready.
#[derive(Debug)]
pub(super) enum NotReady {
    Exited(Option<ExitStatus>),
    Failed(LocalError),
}

/// Checks a user's weights before an engine trips over them.
pub(super) async fn checked_gguf(path: &Path) -> Result<PathBuf, LocalError> {
    let bad = |why, source| LocalError::BadGguf {
        path: path.to_path_buf(),
        why,
        source,
    };
    let mut file = tokio::fs::File::open(path).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => bad("there is no such file", Some(error)),
        _ => bad("it cannot be read", Some(error)),
    })?;
    let mut magic = [0; 4];
    match file.read_exact(&mut magic).await {
        Ok(_) if magic == GGUF_MAGIC => {
            std::path::absolute(path).map_err(|error| bad("its path cannot be resolved", Some(error)))
        }
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => Err(bad("it cannot be read", Some(error))),
        _ => Err(bad("it is not a GGUF file", None)),
    }
}

/// The variables that the server keeps.
fn passed_on() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    #[expect(
        clippy::disallowed_methods,
        reason = "they are handed to a child process as they are; nothing here reads what they hold"
    )]
    PASSED_ON
        .iter()
        .filter_map(|name| Some((*name, std::env::var_os(name)?)))
}

/// Starts the server. In a process group of its own: an interrupt typed at catena's terminal stops a turn, not the model.
pub(super) async fn spawn(layout: &Layout, spec: &Spec, bond: Bond, stderr: Stdio) -> Result<Starting, LocalError> {
    let script = layout.script();
    files::write_atomically(&script, SCRIPT.as_bytes()).await?;
    let python = layout.python();
    let mut command = Command::new(&python);
    command
        .args(["-I", "-u"])
        .arg(&script)
        .arg("--model")
        .arg(&spec.weights);
    command.args([
        "--name",
        super::MODEL_NAME,
        "--context",
        &spec.context.to_string(),
        "--threads",
        &spec.threads.to_string(),
    ]);
    if bond == Bond::Detachable {
        command.arg("--detachable");
    }
    command.env_clear().envs(passed_on());
    command
        .current_dir(layout.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr);
    command.kill_on_drop(bond == Bond::Attached);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(LocalError::io("run", &python))?;
    Ok(Starting {
        stdin: child.stdin.take(),
        stdout: child.stdout.take(),
        child,
    })
}

impl Starting {
    /// Waits until the server has announced its port and is healthy, without a limit of its own.
    pub(super) async fn ready(&mut self) -> Result<u16, NotReady> {
        let port = self.announced_port().await?;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Err(NotReady::Exited(Some(status))),
                Ok(None) if health::is_healthy(port).await => return Ok(port),
                Ok(None) => sleep(ASK_EVERY).await,
                Err(error) => {
                    return Err(NotReady::Failed(LocalError::io("wait for", "server.py")(error)));
                }
            }
        }
    }

    async fn announced_port(&mut self) -> Result<u16, NotReady> {
        let mut line = Vec::new();
        if let Some(stdout) = self.stdout.take() {
            let read = BufReader::new(stdout.take(ANNOUNCEMENT_BYTES))
                .read_until(b'\n', &mut line)
                .await;
            read.map_err(|error| NotReady::Failed(LocalError::io("read from", "server.py")(error)))?;
        }
        if line.is_empty() {
            let exit = timeout(EXIT_LIMIT, self.child.wait()).await;
            return Err(NotReady::Exited(exit.ok().and_then(Result::ok)));
        }
        let line = clean(&String::from_utf8_lossy(&line));
        let port = line.strip_prefix(ANNOUNCEMENT).and_then(|port| port.parse().ok());
        port.ok_or(NotReady::Failed(LocalError::BadAnnouncement { line }))
    }
}

/// An exit status in words.
pub(super) fn exit_words(status: Option<ExitStatus>) -> String {
    status.map_or_else(|| "closed its output".to_owned(), |status| status.to_string())
}

/// The address clients are given.
pub(super) fn base_url(port: u16) -> String {
    format!("http://127.0.0.1:{port}/v1")
}
