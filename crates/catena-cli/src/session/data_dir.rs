//! Where catena keeps what it may not lose.

use std::path::PathBuf;

use crate::app::App;
use crate::error::{CliError, Result};

impl App {
    /// The data directory. Made if it does not exist, for its owner's eyes only: conversations are private.
    ///
    /// # Errors
    /// If no variable tells where it is, or if it cannot be made.
    pub(crate) fn data_dir(&self) -> Result<PathBuf> {
        let dir = match &self.global.data_dir {
            Some(dir) => dir.clone(),
            None => catena_models::local::data_dir(|name| self.environment.os(name))?,
        };
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&dir)
            .map_err(CliError::file("make the data directory", &dir))?;
        Ok(dir)
    }
}
