//! A process that is killed in the middle of a tool, and the run that another one finishes.

use std::process::Stdio;
use std::time::Duration;

use catena_core::event::{EventKind, RunEvent};
use catena_core::{Input, Resume};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::stage::{Stage, call, say, thread};
use crate::app::App;
use crate::drive::{self, Watch};
use crate::error::{CliError, Exit, Result};
use crate::script::Line;

/// How long the other process may take until both tools have been seen at work.
const PATIENCE: Duration = Duration::from_secs(30);

fn lines() -> Vec<Line> {
    vec![
        call(
            "",
            &[
                ("count_words", json!({"text": "this call will be finished"})),
                ("archive", json!({"path": "photos"})),
            ],
        ),
        say(
            "I was interrupted. The count was finished and is in my record, so I did not count again. Whether the archive was packed is not \
             known, so I say so instead of guessing.",
        ),
    ]
}

/// The other process: begins the run and works until it is killed.
///
/// # Errors
/// If it is not killed in time.
pub(super) async fn live(app: &App, thread: &str) -> Result<Exit> {
    let stage = Stage {
        output: app.output,
        directory: app.data_dir()?,
        pace_ms: 0,
        at_leisure: false,
    };
    let agent = stage.agent(lines(), stage.store().await?).build()?;
    let input = Input::new("Count, and pack the photos.").thread(thread);
    drive::watch(agent.start(input), &app.output, Watch::Json, 0).await?;
    Err(CliError::Internal("nobody killed this process".into()))
}

/// Starts it, watches it, kills it, and finishes what it began.
///
/// # Errors
/// If it does not come as far as it must, or leaves something else than a run that can be finished.
pub(super) async fn scene(stage: &Stage) -> Result<()> {
    let id = thread("doomed");
    let program = std::env::current_exe().map_err(|_| stage.failed("catena's own program was not found"))?;
    let mut child = Command::new(program)
        .args(["tour", "--doomed", id.as_str(), "--data-dir"])
        .arg(&stage.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|_| stage.failed("a second catena did not start"))?;
    let pid = child.id().unwrap_or_default();
    stage.output.note_line(&format!(
        "{} Count, and pack the photos.",
        stage.output.paint.green("›")
    ));
    let output = child
        .stdout
        .take()
        .ok_or_else(|| stage.failed("a second catena said nothing"))?;
    let seen = tokio::time::timeout(PATIENCE, half_done(stage, BufReader::new(output))).await;
    if !matches!(seen, Ok(Ok(true))) {
        return Err(stage.failed("the second catena did not come to its tools"));
    }
    child
        .kill()
        .await
        .map_err(|_| stage.failed("the second catena could not be killed"))?;
    stage
        .output
        .note_line(&stage.output.paint.red(&format!("  ✗ process {pid} was killed")));
    let agent = stage.agent(lines(), stage.store().await?).build()?;
    stage.resume(&agent, Resume::thread(id)).await?;
    Ok(())
}

/// Whether one call has ended and the other is at work.
async fn half_done(stage: &Stage, output: BufReader<tokio::process::ChildStdout>) -> std::io::Result<bool> {
    let mut lines = output.lines();
    let (mut counted, mut archiving) = (false, false);
    let paint = stage.output.paint;
    while let Some(line) = lines.next_line().await? {
        let Ok(event) = serde_json::from_str::<RunEvent>(&line) else {
            continue;
        };
        match event.kind {
            EventKind::ToolStarted { tool, .. } => {
                stage.output.note_line(&format!(
                    "● {} {}",
                    paint.cyan(&tool),
                    paint.dim("starts, in the other process")
                ));
                archiving |= tool == "archive";
            }
            EventKind::ToolEnded { tool, .. } => {
                stage
                    .output
                    .note_line(&format!("  └ {} {}", paint.green("ok"), paint.dim(&tool)));
                counted |= tool == "count_words";
            }
            _ => {}
        }
        if counted && archiving {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The tools of both processes are the same.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_calls_tools_that_there_are() {
        let tools = crate::command::tour::tools::all(std::path::Path::new("."));
        for line in lines() {
            for call in line.calls {
                assert!(tools.iter().any(|tool| tool.spec().name == call.tool), "{}", call.tool);
            }
        }
    }
}
