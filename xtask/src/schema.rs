//! `cargo xtask schema`: keeps `docs/catena.schema.json`, the JSON Schema of the configuration file, equal to what `catena schema` prints.

use crate::artifacts::Artifacts;
use crate::command;
use crate::error::{Doing, Error, Result};
use crate::generated::{self, Mode, Page};
use crate::workspace::Workspace;

/// Builds the program, then writes or compares.
///
/// # Errors
/// As [`with`], and if the program does not build.
pub(crate) fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    with(workspace, &Artifacts::build(workspace)?, mode)
}

/// Writes or compares, with a program that is built already.
///
/// # Errors
/// If `catena schema` fails or prints something else than JSON or, in [`Mode::Check`], if the file differs.
pub(crate) fn with(workspace: &Workspace, artifacts: &Artifacts, mode: Mode) -> Result<()> {
    let mut catena = artifacts.program(workspace, "catena")?;
    let finished = command::capture(catena.arg("schema"))?;
    if !finished.status.success() {
        return Err(Error::new(format!(
            "`catena schema` failed ({}), see above",
            finished.status
        )));
    }
    let page = Page {
        path: workspace.root.join("docs/catena.schema.json"),
        text: schema_text(&finished.out)?,
    };
    generated::settle(mode, &workspace.root, &[page], &[], "cargo xtask schema")?;
    println!("schema: docs/catena.schema.json is up to date");
    Ok(())
}

/// The schema as it is committed: as printed, with one line end at the end.
fn schema_text(printed: &str) -> Result<String> {
    let printed = printed.trim();
    let value: serde_json::Value = serde_json::from_str(printed).doing("`catena schema` did not print JSON")?;
    if !value.is_object() {
        return Err(Error::new("`catena schema` printed JSON that is no schema"));
    }
    Ok(format!("{printed}\n"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_schema_is_kept_as_printed_and_anything_else_is_refused() {
        assert_eq!(
            schema_text("{\n  \"type\": \"object\"\n}\n\n").unwrap(),
            "{\n  \"type\": \"object\"\n}\n"
        );
        assert!(schema_text("").is_err());
        assert!(schema_text("[]").is_err());
    }
}
