//! The marker: a file written last, which tells a finished environment from one whose making was cut short.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::pins::Pin;
use super::{LocalError, files, layout::Layout};

/// What the environment holds.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// Requirements, as given to pip.
    pins: Vec<String>,
    /// Our weights, relative to the environment; none if the user's own are run.
    weights: Option<PathBuf>,
}

impl Marker {
    pub(super) fn new(pins: &[Pin], weights: Option<PathBuf>) -> Self {
        Self {
            pins: pins.iter().map(Pin::requirement).collect(),
            weights,
        }
    }

    /// A marker that is missing or not readable is one thing: the environment is not finished.
    pub(super) async fn read(layout: &Layout) -> Option<Self> {
        let text = tokio::fs::read(layout.marker()).await.ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(super) async fn write(&self, layout: &Layout) -> Result<(), LocalError> {
        let path = layout.marker();
        let text = serde_json::to_vec_pretty(self).map_err(|error| LocalError::io("write", &path)(error.into()))?;
        files::write_atomically(&path, &text).await
    }

    pub(super) fn weights(&self, layout: &Layout) -> Option<PathBuf> {
        self.weights.as_ref().map(|path| layout.venv().join(path))
    }

    /// Whether everything `required` is there. The interpreter is asked for too: it is a link that dangles once the system's Python is replaced.
    pub(super) async fn is_complete(&self, layout: &Layout, required: &[Pin]) -> bool {
        let has = |pin: &Pin| self.pins.contains(&pin.requirement());
        if !required.iter().all(has) || !exists(&layout.python()).await {
            return false;
        }
        if !required.contains(&super::pins::WEIGHTS) {
            return true;
        }
        let inside = self
            .weights
            .as_ref()
            .is_some_and(|path| path.components().all(|part| matches!(part, Component::Normal(_))));
        match self.weights(layout) {
            Some(path) => inside && exists(&path).await,
            None => false,
        }
    }
}

async fn exists(path: &Path) -> bool {
    tokio::fs::try_exists(path).await.unwrap_or(false)
}
