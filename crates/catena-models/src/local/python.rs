//! Finds a Python that can make the environment.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::process::Command;

use super::{LocalError, child};

/// Oldest version the engine's archive is built for.
const OLDEST: (u32, u32) = (3, 10);

/// Names tried, in order. The versioned ones help where `python3` is the system's own 3.9 and a newer one was installed beside it.
const NAMES: [&str; 6] = [
    "python3",
    "python3.14",
    "python3.13",
    "python3.12",
    "python3.11",
    "python3.10",
];

/// Limit of one question to an interpreter. A cold start from a network disk takes seconds.
const PROBE_LIMIT: Duration = Duration::from_secs(20);

/// Asks all there is to know at once. Old syntax on purpose: it must run on a Python that is too old, to tell so.
const PROBE: &str = "import importlib.util as u, json, shutil, sys
print(json.dumps({'major': sys.version_info[0], 'minor': sys.version_info[1], 'free': shutil.disk_usage(sys.argv[1]).free,
                  'venv': bool(u.find_spec('venv') and u.find_spec('ensurepip'))}))";

/// A Python that will do.
#[derive(Debug)]
pub(super) struct Python {
    pub(super) program: PathBuf,
    /// Free bytes on the disk of the directory it was asked about.
    pub(super) free: u64,
}

#[derive(Deserialize)]
struct Answer {
    major: u32,
    minor: u32,
    free: u64,
    venv: bool,
}

/// The given interpreter, or the first good one on the path. If none is good, the first problem met is told: it is about the name people expect.
pub(super) async fn find(given: Option<&Path>, dir: &Path) -> Result<Python, LocalError> {
    let names: Vec<PathBuf> = given.map_or_else(
        || NAMES.iter().map(PathBuf::from).collect(),
        |path| vec![path.to_path_buf()],
    );
    let mut first_problem = None;
    for name in &names {
        match probe(name, dir).await {
            Ok(Some(python)) => return Ok(python),
            Ok(None) => {}
            Err(problem) => {
                first_problem.get_or_insert(problem);
            }
        }
    }
    let tried = || {
        names
            .iter()
            .map(|name| name.display().to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    Err(first_problem.unwrap_or_else(|| LocalError::PythonMissing { tried: tried() }))
}

/// `None` if there is no such program.
async fn probe(name: &Path, dir: &Path) -> Result<Option<Python>, LocalError> {
    let mut command = Command::new(name);
    command
        .args(["-I", "-c", PROBE])
        .arg(dir)
        .env_remove("PYTHONHOME")
        .stdin(Stdio::null());
    let mut answer = None;
    let finished = match child::run(command, "asking Python for its version", PROBE_LIMIT, |line| {
        answer = serde_json::from_str::<Answer>(line).ok().or(answer.take());
    })
    .await
    {
        Err(LocalError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        other => other?,
    };
    let python = name.to_path_buf();
    let Some(answer) = answer.filter(|_| finished.status.success()) else {
        return Err(LocalError::PythonBroken {
            python,
            tail: finished.tail().to_string(),
        });
    };
    if (answer.major, answer.minor) < OLDEST {
        return Err(LocalError::PythonTooOld {
            python,
            found: format!("{}.{}", answer.major, answer.minor),
        });
    }
    if !answer.venv {
        return Err(LocalError::VenvMissing { python });
    }
    Ok(Some(Python {
        program: python,
        free: answer.free,
    }))
}
