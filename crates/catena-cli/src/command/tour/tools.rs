//! The tour's tools. They do what they say.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use catena_core::tool::{Tool, ToolError, tool_fn};
use schemars::JsonSchema;
use serde::Deserialize;

/// How long a look-up takes: long enough to see that three of them do not take three times as long.
const LOOK_UP: Duration = Duration::from_millis(400);
/// How long the work takes that is killed in its middle: for ever, as far as the tour is concerned.
const ARCHIVE: Duration = Duration::from_secs(90);

#[derive(Deserialize, JsonSchema)]
struct Words {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    file: String,
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Target {
    path: String,
}

/// All of them.
pub(super) fn all(directory: &Path) -> Vec<Arc<dyn Tool>> {
    let count_words = tool_fn(
        "count_words",
        "Counts the words of a text.",
        |input: Words, _| async move { input.text.split_whitespace().count().to_string() },
    )
    .configure(|spec| spec.read_only());
    let look_up = tool_fn("look_up", "Looks a city up.", |input: City, _| async move {
        tokio::time::sleep(LOOK_UP).await;
        match &*input.city {
            "Nairobi" => Ok("UTC+3, 1,795 m above the sea"),
            "Lima" => Ok("UTC-5, 154 m above the sea"),
            "Oslo" => Ok("UTC+1, 23 m above the sea"),
            _ => Err(ToolError::new("not in this book")),
        }
    })
    .configure(|spec| spec.read_only());
    let place = directory.to_owned();
    let write_note = tool_fn("write_note", "Writes a note to a file.", move |input: Note, _| {
        // The name only: whatever path a model makes up stays within the tour's directory.
        let name = Path::new(&input.file).file_name().map(|name| place.join(name));
        async move {
            let path = name.ok_or_else(|| ToolError::new("give a file name"))?;
            tokio::fs::write(&path, &input.text).await?;
            Ok::<_, ToolError>(format!("{} bytes written to {}", input.text.len(), input.file))
        }
    });
    let delete_files = tool_fn("delete_files", "Deletes files.", |input: Target, _| async move {
        // Never reached: the guard of the tour refuses every call.
        Err::<String, _>(ToolError::new(format!("{} is not deleted", input.path)))
    });
    let archive = tool_fn("archive", "Packs an archive.", |input: Target, _| async move {
        tokio::time::sleep(ARCHIVE).await;
        format!("{} is packed", input.path)
    });
    vec![
        Arc::new(count_words),
        Arc::new(look_up),
        Arc::new(write_note),
        Arc::new(delete_files),
        Arc::new(archive),
    ]
}
