//! `catena tour`: what catena does, in two minutes and without a key.
//!
//! The model's words come from a script. Everything else is real: the loop, the tools, the gates, the journal in SQLite, the process that is
//! killed. Each step says which command does the same for a person's own agent.

mod doomed;
mod scenes;
mod stage;
mod tools;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::app::App;
use crate::args;
use crate::ask::Lines;
use crate::drive;
use crate::error::{CliError, Exit, Result};
use crate::output::{Modes, Output};
use crate::render::clean::wrapped;
use stage::Stage;

/// How long a person is left to read a step's first lines.
const READ: Duration = Duration::from_millis(2_500);
/// Milliseconds before each piece of an answer: a brisk model.
const PACE_MS: u64 = 18;

/// Gives it.
///
/// # Errors
/// If the tour's own directory cannot be used, or a step does not go as it must.
pub(crate) async fn tour(app: &App, args: args::Tour) -> Result<Exit> {
    if let Some(thread) = &args.doomed {
        return doomed::live(app, thread).await;
    }
    let output = app.output.as_one();
    let directory = Directory::new(&app.data_dir()?)?;
    let at_leisure = !args.fast && app.output.answers_on_terminal;
    let lines = match at_leisure {
        true => Some(Lines::new(app, app.data_dir()?, Vec::new())?).filter(Lines::is_terminal),
        false => None,
    };
    let pace_ms = if at_leisure { PACE_MS } else { 0 };
    let stage = Stage {
        output,
        directory: directory.0.clone(),
        pace_ms,
        at_leisure,
    };
    match scenes::play(&stage, lines).await {
        Ok(()) => Ok(Exit::Done),
        Err(CliError::Core(catena_core::Error::Cancelled)) => {
            output.hint("The tour ends here; `catena tour` begins it again.");
            Ok(Exit::Cancelled)
        }
        Err(error) => Err(error),
    }
}

/// Waits, unless the person has seen enough.
///
/// # Errors
/// `Cancelled` at Ctrl-C.
async fn pause(stage: &Stage, wait: Duration) -> Result<()> {
    if !stage.at_leisure {
        return Ok(());
    }
    let _unechoed = Modes::without_echo();
    tokio::select! {
        () = tokio::time::sleep(wait) => Ok(()),
        () = drive::interrupt() => Err(catena_core::Error::Cancelled.into()),
    }
}

/// A directory that ends with the tour.
struct Directory(PathBuf);

impl Directory {
    fn new(data_dir: &Path) -> Result<Self> {
        let path = data_dir.join(format!("tour-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(CliError::file("make the directory", &path))?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What stays is a few kilobytes under catena's own data.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The first lines of a step.
fn heading(output: &Output, number: usize, of: usize, title: &str, why: &str) {
    let paint = output.paint;
    let title = format!("{number}/{of}  {title}");
    output.note_line(&format!("\n{}", paint.bold(&paint.cyan(&title))));
    output.prose(why);
    output.note("\n");
}

/// The last line of a step.
fn yours(output: &Output, text: &str) {
    const YOURS: &str = "yours:";
    let line = wrapped(&format!("{YOURS} {text}"), output.width());
    let painted = line.replacen(YOURS, &output.paint.green(YOURS), 1);
    output.note(&format!("\n{painted}\n"));
}
