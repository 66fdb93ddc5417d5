//! The connections of a store: one that writes, a few that read.
//!
//! SQLite has one writer at a time; tasks that queue for a connection of ours wait in order and without polling the file. Readers see the
//! last commit and are never in the writer's way. A wait for a connection ends by itself: whoever has it runs one statement, and SQLite
//! gives up on that after the busy timeout. (No timer is used, so a runtime whose clock is paused can use a store.)

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use catena_core::checkpoint::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{Mutex, MutexGuard};

use super::error::{explain, is_busy};
use super::location::Location;
use super::options::{SqliteOptions, Synchronous};
use super::schema;

/// Reads are short and mostly at the start of a run. Each connection is a thread.
const READERS: usize = 2;

/// Switching a new file to its write-ahead log does not wait for other connections by itself; a second is ample for them to finish.
const OPEN_TRIES: u32 = 50;
const OPEN_PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct Connections {
    writer: Mutex<SqliteConnection>,
    readers: Vec<Mutex<SqliteConnection>>,
    turn: AtomicUsize,
}

impl Connections {
    /// Opens the connections and brings the tables up to date.
    pub(crate) async fn open(location: &Location, options: &SqliteOptions) -> Result<Self, StoreError> {
        let base = connect_options(location, options);
        let writing = options
            .pragmas
            .iter()
            .fold(base.clone(), |all, (name, value)| all.pragma(*name, value.clone()));
        let mut writer = connect(&writing, location).await?;
        schema::prepare(&mut writer, location).await?;
        let mut readers = Vec::new();
        // A database in memory belongs to its connection.
        if *location != Location::Memory {
            for _ in 0..READERS {
                readers.push(Mutex::new(
                    connect(&base.clone().pragma("query_only", "ON"), location).await?,
                ));
            }
        }
        Ok(Self {
            writer: Mutex::new(writer),
            readers,
            turn: AtomicUsize::new(0),
        })
    }

    /// The connection that writes.
    pub(crate) async fn writer(&self) -> MutexGuard<'_, SqliteConnection> {
        self.writer.lock().await
    }

    /// A connection to read with.
    pub(crate) async fn reader(&self) -> MutexGuard<'_, SqliteConnection> {
        if let Some(idle) = self.readers.iter().find_map(|reader| reader.try_lock().ok()) {
            return idle;
        }
        match self.readers.len() {
            0 => self.writer().await,
            count => {
                self.readers[self.turn.fetch_add(1, Ordering::Relaxed) % count]
                    .lock()
                    .await
            }
        }
    }

    /// Closes all connections; the last one to leave the file folds its log in.
    pub(crate) async fn close(self) -> Result<(), sqlx::Error> {
        for reader in self.readers {
            reader.into_inner().close().await?;
        }
        self.writer.into_inner().close().await
    }
}

fn connect_options(location: &Location, options: &SqliteOptions) -> SqliteConnectOptions {
    let base = match location {
        Location::Memory => SqliteConnectOptions::new().in_memory(true),
        Location::File(path) => SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal),
    };
    let base = base
        .foreign_keys(true)
        .synchronous(options.synchronous.into())
        // SQLite counts in signed milliseconds.
        .busy_timeout(Duration::from_millis(
            options.busy_timeout_ms.min(i32::MAX.unsigned_abs()).into(),
        ))
        .thread_name(|n| format!("catena-sqlite-{n}"))
        // Statements are ours and static; their values are people's conversations.
        .disable_statement_logging();
    match options.synchronous {
        // What macOS calls a flush is not one unless asked twice; other systems ignore this.
        Synchronous::Full => base.pragma("fullfsync", "ON").pragma("checkpoint_fullfsync", "ON"),
        Synchronous::Normal => base,
    }
}

async fn connect(options: &SqliteConnectOptions, location: &Location) -> Result<SqliteConnection, StoreError> {
    let mut tries = 1;
    loop {
        match options.connect().await {
            Err(error) if is_busy(&error) && tries < OPEN_TRIES => tokio::time::sleep(OPEN_PAUSE).await,
            result => return result.map_err(|error| explain(error, location, "opening the database")),
        }
        tries += 1;
    }
}
