//! Where a database is: what a person writes, and the file made for it.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use catena_core::checkpoint::StoreError;

/// Where a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// In this process, until the store is dropped.
    Memory,
    /// A file. SQLite takes file names as UTF-8 only.
    File(String),
}

impl Location {
    /// Reads `sqlite://catena.db`, `sqlite:///var/lib/catena.db`, `sqlite::memory:`, `:memory:` or a plain path.
    pub(crate) fn parse(text: &str) -> Result<Self, StoreError> {
        let fail = |reason: &str| {
            Err(StoreError::Open {
                path: text.to_owned(),
                reason: reason.to_owned(),
            })
        };
        let path = match text.strip_prefix("sqlite:") {
            Some(rest) if rest.contains('?') => return fail("nothing may follow a `?`; set options beside the url"),
            Some(rest) => rest.strip_prefix("//").unwrap_or(rest),
            None if text.contains("://") => return fail("only `sqlite://` urls and paths are understood"),
            None => text,
        };
        match path {
            "" => fail("it names no file; write a path such as `sqlite://catena.db`"),
            ":memory:" => Ok(Self::Memory),
            // SQLite would read what follows `file:` as a URI of its own.
            path if path.starts_with("file:") => Ok(Self::File(format!("./{path}"))),
            path => Ok(Self::File(path.to_owned())),
        }
    }

    /// Makes the file if it is missing, for its owner's eyes only. Threads are private, and SQLite gives the log beside the database the
    /// same permissions.
    pub(crate) fn create(&self) -> Result<(), StoreError> {
        let Self::File(path) = self else { return Ok(()) };
        match create_private(Path::new(path)) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(StoreError::Open {
                path: path.clone(),
                reason: explain(Path::new(path), &error),
            }),
        }
    }

    /// Why SQLite may have been unable to open the file, which it does not say itself.
    pub(crate) fn diagnose(&self) -> String {
        match self {
            Self::File(path) if Path::new(path).is_dir() => "it is a directory; name a file in it".to_owned(),
            Self::File(_) => {
                "the file or its directory may not be read and written; check their owner and permissions".to_owned()
            }
            Self::Memory => "there is not enough memory".to_owned(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str(":memory:"),
            Self::File(path) => f.write_str(path),
        }
    }
}

/// Closing any handle of a file drops every lock that the process has on it, so a file that may be in use as a database must not be opened
/// here. `create_new` opens none that exists; the mutex keeps another store of this process from using the new one before it is closed.
static CREATING: Mutex<()> = Mutex::new(());

fn create_private(path: &Path) -> io::Result<()> {
    let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn explain(path: &Path, error: &io::Error) -> String {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match error.kind() {
        io::ErrorKind::NotFound => format!("the directory `{}` does not exist; create it", parent.display()),
        io::ErrorKind::PermissionDenied => {
            format!(
                "the directory `{}` may not be written; check its owner and permissions",
                parent.display()
            )
        }
        io::ErrorKind::NotADirectory => format!("`{}` is not a directory", parent.display()),
        io::ErrorKind::ReadOnlyFilesystem => format!("the file system of `{}` is read-only", parent.display()),
        io::ErrorKind::StorageFull => "the disk is full; free some space".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn urls_and_paths_name_the_same_files() {
        let file = |path: &str| Location::File(path.to_owned());
        for (text, location) in [
            ("catena.db", file("catena.db")),
            ("sqlite:catena.db", file("catena.db")),
            ("sqlite://catena.db", file("catena.db")),
            ("sqlite:///var/catena.db", file("/var/catena.db")),
            ("what?.db", file("what?.db")),
            ("file:odd", file("./file:odd")),
            (":memory:", Location::Memory),
            ("sqlite::memory:", Location::Memory),
            ("sqlite://:memory:", Location::Memory),
        ] {
            assert_eq!(Location::parse(text).unwrap(), location, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named_and_explained() {
        for (text, remedy) in [
            ("postgres://host/db", "only `sqlite://`"),
            ("sqlite://a.db?mode=ro", "set options beside"),
            ("sqlite://", "write a path"),
            ("", "write a path"),
        ] {
            let error = Location::parse(text).unwrap_err().to_string();
            assert!(error.contains(remedy) && error.contains(text), "{error}");
        }
    }
}
