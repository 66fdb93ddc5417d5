//! `catena run`: one prompt, one answer.

use std::io::IsTerminal;
use std::path::Path;

use catena_core::interrupt::Pause;
use catena_core::{Input, Outcome};

use crate::app::App;
use crate::args;
use crate::attach;
use crate::drive::{self, Watch, Watched};
use crate::error::{CliError, Exit, Result};
use crate::output::Output;
use crate::render::question::{question, word};
use crate::session::Session;
use crate::stdin;
use crate::threads;

/// Runs it.
///
/// # Errors
/// Whatever ended the run.
pub(crate) async fn run(app: &App, args: args::Run) -> Result<Exit> {
    // It can be read once.
    let stdin_is_file = args.files.iter().any(|file| file == Path::new("-"));
    let prompt = prompt(&args.prompt, stdin_is_file).await?;
    let files = attach::attach_all(&args.files).await?;
    if prompt.trim().is_empty() && files.is_empty() {
        return Err(CliError::Usage(
            "there is nothing to ask: give a prompt, as in `catena run \"What is a chain?\"`, or pipe one in".into(),
        ));
    }
    let session = Session::open_for(app, &args.choice, args.thread.as_deref()).await?;
    session.warn_unseen(app, &files);
    let mut input = Input::messages(vec![attach::message(&prompt, files)]).principal(session.principal.clone());
    if let Some(thread) = &args.thread {
        input = input.thread(threads::find_or_new(session.store().as_ref(), thread).await?);
    }
    let watch = Watch::fitting(&app.output, args.json);
    let ended = match drive::watch(session.agent.start(input), &app.output, watch, app.global.verbose).await {
        Ok(watched) => finish(&app.output, watch, watched),
        // Whoever asked twice does not want to wait.
        Err(CliError::Core(catena_core::Error::Cancelled)) => return Ok(Exit::Cancelled),
        Err(error) => Err(error),
    };
    session.close().await;
    ended
}

/// Says what is left to say, and finds the exit code.
///
/// # Errors
/// The run's own error.
pub(super) fn finish(output: &Output, watch: Watch, watched: Watched) -> Result<Exit> {
    let (usage, took) = (watched.usage, watched.took);
    if let Ok(result) = &watched.result
        && let Outcome::Interrupted(pauses) = &result.outcome
        && watch != Watch::Json
    {
        ask_later(output, result.thread.as_str(), pauses);
    }
    let thread = watched.result.as_ref().ok().map(|result| result.thread.clone());
    let exit = drive::conclude(output, watch, watched)?;
    // Standard error of a script should be empty when all went well.
    if watch == Watch::Stream {
        let cost = drive::cost(usage, took);
        let thread = thread.map(|thread| format!("thread {thread}")).unwrap_or_default();
        output.hint(
            &[thread, cost]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(" · "),
        );
    }
    Ok(exit)
}

/// Shows the questions of a run that nobody is there to answer, and how they can be answered.
fn ask_later(output: &Output, thread: &str, pauses: &[Pause]) {
    output.note_line(&format!("The run waits for {} answer(s):", pauses.len()));
    for pause in pauses {
        output.note(&question(pause, output.paint));
        let allowed: Vec<_> = pause.request.allowed.iter().map(|kind| word(*kind)).collect();
        output.hint(&format!("  pause {} · {}", pause.id, allowed.join(", ")));
    }
    output.note_line(&format!(
        "Answer with `catena resume --thread {thread} --decisions FILE`, approve all with `--approve-all`,\nor be asked in `catena chat --thread {thread}`."
    ));
}

/// The words of the arguments, or standard input.
async fn prompt(words: &[String], stdin_is_file: bool) -> Result<String> {
    let typed = words.join(" ");
    if !words.is_empty() && typed != "-" {
        return Ok(typed);
    }
    if stdin_is_file && typed == "-" {
        return Err(CliError::Usage(
            "standard input cannot be both the prompt and a file".into(),
        ));
    }
    if words.is_empty() && (stdin_is_file || std::io::stdin().is_terminal()) {
        return Ok(String::new());
    }
    stdin::read().await
}
