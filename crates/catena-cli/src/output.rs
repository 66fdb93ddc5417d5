//! Standard output and standard error: who gets what, and what a terminal is spared.
//!
//! Answers go to standard output, everything else to standard error. A reader that closes standard output ends the command quietly
//! ([`CliError::Closed`]); a closed standard error is nobody's problem.

mod terminal;

use std::io::{self, IsTerminal, Write};

pub(crate) use terminal::{Modes, forget_typed};

use crate::environment::Environment;
use crate::error::{CliError, Result};
use crate::render::clean::wrapped;

/// The two streams and what is known about them. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// Standard output is a terminal.
    pub(crate) answers_on_terminal: bool,
    /// Standard error is a terminal that understands effects; colours and spinners are for it.
    pub(crate) lively: bool,
    /// Both streams are looked at by the same eyes, or notes are asked for among the answers.
    notes: Notes,
    /// Paint for notes.
    pub(crate) paint: Paint,
    /// Paint for what goes to standard output.
    pub(crate) answer_paint: Paint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notes {
    ToStderr,
    ToStdout,
}

impl Output {
    /// Looks at the streams.
    pub(crate) fn new(environment: &Environment) -> Self {
        let plain = environment.wants_plain();
        let (stdout, stderr) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self {
            answers_on_terminal: stdout,
            lively: stderr && !plain,
            notes: Notes::ToStderr,
            paint: Paint { on: stderr && !plain },
            answer_paint: Paint { on: stdout && !plain },
        }
    }

    /// With notes among the answers, for a command whose whole purpose is to show something.
    pub(crate) fn as_one(self) -> Self {
        Self {
            notes: Notes::ToStdout,
            paint: self.answer_paint,
            lively: self.lively && self.answers_on_terminal,
            ..self
        }
    }

    /// Without effects that overwrite lines.
    pub(crate) fn calm(self) -> Self {
        Self { lively: false, ..self }
    }

    /// Columns of the window that notes are read in, as it is now; a constant elsewhere, so that logs look the same everywhere.
    pub(crate) fn width(&self) -> usize {
        /// What a log's reader can take in at a glance.
        const WIDTH: usize = 100;
        /// Narrower windows have to wrap.
        const NARROWEST: usize = 40;
        let terminal = match self.notes {
            Notes::ToStderr => terminal::width(&io::stderr()),
            Notes::ToStdout => terminal::width(&io::stdout()),
        };
        terminal.map_or(WIDTH, |width| width.max(NARROWEST))
    }

    /// Writes to standard output, at once.
    ///
    /// # Errors
    /// [`CliError::Closed`] if nobody reads it any more.
    pub(crate) fn answer(&self, text: &str) -> Result<()> {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => CliError::Closed,
            _ => CliError::Stdout(error),
        })
    }

    /// Writes a line to standard output.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub(crate) fn line(&self, text: &str) -> Result<()> {
        self.answer(&format!("{text}\n"))
    }

    /// Writes to where notes go.
    pub(crate) fn note(&self, text: &str) {
        match self.notes {
            Notes::ToStderr => {
                let mut stderr = io::stderr().lock();
                let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
            }
            // Whoever writes the next answer learns that the stream is closed.
            Notes::ToStdout => {
                let _ = self.answer(text);
            }
        }
    }

    /// Writes a line to where notes go.
    pub(crate) fn note_line(&self, text: &str) {
        self.note(&format!("{text}\n"));
    }

    /// Writes prose to where notes go, broken between words.
    pub(crate) fn prose(&self, text: &str) {
        self.note_line(&wrapped(text, self.width()));
    }

    /// Writes faint prose to where notes go.
    pub(crate) fn hint(&self, text: &str) {
        self.note_line(&self.paint.dim(&wrapped(text, self.width())));
    }
}

/// Puts effects around text, or leaves it alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paint {
    pub(crate) on: bool,
}

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.on && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// For what may be overlooked.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// For headings.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// For names.
    pub(crate) fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// For what went well.
    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// For what wants a person's attention.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// For what went wrong.
    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paint_that_is_off_changes_nothing() {
        assert_eq!(Paint { on: false }.red("x"), "x");
        assert_eq!(Paint { on: true }.red("x"), "\x1b[31mx\x1b[0m");
    }
}
