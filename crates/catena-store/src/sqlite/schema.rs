//! The tables, and how a database of an older version gets them.
//!
//! Versions are steps of SQL, applied in order, each in a transaction of its own; the database remembers the last one in `user_version`.
//! `application_id` tells a database of catena from one of another program.

use catena_core::checkpoint::StoreError;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection, Row};

use super::error::explain;
use super::location::Location;

/// "cate" in ASCII.
const APPLICATION_ID: i32 = 0x6361_7465;

/// Step n takes a database from version n to version n + 1. A step that was released is never changed.
const STEPS: &[&str] = &[include_str!("schema/1.sql")];

/// Brings the database to this version's schema.
///
/// # Errors
/// [`StoreError::Newer`] if a newer version wrote it, [`StoreError::Open`] if it is not catena's.
pub(crate) async fn prepare(connection: &mut SqliteConnection, location: &Location) -> Result<(), StoreError> {
    let fail = |error| explain(error, location, "preparing the tables");
    let mut version = check(connection, location).await?;
    while version < STEPS.len() {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(fail)?;
        // Another process may have been faster.
        version = check(&mut transaction, location).await?;
        if let Some(step) = STEPS.get(version) {
            version += 1;
            let stamp = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version};");
            sqlx::raw_sql(*step).execute(&mut *transaction).await.map_err(fail)?;
            // Pragmas take no parameters; both values are numbers of ours.
            sqlx::raw_sql(AssertSqlSafe(stamp))
                .execute(&mut *transaction)
                .await
                .map_err(fail)?;
        }
        transaction.commit().await.map_err(fail)?;
    }
    Ok(())
}

/// The database's version, if it is one that can be used or brought up.
async fn check(connection: &mut SqliteConnection, location: &Location) -> Result<usize, StoreError> {
    const FACTS: &str = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) \
                         FROM pragma_application_id, pragma_user_version";
    let fail = |error| explain(error, location, "reading the version");
    let row = sqlx::query(FACTS).fetch_one(connection).await.map_err(fail)?;
    let (application, version, tables): (i32, i32, i64) = (
        row.try_get(0).map_err(fail)?,
        row.try_get(1).map_err(fail)?,
        row.try_get(2).map_err(fail)?,
    );
    if (application, version, tables) == (0, 0, 0) {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        let reason = "it is a database of another program; choose another file".to_owned();
        return Err(StoreError::Open {
            path: location.to_string(),
            reason,
        });
    }
    match usize::try_from(version) {
        Ok(version) if version <= STEPS.len() => Ok(version),
        _ => Err(StoreError::Newer {
            what: format!("the database `{location}`"),
        }),
    }
}
