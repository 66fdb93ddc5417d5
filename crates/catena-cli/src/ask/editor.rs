//! The line editor: history, completion, several lines.

use std::borrow::Cow;
use std::path::PathBuf;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper,
    KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};

use super::lines::Line;
use crate::error::{CliError, Result};
use crate::output::Paint;

/// Lines that are remembered.
const HISTORY: usize = 2_000;
/// Where, in the data directory.
const FILE: &str = "history.txt";

/// See the [module](self).
pub(super) struct LineEditor {
    editor: Editor<Help, FileHistory>,
    history: PathBuf,
}

impl LineEditor {
    /// An editor on this process's terminal.
    ///
    /// # Errors
    /// If the terminal cannot be used.
    pub(super) fn new(data_dir: PathBuf, commands: Vec<String>, paint: Paint) -> Result<Self> {
        let config = Config::builder()
            .max_history_size(HISTORY)
            .map_err(failed)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .bracketed_paste(true)
            .auto_add_history(false)
            .build();
        let mut editor: Editor<Help, FileHistory> = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Help {
            commands,
            files: FilenameCompleter::new(),
            paint,
            in_message: true,
        }));
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        editor.bind_sequence(KeyEvent::ctrl('C'), EventHandler::Conditional(Box::new(ClearFirst)));
        let history = data_dir.join(FILE);
        // The first time there is none, and one that cannot be read is no reason not to talk.
        let _ = editor.load_history(&history);
        Ok(Self { editor, history })
    }

    /// Reads a line, or several where they belong together. Blocks.
    ///
    /// # Errors
    /// If the terminal cannot be read.
    pub(super) fn read(&mut self, prompt: &str, initial: &str, is_message: bool) -> Result<Line> {
        if let Some(help) = self.editor.helper_mut() {
            help.in_message = is_message;
        }
        match self.editor.readline_with_initial(prompt, (initial, "")) {
            Ok(text) => {
                if is_message && !text.trim().is_empty() {
                    // Written at once: another conversation may be going on, and this one may be killed.
                    let _ = self.editor.add_history_entry(text.as_str());
                    self.save();
                }
                Ok(Line::Text(continued(&text)))
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes what is new in the history.
    pub(super) fn save(&mut self) {
        if let Err(error) = self.editor.append_history(&self.history) {
            tracing::warn!(%error, "the history cannot be written");
        }
    }
}

/// Ctrl-C takes back what was typed; only where nothing is left does it interrupt.
struct ClearFirst;

impl ConditionalEventHandler for ClearFirst {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        (!context.line().is_empty()).then_some(Cmd::Kill(Movement::WholeBuffer))
    }
}

fn failed(error: ReadlineError) -> CliError {
    CliError::Stdin(std::io::Error::other(error.to_string()))
}

/// The lines without the marks that held them together.
fn continued(text: &str) -> String {
    text.replace("\\\n", "\n")
}

/// Completion, colours and the rule for lines that go on.
struct Help {
    commands: Vec<String>,
    files: FilenameCompleter,
    paint: Paint,
    /// A message is being typed, not an answer.
    in_message: bool,
}

impl Helper for Help {}

impl Hinter for Help {
    type Hint = String;
}

impl Validator for Help {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match self.in_message && context.input().ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Highlighter for Help {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _default: bool) -> Cow<'b, str> {
        Cow::Owned(self.paint.green(prompt))
    }
}

impl Completer for Help {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _context: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = line.get(..pos).unwrap_or_default();
        if !self.in_message {
            return Ok((pos, Vec::new()));
        }
        if typed.starts_with("/file ") {
            return self.files.complete_path(line, pos);
        }
        if !typed.starts_with('/') || typed.contains(char::is_whitespace) {
            return Ok((pos, Vec::new()));
        }
        let fitting = self.commands.iter().filter(|name| name.starts_with(typed));
        Ok((
            0,
            fitting
                .map(|name| Pair {
                    display: name.clone(),
                    replacement: format!("{name} "),
                })
                .collect(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_at_the_end_of_a_line_only_holds_lines_together() {
        assert_eq!(continued("one\\\ntwo\nthree\\n"), "one\ntwo\nthree\\n");
    }
}
