//! Where the files of the local model lie.

use std::path::{Path, PathBuf};

/// The paths below `<data>/local`. Absolute, because the server runs in another working directory than catena.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(super) fn new(data_dir: &Path) -> Self {
        let root = data_dir.join("local");
        Self {
            root: std::path::absolute(&root).unwrap_or(root),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn venv(&self) -> PathBuf {
        self.root.join("venv")
    }

    pub(super) fn python(&self) -> PathBuf {
        self.venv().join(if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        })
    }

    /// Inside the environment, so that no deletion can leave a marker without what it vouches for.
    pub(super) fn marker(&self) -> PathBuf {
        self.venv().join("catena.json")
    }

    pub(super) fn provision_lock(&self) -> PathBuf {
        self.root.join("provision.lock")
    }

    pub(super) fn server_lock(&self) -> PathBuf {
        self.root.join("server.lock")
    }

    pub(super) fn script(&self) -> PathBuf {
        self.root.join("server.py")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.root.join("server.json")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.root.join("server.log")
    }
}
