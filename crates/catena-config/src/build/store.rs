//! The store of a configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use catena_core::checkpoint::{Checkpointer, StoreError};
use catena_store::SqliteCheckpointer;

use super::{BuildError, Setup};
use crate::config::{Config, StoreConfig};

/// Opens the store of a configuration, for work on threads that needs no agent.
///
/// # Errors
/// [`BuildError::Store`] says what is wrong with the database or its directory.
///
/// # Cancel safety
/// Nothing is left behind but a database file or a data directory that may have been made.
pub async fn open_store(config: &Config, setup: &Setup) -> Result<Arc<dyn Checkpointer>, BuildError> {
    let location = match &config.store.url {
        Some(url) => absolute(config, url),
        None => text(in_data_dir(setup.data_dir.clone()).await?)?,
    };
    Ok(Arc::new(
        SqliteCheckpointer::open(&location, config.store.options()).await?,
    ))
}

/// The database in the data directory, which is made.
async fn in_data_dir(directory: PathBuf) -> Result<PathBuf, BuildError> {
    let made = tokio::task::spawn_blocking(move || match std::fs::create_dir_all(&directory) {
        Ok(()) => Ok(directory.join(StoreConfig::FILE)),
        Err(error) => Err(StoreError::Open {
            path: directory.display().to_string(),
            reason: format!("the data directory cannot be made: {error}"),
        }),
    });
    Ok(made.await.map_err(BuildError::Interrupted)??)
}

fn text(path: PathBuf) -> Result<String, StoreError> {
    path.into_os_string().into_string().map_err(|path| StoreError::Open {
        path: path.to_string_lossy().into_owned(),
        reason: "the path is not valid UTF-8; choose another directory".to_owned(),
    })
}

/// The address with its path made relative to the file that it stands in.
fn absolute(config: &Config, url: &str) -> String {
    let rest = url
        .strip_prefix("sqlite:")
        .map_or(url, |rest| rest.strip_prefix("//").unwrap_or(rest));
    if rest.is_empty() || rest == ":memory:" || url.contains("://") && !url.starts_with("sqlite://") {
        return url.to_owned();
    }
    match config
        .origin
        .source
        .beside(Path::new(rest))
        .into_os_string()
        .into_string()
    {
        Ok(path) => format!("sqlite://{path}"),
        Err(_) => url.to_owned(),
    }
}
