//! A run under way at a terminal: its events are shown or printed, Ctrl-C cancels it, its end becomes an exit code.

use std::pin::pin;
use std::time::Duration;

use catena_core::event::RunEvent;
use catena_core::model::Usage;
use catena_core::{Outcome, RunHandle, RunResult};
use tokio::time::Instant;

use crate::error::{CliError, Exit, Result};
use crate::output::Output;
use crate::render::waiting::Waiting;
use crate::render::{Piece, Renderer, View, clean, compact};

/// How long a cancelled run may take to journal its end, its last hooks included.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How a run is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// As people read it; the answer as it comes.
    Stream,
    /// As people read it; the answer when it is complete.
    Whole,
    /// As programs read it: one line of JSON for each event.
    Json,
}

impl Watch {
    /// What fits standard output: a terminal shows words as they come, a pipe gets the answer alone.
    pub(crate) fn fitting(output: &Output, json: bool) -> Self {
        match (json, output.answers_on_terminal) {
            (true, _) => Self::Json,
            (false, true) => Self::Stream,
            (false, false) => Self::Whole,
        }
    }
}

/// A run that was watched to its end.
#[derive(Debug)]
pub(crate) struct Watched {
    /// How it came out.
    pub(crate) result: catena_core::Result<RunResult>,
    /// Its tokens.
    pub(crate) usage: Usage,
    /// How long it took.
    pub(crate) took: Duration,
}

/// Watches a run until it is over. The first Ctrl-C cancels it, a second one stops waiting for it.
///
/// # Errors
/// [`CliError::Core`] with `Cancelled` if a second Ctrl-C came before the run could end; if standard output cannot be written. A run that
/// failed is not an error here. If standard output was closed, the run is cancelled first.
pub(crate) async fn watch(mut handle: RunHandle, output: &Output, watch: Watch, verbose: u8) -> Result<Watched> {
    let started = Instant::now();
    let mut shown = Shown::new(output, watch, verbose);
    let mut stop = pin!(interrupt());
    let mut cancelled = false;
    let mut unreadable = None;
    let mut impatience = pin!(tokio::time::sleep(Duration::MAX));
    loop {
        tokio::select! {
            event = handle.next() => match event {
                None => break,
                Some(_) if unreadable.is_some() => {}
                Some(event) => if let Err(error) = shown.show(&event) {
                    // Nobody reads the answer: there is no use in finishing it.
                    unreadable = Some(error);
                    handle.cancel();
                    impatience.as_mut().reset(Instant::now() + LAST_WORDS);
                }
            },
            () = &mut stop => {
                if cancelled {
                    return Err(catena_core::Error::Cancelled.into());
                }
                cancelled = true;
                stop.set(interrupt());
                shown.say("cancelling; Ctrl-C again to leave at once");
                handle.cancel();
                impatience.as_mut().reset(Instant::now() + LAST_WORDS);
            }
            () = &mut impatience => return Err(catena_core::Error::Cancelled.into()),
        }
    }
    let usage = shown.finish();
    let result = handle.outcome().await;
    match unreadable {
        // A reader that has seen enough is not an error.
        None | Some(CliError::Closed) => Ok(Watched {
            result,
            usage,
            took: started.elapsed(),
        }),
        Some(error) => Err(error),
    }
}

/// Completes at Ctrl-C, or when the process is asked to end.
pub(crate) async fn interrupt() {
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated() => {}
    }
}

/// Completes when the process is asked to end, by other means than Ctrl-C.
pub(crate) async fn terminated() {
    #[cfg(unix)]
    if let Ok(mut term) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        term.recv().await;
        return;
    }
    std::future::pending().await
}

/// Events on their way to the streams.
struct Shown<'a> {
    output: &'a Output,
    watch: Watch,
    renderer: Renderer,
    waiting: Waiting,
}

impl<'a> Shown<'a> {
    fn new(output: &'a Output, watch: Watch, verbose: u8) -> Self {
        let view = View {
            stream: watch == Watch::Stream,
            reasoning: output.lively || verbose > 0,
            verbose,
            width: output.width(),
            paint: output.paint,
        };
        Self {
            output,
            watch,
            renderer: Renderer::new(view),
            waiting: Waiting::new(output),
        }
    }

    fn show(&mut self, event: &RunEvent) -> Result<()> {
        self.renderer.fit(self.output.width());
        let pieces = self.renderer.show(event);
        if self.watch == Watch::Json {
            let line = serde_json::to_string(event)
                .map_err(|error| CliError::Internal(format!("an event cannot be written: {error}")))?;
            return self.output.line(&line);
        }
        pieces.into_iter().try_for_each(|piece| self.piece(piece))
    }

    fn piece(&mut self, piece: Piece) -> Result<()> {
        match piece {
            Piece::Busy(what) => {
                self.waiting.start(what);
                Ok(())
            }
            Piece::Answer(text) => {
                self.waiting.stop();
                self.output.answer(&text)
            }
            Piece::Note(text) => {
                self.waiting.stop();
                self.output.note(&text);
                Ok(())
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.waiting.stop();
        if self.watch == Watch::Json {
            return;
        }
        if let Some(piece) = self.renderer.break_line() {
            let _ = self.piece(piece);
        }
        self.output.hint(text);
    }

    fn finish(&mut self) -> Usage {
        self.waiting.stop();
        if self.watch != Watch::Json
            && let Some(piece) = self.renderer.break_line()
        {
            let _ = self.piece(piece);
        }
        self.renderer.usage()
    }
}

/// The exit code of a run, and what a person should know about how it ended.
///
/// # Errors
/// The run's own error.
pub(crate) fn conclude(output: &Output, watch: Watch, watched: Watched) -> Result<Exit> {
    let result = watched.result?;
    // What was said before a pause or a cancellation is no answer.
    if watch == Watch::Whole && matches!(result.outcome, Outcome::Done | Outcome::Stopped { .. }) {
        let text = result
            .structured
            .as_ref()
            .map_or_else(|| result.text(), ToString::to_string);
        if !text.is_empty() {
            output.line(clean(&text).trim_end_matches('\n'))?;
        }
    }
    Ok(match &result.outcome {
        Outcome::Done => Exit::Done,
        Outcome::Interrupted(_) => Exit::Interrupted,
        Outcome::Stopped { by, reason } => {
            let line = format!("stopped by {}: {}", clean(by), clean(&reason.message));
            output.note_line(&output.paint.yellow(&line));
            Exit::Done
        }
        Outcome::Cancelled => {
            if watch != Watch::Json {
                output.hint("cancelled; the thread is kept");
            }
            Exit::Cancelled
        }
        _ => Exit::Done,
    })
}

/// What a run cost, in a few words; empty if nobody said.
pub(crate) fn cost(usage: Usage, took: Duration) -> String {
    if usage.is_empty() {
        return String::new();
    }
    let cached = if usage.cached > 0 {
        format!(" ({} cached)", usage.cached)
    } else {
        String::new()
    };
    let price = if usage.micro_usd > 0 {
        format!(" · ${:.4}", usage.micro_usd as f64 / 1e6)
    } else {
        String::new()
    };
    format!(
        "{} tokens in{cached} · {} out{price} · {}",
        usage.input,
        usage.output,
        compact::duration(took)
    )
}
