//! What a person may choose about the local model.

use std::path::PathBuf;
use std::time::Duration;

/// Default context window in tokens: room for a system prompt and a short talk, at about 95 MB of cache with the default weights, which were
/// trained for 8192.
const DEFAULT_CONTEXT: u32 = 4096;

/// Default limit of a start: the default weights load in two seconds, but a user's file may be gigabytes on a slow disk.
const DEFAULT_START_LIMIT: Duration = Duration::from_secs(60);

/// Choices for a [`LocalModel`](super::LocalModel).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LocalOptions {
    /// Catena's data directory, see [`data_dir`](super::data_dir). The local model uses its subdirectory `local`.
    pub data_dir: PathBuf,
    /// Python 3.10 or newer that makes the environment. Default: the first good one of `python3`, `python3.14` … `python3.10` on the path.
    pub python: Option<PathBuf>,
    /// Weights to run, any GGUF file the engine knows. Default: the small model that provisioning installs.
    pub gguf: Option<PathBuf>,
    /// Context window in tokens; 0 takes the file's own maximum, which may need gigabytes. Default: 4096.
    pub context: u32,
    /// Threads of the engine. Default: the cores of the machine less one, at least one. With as many threads as cores the engine's barriers
    /// collapse to a few tokens per second as soon as anything else runs.
    pub threads: Option<usize>,
    /// How long a start may take until the server is healthy. Default: 60 s.
    pub start_limit: Duration,
}

impl LocalOptions {
    /// The defaults, in the given data directory.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            python: None,
            gguf: None,
            context: DEFAULT_CONTEXT,
            threads: None,
            start_limit: DEFAULT_START_LIMIT,
        }
    }

    /// Sets [`python`](Self::python).
    #[must_use]
    pub fn python(mut self, python: impl Into<PathBuf>) -> Self {
        self.python = Some(python.into());
        self
    }

    /// Sets [`gguf`](Self::gguf).
    #[must_use]
    pub fn gguf(mut self, gguf: impl Into<PathBuf>) -> Self {
        self.gguf = Some(gguf.into());
        self
    }

    /// Sets [`context`](Self::context).
    #[must_use]
    pub fn context(mut self, tokens: u32) -> Self {
        self.context = tokens;
        self
    }

    /// Sets [`threads`](Self::threads); 0 counts as 1.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Sets [`start_limit`](Self::start_limit).
    #[must_use]
    pub fn start_limit(mut self, limit: Duration) -> Self {
        self.start_limit = limit;
        self
    }
}

/// See [`LocalOptions::threads`].
pub(super) fn default_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.saturating_sub(1).max(1)
}
