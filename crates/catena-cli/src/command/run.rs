//! `catena run`: one prompt, one answer.

use std::io::IsTerminal;

use catena_core::interrupt::Pause;
use catena_core::{Input, Outcome};
use tokio::io::AsyncReadExt;

use crate::app::App;
use crate::args;
use crate::attach;
use crate::drive::{self, Watch, Watched};
use crate::error::{CliError, Exit, Result};
use crate::output::Output;
use crate::render::question::{question, word};
use crate::session::Session;
use crate::threads;

/// Bytes of a prompt on standard input; more does not fit into any model's window.
const STDIN_LIMIT: u64 = 16 * 1024 * 1024;

/// Runs it.
///
/// # Errors
/// Whatever ended the run.
pub(crate) async fn run(app: &App, args: args::Run) -> Result<Exit> {
    let prompt = prompt(&args.prompt).await?;
    let mut files = Vec::new();
    for file in &args.files {
        files.push(attach::attach(file).await?);
    }
    if prompt.trim().is_empty() && files.is_empty() {
        return Err(CliError::Usage(
            "there is nothing to ask: give a prompt, as in `catena run \"What is a chain?\"`, or pipe one in".into(),
        ));
    }
    let session = Session::open(app, &args.choice).await?;
    let mut input = Input::messages(vec![attach::message(&prompt, files)]).principal(session.principal.clone());
    if let Some(thread) = &args.thread {
        input = input.thread(threads::find_or_new(session.store().as_ref(), thread).await?);
    }
    let watch = Watch::fitting(&app.output, args.json);
    let ended = match drive::watch(session.agent.start(input), &app.output, watch, app.global.verbose).await {
        Ok(watched) => finish(&app.output, watch, watched),
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
async fn prompt(words: &[String]) -> Result<String> {
    let typed = words.join(" ");
    if !words.is_empty() && typed != "-" {
        return Ok(typed);
    }
    if words.is_empty() && std::io::stdin().is_terminal() {
        return Ok(String::new());
    }
    read_stdin().await
}

/// All of standard input, as text.
///
/// # Errors
/// If it cannot be read, is too large or is not UTF-8.
pub(super) async fn read_stdin() -> Result<String> {
    let mut bytes = Vec::new();
    let read = tokio::io::stdin()
        .take(STDIN_LIMIT + 1)
        .read_to_end(&mut bytes)
        .await
        .map_err(CliError::Stdin)?;
    if read as u64 > STDIN_LIMIT {
        return Err(CliError::Usage(format!(
            "standard input is larger than {} MB",
            STDIN_LIMIT / (1024 * 1024)
        )));
    }
    let text = String::from_utf8(bytes).map_err(|_| CliError::Usage("standard input is not text in UTF-8".into()))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
