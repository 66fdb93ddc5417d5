//! `catena schema`: the JSON Schema of the configuration.

use crate::app::App;
use crate::error::{CliError, Exit, Result};

/// Prints it.
///
/// # Errors
/// If standard output cannot be written.
pub(crate) fn schema(app: &App) -> Result<Exit> {
    let text = serde_json::to_string_pretty(&catena_config::schema())
        .map_err(|error| CliError::Internal(format!("the schema cannot be written: {error}")))?;
    app.output.line(&text)?;
    Ok(Exit::Done)
}
