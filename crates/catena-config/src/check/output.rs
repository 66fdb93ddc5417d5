//! The form of an answer: a schema, or a file that holds one.

use std::path::Path;

use catena_core::output::OutputFormat;
use serde_json::Value as Json;

use crate::config::OutputConfig;
use crate::source::Source;

/// What the model knows the answer by unless the schema has a title.
const NAME: &str = "answer";

/// Reads the form of an answer; a file is read from the disk.
///
/// # Errors
/// What is wrong with the file or with the schema.
pub(crate) fn read(wanted: &OutputConfig, source: &Source) -> Result<OutputFormat, String> {
    let schema = match wanted {
        OutputConfig::Schema(members) => Json::Object(members.clone().into_iter().collect()),
        OutputConfig::File(file) => from_file(&source.beside(file))?,
    };
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err("an answer is a JSON object, so its schema must have `type = \"object\"`".to_owned());
    }
    let format = OutputFormat::new(name(&schema), schema);
    format.spec().check().map(|()| format)
}

fn from_file(path: &Path) -> Result<Json, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| match path.is_dir() {
        true => format!("the schema `{shown}` is a directory"),
        false => format!("the schema `{shown}` cannot be read: {error}"),
    })?;
    let schema: Json =
        serde_json::from_str(&text).map_err(|error| format!("the schema `{shown}` is not JSON: {error}"))?;
    match schema.is_object() {
        true => Ok(schema),
        false => Err(format!("the schema `{shown}` must be a JSON object")),
    }
}

/// A schema's title, made into what a tool may be called.
fn name(schema: &Json) -> String {
    let title = schema.get("title").and_then(Json::as_str).unwrap_or(NAME);
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = title.chars().map(fits).take(64).collect();
    match name.trim_matches('_') {
        "" => NAME.to_owned(),
        name => name.to_owned(),
    }
}
