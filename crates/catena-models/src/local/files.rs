//! Small files that are either old or new, never half.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::LocalError;

/// Tells the drafts of one process apart.
static DRAFTS: AtomicU32 = AtomicU32::new(0);

/// Writes beside the target and renames over it, so that a reader or a crash never meets half a file. The draft's name holds our process id and a
/// number: two writers of the same target do not write into each other's draft.
pub(super) async fn write_atomically(path: &Path, content: &[u8]) -> Result<(), LocalError> {
    let draft = path.with_extension(format!(
        "{}-{}.tmp",
        std::process::id(),
        DRAFTS.fetch_add(1, Ordering::Relaxed)
    ));
    tokio::fs::write(&draft, content)
        .await
        .map_err(LocalError::io("write", &draft))?;
    tokio::fs::rename(&draft, path)
        .await
        .map_err(LocalError::io("write", path))
}

/// Removes a file; one that is not there is removed already.
pub(super) async fn remove(path: &Path) -> Result<(), LocalError> {
    match tokio::fs::remove_file(path).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(LocalError::io("remove", path)(error)),
        _ => Ok(()),
    }
}
