//! Finding and reading scenario files.

use std::path::{Path, PathBuf};

use crate::read::ReadError;
use crate::scenario::Scenario;

/// A file that could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file or directory could not be read.
    #[error("{} cannot be read; check the path and its permissions", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing to run.
    #[error("no scenario below {}; name a directory with *.json files", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// The file is not a scenario.
    #[error("not a scenario")]
    Scenario(#[from] ReadError),
}

/// All `*.json` files below a directory, in order of their paths.
///
/// # Errors
/// [`LoadError::Io`] if a directory cannot be read.
pub fn find(dir: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let mut found = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        let io = |source| LoadError::Io {
            path: dir.clone(),
            source,
        };
        for entry in std::fs::read_dir(&dir).map_err(io)? {
            let path = entry.map_err(io)?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads one scenario file.
///
/// # Errors
/// [`LoadError`] if the file cannot be read or is not a scenario.
pub fn scenario(path: &Path) -> Result<Scenario, LoadError> {
    let text = std::fs::read_to_string(path).map_err(|source| LoadError::Io {
        path: path.to_owned(),
        source,
    })?;
    Ok(Scenario::parse(&text)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn files_are_found_at_any_depth_in_order_of_their_paths() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("b/c")).unwrap();
        for name in [
            "z.json",
            "b/2.json",
            "b/1.json",
            "b/c/0.json",
            "README.md",
            "known.toml",
        ] {
            std::fs::write(dir.path().join(name), "{}").unwrap();
        }
        let found = find(dir.path()).unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|path| path.strip_prefix(dir.path()).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, ["b/1.json", "b/2.json", "b/c/0.json", "z.json"]);
    }

    #[test]
    fn a_directory_that_does_not_exist_is_an_error_that_names_it() {
        let error = find(Path::new("no/such/dir")).unwrap_err();
        assert!(error.to_string().contains("no/such/dir"), "{error}");
    }
}
