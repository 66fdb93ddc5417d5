//! What every scene of the tour is played on.

use std::path::PathBuf;
use std::sync::Arc;

use catena_core::agent::AgentBuilder;
use catena_core::id::ThreadId;
use catena_core::interrupt::Pause;
use catena_core::{Agent, Input, Outcome, Resume, RunHandle};
use catena_store::{SqliteCheckpointer, SqliteOptions};
use serde_json::json;

use super::tools;
use crate::drive::{self, Watch};
use crate::error::{CliError, Result};
use crate::output::{Modes, Output};
use crate::script::{Line, Playback};

/// See the [module](self).
pub(super) struct Stage {
    pub(super) output: Output,
    /// Where the journal and the tools' files are.
    pub(super) directory: PathBuf,
    /// Milliseconds before each piece of an answer.
    pub(super) pace_ms: u64,
    /// A person is watching, and has time.
    pub(super) at_leisure: bool,
}

impl Stage {
    /// Opens the journal that the scene's threads are kept in.
    ///
    /// # Errors
    /// If the database cannot be opened.
    pub(super) async fn store(&self) -> Result<Arc<SqliteCheckpointer>> {
        let path = self.directory.join("tour.db");
        Ok(Arc::new(
            SqliteCheckpointer::open(&path.to_string_lossy(), SqliteOptions::default()).await?,
        ))
    }

    /// An agent that says these lines and has the tour's tools.
    pub(super) fn agent(&self, lines: Vec<Line>, store: Arc<SqliteCheckpointer>) -> AgentBuilder {
        let builder = Agent::builder(Playback::new("scripted:tour", lines, self.pace_ms))
            .name("guide")
            .store(store);
        tools::all(&self.directory)
            .into_iter()
            .fold(builder, AgentBuilder::shared_tool)
    }

    /// Shows what a person asks, and what comes of it. Yields the questions, if the run has some.
    ///
    /// # Errors
    /// `Cancelled` at Ctrl-C; what the run failed of.
    pub(super) async fn ask(&self, agent: &Agent, question: &str, thread: &str) -> Result<Vec<Pause>> {
        let paint = self.output.paint;
        self.output.note_line(&format!("{} {question}", paint.green("›")));
        self.watch(agent.start(Input::new(question).thread(thread))).await
    }

    /// Goes on with a run.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub(super) async fn resume(&self, agent: &Agent, resume: Resume) -> Result<Vec<Pause>> {
        self.watch(agent.start(resume)).await
    }

    async fn watch(&self, handle: RunHandle) -> Result<Vec<Pause>> {
        let _unechoed = self.at_leisure.then(Modes::without_echo);
        let watched = drive::watch(handle, &self.output, Watch::Stream, 0).await?;
        let result = watched.result?;
        match result.outcome {
            Outcome::Interrupted(pauses) => Ok(pauses),
            Outcome::Cancelled => Err(catena_core::Error::Cancelled.into()),
            Outcome::Stopped { reason, .. } => {
                self.output
                    .note_line(&self.output.paint.yellow(&format!("  stopped: {}", reason.message)));
                Ok(Vec::new())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Says that a step did not show what it is there for: a bug, and not one to hide.
    pub(super) fn failed(&self, what: &str) -> CliError {
        CliError::Internal(format!("the tour did not go as it must: {what}"))
    }
}

/// The model says this.
pub(super) fn say(text: &str) -> Line {
    Line {
        say: Some(text.to_owned()),
        ..Line::default()
    }
}

/// The model says this and calls these tools.
pub(super) fn call(text: &str, calls: &[(&str, serde_json::Value)]) -> Line {
    let calls = calls.iter().map(|(tool, input)| json!({"tool": tool, "input": input}));
    Line {
        say: Some(text.to_owned()).filter(|text| !text.is_empty()),
        // The lines of a tour are written as those of a script file are.
        calls: calls.filter_map(|call| serde_json::from_value(call).ok()).collect(),
        ..Line::default()
    }
}

/// The name of a scene's thread.
pub(super) fn thread(name: &str) -> ThreadId {
    format!("tour-{name}").into()
}
