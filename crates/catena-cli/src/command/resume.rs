//! `catena resume`: answers for a run that waits, or the rest of one that was cut off.

use std::path::Path;

use catena_core::Resume;
use catena_core::id::ThreadId;
use catena_core::record::Thread;

use super::run;
use crate::answers::{self, Answers};
use crate::app::App;
use crate::args;
use crate::attach;
use crate::drive::{self, Watch};
use crate::error::{CliError, Exit, Result};
use crate::session::Session;
use crate::stdin;
use crate::threads;

/// Resumes it.
///
/// # Errors
/// Whatever ended the run; a decision that does not fit leaves the question open.
pub(crate) async fn resume(app: &App, args: args::Resume) -> Result<Exit> {
    let answers = match &args.decisions {
        Some(file) => Some(answers::parse(&decisions(file).await?)?),
        None => None,
    };
    let store = app.store().await?;
    let id = threads::find(store.as_ref(), &args.thread).await?;
    let thread = threads::read(store.as_ref(), &id).await?;
    must_be_resumable(&id, &thread)?;
    drop(store);
    let session = Session::open_for(app, &args.choice, Some(id.as_str())).await?;
    let resume = with(Resume::thread(id.clone()), answers, args.approve_all).principal(session.principal.clone());
    let watch = Watch::fitting(&app.output, args.json);
    let ended = match drive::watch(session.agent.start(resume), &app.output, watch, app.global.verbose).await {
        Ok(watched) => run::finish(&app.output, watch, watched),
        // Whoever asked twice does not want to wait.
        Err(CliError::Core(catena_core::Error::Cancelled)) => return Ok(Exit::Cancelled),
        Err(error) => Err(error),
    };
    session.close().await;
    ended
}

fn with(resume: Resume, answers: Option<Answers>, approve_all: bool) -> Resume {
    match answers {
        _ if approve_all => resume.approve_all(),
        None => resume,
        Some(Answers::InOrder(decisions)) => resume.decisions(decisions),
        Some(Answers::Named(answers)) => answers
            .into_iter()
            .fold(resume, |resume, answer| resume.answer(answer.pause, answer.decision)),
    }
}

/// A run that is over cannot be resumed; saying so needs no model.
fn must_be_resumable(id: &ThreadId, thread: &Thread) -> Result<()> {
    match thread.run().filter(|run| run.outcome().is_none()) {
        Some(_) => Ok(()),
        None => Err(catena_core::Error::NotInterrupted(id.clone()).into()),
    }
}

/// Answers are short; this leaves room for edits of whole files.
const DECISIONS_LIMIT: u64 = 16 << 20;

async fn decisions(file: &Path) -> Result<String> {
    match file == Path::new("-") {
        true => stdin::read().await,
        false => {
            let bytes = attach::at_most(file, DECISIONS_LIMIT).await?;
            if bytes.len() as u64 > DECISIONS_LIMIT {
                let text = format!("`{}` is larger than {DECISIONS_LIMIT} bytes", file.display());
                return Err(CliError::Usage(text));
            }
            String::from_utf8(bytes).map_err(|_| CliError::Usage(format!("`{}` is not UTF-8 text", file.display())))
        }
    }
}
