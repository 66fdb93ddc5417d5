//! From SQLite's result codes to [`StoreError`]s that say what to do.

use catena_core::checkpoint::StoreError;

use super::location::Location;

// Primary result codes: the low byte of what SQLite reports.
const BUSY: i32 = 5;
const READONLY: i32 = 8;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;
const NOTADB: i32 = 26;
/// The index of the write-ahead log could not grow. It is a few kilobytes beside the database: only a full disk refuses it.
const IOERR_SHMSIZE: i32 = 10 | (19 << 8);

/// The code SQLite reported, if it was SQLite that failed.
fn code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// Whether another connection was in the way.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| code & 0xff == BUSY)
}

/// Whether pages of the file are damaged.
pub(crate) fn is_damage(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| code & 0xff == CORRUPT)
}

/// What went wrong while doing `context`.
pub(crate) fn explain(error: sqlx::Error, location: &Location, context: &'static str) -> StoreError {
    let open = |reason: &str| StoreError::Open {
        path: location.to_string(),
        reason: reason.to_owned(),
    };
    match code(&error).map(|code| (code, code & 0xff)) {
        Some((IOERR_SHMSIZE, _) | (_, FULL)) => StoreError::DiskFull(Some(Box::new(error))),
        Some((_, NOTADB)) => open("it is not an SQLite database; choose another file"),
        Some((_, CORRUPT)) => {
            open("the file is damaged; put a backup in its place, or save what `sqlite3 FILE .recover` finds")
        }
        Some((_, READONLY)) => open("it is read-only; check the owner and permissions of the file and its directory"),
        Some((_, CANTOPEN)) => open(&location.diagnose()),
        Some((_, BUSY)) => StoreError::Other {
            context: "another process keeps the database locked",
            source: Box::new(error),
        },
        _ => StoreError::Other {
            context,
            source: Box::new(error),
        },
    }
}
