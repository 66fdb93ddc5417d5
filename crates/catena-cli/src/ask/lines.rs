//! Where a person's lines come from: a line editor on a terminal, standard input elsewhere.

use std::io::IsTerminal;
use std::path::PathBuf;

use tokio::io::{AsyncBufReadExt, BufReader, Lines as TokioLines, Stdin};

use super::editor::LineEditor;
use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::{self, Output};

/// What a person typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of standard input.
    End,
}

/// See the [module](self).
pub(crate) struct Lines {
    output: Output,
    source: Source,
}

enum Source {
    /// Absent while it reads on a thread of its own.
    Terminal(Option<Box<LineEditor>>),
    Piped(TokioLines<BufReader<Stdin>>),
}

impl Lines {
    /// Lines of this process. History is kept in `data_dir`; `commands` are completed.
    ///
    /// # Errors
    /// If the terminal cannot be used.
    pub(crate) fn new(app: &App, data_dir: PathBuf, commands: Vec<String>) -> Result<Self> {
        let terminal = std::io::stdin().is_terminal() && app.output.answers_on_terminal;
        let source = match terminal {
            true => Source::Terminal(Some(Box::new(LineEditor::new(
                data_dir,
                commands,
                app.output.answer_paint,
            )?))),
            false => Source::Piped(BufReader::new(tokio::io::stdin()).lines()),
        };
        Ok(Self {
            output: app.output,
            source,
        })
    }

    /// Whether a person sits there.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.source, Source::Terminal(_))
    }

    /// The next message or command. `waiting` shows that a question is open.
    ///
    /// # Errors
    /// If the terminal or standard input cannot be read.
    pub(crate) async fn message(&mut self, waiting: bool) -> Result<Line> {
        self.read(if waiting { "?› " } else { "› " }, "", true).await
    }

    /// What was typed before a question was asked does not answer it.
    pub(crate) fn forget_typed(&self) {
        if self.is_terminal() {
            output::forget_typed();
        }
    }

    /// The answer to a question.
    ///
    /// # Errors
    /// If the terminal or standard input cannot be read.
    pub(crate) async fn answer(&mut self, prompt: &str, initial: &str) -> Result<Line> {
        if !self.is_terminal() {
            self.output.note(prompt);
        }
        let line = self.read(prompt, initial, false).await;
        if !self.is_terminal() {
            self.output.note("\n");
        }
        line
    }

    async fn read(&mut self, prompt: &str, initial: &str, is_message: bool) -> Result<Line> {
        match &mut self.source {
            Source::Piped(lines) => Ok(lines
                .next_line()
                .await
                .map_err(CliError::Stdin)?
                .map_or(Line::End, Line::Text)),
            Source::Terminal(slot) => {
                let mut editor = slot
                    .take()
                    .ok_or_else(|| CliError::Internal("the line editor is in use".into()))?;
                let (prompt, initial) = (prompt.to_owned(), initial.to_owned());
                let read = tokio::task::spawn_blocking(move || {
                    let line = editor.read(&prompt, &initial, is_message);
                    (editor, line)
                });
                let (editor, line) = read
                    .await
                    .map_err(|_| CliError::Internal("the line editor failed".into()))?;
                *slot = Some(editor);
                line
            }
        }
    }

    /// Writes the history.
    pub(crate) fn close(&mut self) {
        if let Source::Terminal(Some(editor)) = &mut self.source {
            editor.save();
        }
    }
}
