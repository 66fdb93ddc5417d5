//! Small things that all tests need.

use std::sync::Arc;
use std::time::Duration;

use catena_core::checkpoint::Checkpointer;
use catena_core::record::Entry;
use catena_store::{SqliteCheckpointer, SqliteOptions};
use sqlx::{ConnectOptions, SqliteConnection};
use tempfile::TempDir;

/// Longer than any test.
pub(crate) const LONG: Duration = Duration::from_secs(3600);

/// An entry that can be told from others.
pub(crate) fn note(text: impl AsRef<str>) -> Arc<Entry> {
    Arc::new(Entry::CallStarted {
        call: text.as_ref().into(),
    })
}

pub(crate) fn notes<const N: usize>(texts: [&str; N]) -> Vec<Arc<Entry>> {
    texts.into_iter().map(note).collect()
}

/// The texts of all notes in a thread.
pub(crate) async fn texts(store: &dyn Checkpointer, thread: &str) -> Vec<String> {
    let entries = store.load(&thread.into(), 0).await.unwrap();
    entries.iter().map(|entry| text(entry)).collect()
}

pub(crate) fn text(entry: &Entry) -> String {
    match entry {
        Entry::CallStarted { call } => call.to_string(),
        other => panic!("not a note: {other:?}"),
    }
}

/// A directory with a database.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn database(&self) -> String {
        self.path("catena.db")
    }

    pub(crate) async fn store(&self) -> SqliteCheckpointer {
        self.store_with(SqliteOptions::default()).await
    }

    pub(crate) async fn store_with(&self, options: SqliteOptions) -> SqliteCheckpointer {
        SqliteCheckpointer::open(&self.database(), options).await.unwrap()
    }

    /// A connection beside the store's.
    pub(crate) async fn raw(&self) -> SqliteConnection {
        sqlx::sqlite::SqliteConnectOptions::new()
            .filename(self.database())
            .connect()
            .await
            .unwrap()
    }

    /// Runs SQL beside the store.
    pub(crate) async fn sql(&self, sql: &'static str) {
        sqlx::raw_sql(sql).execute(&mut self.raw().await).await.unwrap();
    }
}
