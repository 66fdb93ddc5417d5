//! Runs the examples and compares what they print with the file beside them: `examples/hello.rs` prints `examples/hello.stdout`.

use std::process::{Command, Stdio};

use super::totals::Totals;
use crate::artifacts::{Artifact, Artifacts};
use crate::error::{Doing, Error, Result};
use crate::workspace::{Workspace, read_text};

/// Runs every example that has its output committed. (`tidy` finds those that have none.)
///
/// # Errors
/// If an output cannot be read.
pub(crate) fn run(workspace: &Workspace, artifacts: &Artifacts) -> Result<Totals> {
    let mut totals = Vec::new();
    let examples = workspace.packages.iter().flat_map(|package| package.targets("example"));
    for example in examples {
        let wanted = example.path.with_extension("stdout");
        if !wanted.is_file() {
            continue;
        }
        let text = read_text(&wanted)?.replace("\r\n", "\n");
        let result = artifacts
            .example(&example.name)
            .ok_or_else(|| Error::new("was not built"))
            .and_then(|built| compare(workspace, built, &text));
        if let Err(error) = &result {
            println!(
                "example {}: {error} (wanted: {})",
                example.name,
                workspace.relative(&wanted)
            );
        }
        totals.push(Totals::one(result.is_ok()));
    }
    Ok(totals.into_iter().sum())
}

fn compare(workspace: &Workspace, example: &Artifact, wanted: &str) -> Result<()> {
    let output = Command::new(&example.path)
        .current_dir(&workspace.root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .doing("cannot be started")?;
    if !output.status.success() {
        return Err(Error::new(format!("failed ({})", output.status)));
    }
    let found = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
    if found == wanted {
        return Ok(());
    }
    Err(Error::new(difference(wanted, &found)))
}

fn difference(wanted: &str, found: &str) -> String {
    let end = "(nothing)";
    let lines = wanted.lines().chain([end]).zip(found.lines().chain([end]));
    let different = (1..).zip(lines).find(|(_, (wanted, found))| wanted != found);
    // Without a different line only the line end at the end differs.
    let (number, (wanted, line)) = different.unwrap_or((1, (end, end)));
    format!("line {number} should be `{wanted}` and is `{line}`; it printed:\n{found}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_the_first_line_and_shows_everything() {
        let text = difference("one\ntwo\n", "one\n2\nthree\n");
        assert!(text.starts_with("line 2 should be `two` and is `2`"), "{text}");
        assert!(text.ends_with("one\n2\nthree\n"));
        assert!(difference("one\n", "one\ntwo\n").starts_with("line 2 should be `(nothing)` and is `two`"));
    }
}
