//! Events as people read them.
//!
//! A [`Renderer`] turns each event into [`Piece`]s: it decides what is shown and where, and writes nothing itself, so that what a run looks
//! like can be tested as text. Text from models and tools is cleaned of terminal control characters on the way.

pub(crate) mod clean;
pub(crate) mod compact;
mod notes;
pub(crate) mod question;
#[cfg(test)]
mod tests;
pub(crate) mod waiting;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use catena_core::event::{EventKind, RunEvent};
use catena_core::id::CallId;
use catena_core::message::{Message, ToolCall};
use catena_core::model::{StopReason, Usage};
use catena_core::record::CallStatus;

pub(crate) use clean::clean;

use crate::output::Paint;

/// Something to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// For standard output: the answer's words.
    Answer(String),
    /// For standard error: everything else.
    Note(String),
    /// What is being waited for; replaces what was waited for before, and is gone with the next piece.
    Busy(String),
}

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// Words are shown as they come. Otherwise the caller prints the answer when it is complete.
    pub(crate) stream: bool,
    /// Thoughts are shown too.
    pub(crate) reasoning: bool,
    /// Middleware, state and tokens are shown too, from 1 on.
    pub(crate) verbose: u8,
    /// Columns that a line may take.
    pub(crate) width: usize,
    pub(crate) paint: Paint,
}

/// Turns events into what is shown. One per run.
#[derive(Debug)]
pub(crate) struct Renderer {
    view: View,
    line: Line,
    /// Words of the answer that is being written were shown.
    spoken: bool,
    /// Calls by their id, as they are shown.
    calls: HashMap<CallId, Shown>,
    /// Results whose message has not come yet.
    ended: HashMap<CallId, (CallStatus, Option<Duration>)>,
    usage: Usage,
}

/// What the last line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Empty,
    Words,
    Thoughts,
}

#[derive(Clone, Debug)]
struct Shown {
    call: ToolCall,
    /// Its number, if there is more than one call in the message.
    label: String,
    announced: bool,
}

impl Renderer {
    /// Nothing is shown yet.
    pub(crate) fn new(view: View) -> Self {
        Self {
            view,
            line: Line::Empty,
            spoken: false,
            calls: HashMap::new(),
            ended: HashMap::new(),
            usage: Usage::default(),
        }
    }

    /// The tokens so far.
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// A line may take this many columns from now on: the window was resized.
    pub(crate) fn fit(&mut self, width: usize) {
        self.view.width = width;
    }

    /// What an event looks like; most look like nothing.
    pub(crate) fn show(&mut self, event: &RunEvent) -> Vec<Piece> {
        let mut pieces = Vec::new();
        match event.path.len() {
            0 | 1 => self.own(&event.kind, &mut pieces),
            // What a subagent says is not the answer; what it does is worth a line.
            _ => self.below(event.path.last().map_or("", |name| name), &event.kind, &mut pieces),
        }
        pieces
    }

    /// Ends the line that is open, so that something else can be written.
    pub(crate) fn break_line(&mut self) -> Option<Piece> {
        let line = std::mem::replace(&mut self.line, Line::Empty);
        match line {
            Line::Empty => None,
            Line::Words => Some(Piece::Answer("\n".into())),
            Line::Thoughts => Some(Piece::Note("\n".into())),
        }
    }

    fn own(&mut self, kind: &EventKind, out: &mut Vec<Piece>) {
        match kind {
            EventKind::ModelStarted { attempt, model, .. } => {
                self.spoken = false;
                if *attempt > 1 {
                    self.note(
                        out,
                        &self.view.paint.dim(&format!("  (attempt {attempt}, {})", clean(model))),
                    );
                }
                out.push(Piece::Busy("thinking".into()));
            }
            EventKind::Text { text } => self.words(text, out),
            EventKind::Reasoning { text } => self.thoughts(text, out),
            EventKind::ToolCallDelta { name: Some(name), .. } => {
                out.extend(self.break_line());
                out.push(Piece::Busy(format!("preparing {}", clean(name))));
            }
            EventKind::ModelReset => self.reset(out),
            EventKind::Message { message } => self.message(message, out),
            EventKind::ToolStarted { call, tool, input } => self.started(call, tool, input, out),
            EventKind::ToolProgress {
                call,
                message,
                fraction,
            } => {
                let name = self.calls.get(call).map_or("tool", |shown| &shown.call.name);
                let percent = fraction.map(|f| format!(" {:.0} %", f * 100.0)).unwrap_or_default();
                out.push(Piece::Busy(format!(
                    "{}:{percent} {}",
                    clean(name),
                    clean::one_line(message, self.view.width)
                )));
            }
            EventKind::ToolEnded {
                call,
                status,
                duration_us,
                ..
            } => {
                self.ended.insert(call.clone(), (*status, *duration_us));
            }
            EventKind::Usage { usage, .. } => self.usage += *usage,
            EventKind::Interrupted { .. } | EventKind::RunEnded { .. } => out.extend(self.break_line()),
            other => self.aside(other, out),
        }
    }

    fn words(&mut self, text: &str, out: &mut Vec<Piece>) {
        if !self.view.stream || text.is_empty() {
            return;
        }
        if self.line == Line::Thoughts {
            out.extend(self.break_line());
        }
        self.spoken = true;
        let text = clean(text).into_owned();
        self.line = if text.ends_with('\n') { Line::Empty } else { Line::Words };
        out.push(Piece::Answer(text));
    }

    fn thoughts(&mut self, text: &str, out: &mut Vec<Piece>) {
        if !self.view.reasoning || text.is_empty() {
            return;
        }
        if self.line == Line::Words {
            out.extend(self.break_line());
        }
        let text = clean(text);
        self.line = if text.ends_with('\n') {
            Line::Empty
        } else {
            Line::Thoughts
        };
        out.push(Piece::Note(self.view.paint.dim(&text)));
    }

    fn reset(&mut self, out: &mut Vec<Piece>) {
        if std::mem::take(&mut self.spoken) {
            out.extend(self.break_line());
            self.note(
                out,
                &self.view.paint.dim("  (not the answer after all; it starts over)"),
            );
        }
    }

    fn message(&mut self, message: &Message, out: &mut Vec<Piece>) {
        match message {
            Message::Assistant(answer) => {
                // Words that did not come as a stream: a middleware's, or an ending's.
                if self.view.stream && !self.spoken {
                    self.words(&answer.text(), out);
                }
                out.extend(self.break_line());
                self.spoken = false;
                if answer.stop == StopReason::Length {
                    self.note(out, "(cut off: the model reached its output limit; see `max_tokens`)");
                }
                let several = answer.calls().count() > 1;
                for (index, call) in answer.calls().enumerate() {
                    let label = if several {
                        format!("[{}] ", index + 1)
                    } else {
                        String::new()
                    };
                    self.calls.insert(
                        call.id.clone(),
                        Shown {
                            call: call.clone(),
                            label,
                            announced: false,
                        },
                    );
                }
            }
            Message::Tool(result) => self.finished(&result.call, message, out),
            _ => {}
        }
    }

    fn started(&mut self, call: &CallId, tool: &str, input: &serde_json::Value, out: &mut Vec<Piece>) {
        let shown = self.calls.entry(call.clone()).or_insert_with(|| Shown {
            call: ToolCall::new(call.clone(), tool, input.clone()),
            label: String::new(),
            announced: false,
        });
        // A middleware or a person may have changed it.
        tool.clone_into(&mut shown.call.name);
        shown.call.input.clone_from(input);
        self.announce(call, out);
        let working: BTreeMap<_, _> = self
            .calls
            .values()
            .filter(|shown| shown.announced)
            .map(|shown| (&shown.call.name, ()))
            .collect();
        let names: Vec<_> = working.keys().map(|name| clean(name).into_owned()).collect();
        out.push(Piece::Busy(format!("running {}", names.join(", "))));
    }

    fn announce(&mut self, call: &CallId, out: &mut Vec<Piece>) {
        let (paint, width) = (self.view.paint, self.view.width);
        let Some(shown) = self.calls.get_mut(call).filter(|shown| !shown.announced) else {
            return;
        };
        shown.announced = true;
        let name = clean(&shown.call.name);
        let room = width.saturating_sub(name.len() + shown.label.len() + 4);
        let line = format!(
            "● {}{} {}",
            shown.label,
            paint.cyan(&name),
            paint.dim(&compact::input(&shown.call.input, room))
        );
        self.note(out, line.trim_end());
    }

    fn finished(&mut self, call: &CallId, message: &Message, out: &mut Vec<Piece>) {
        // A resumed run may end calls of a message that nobody saw.
        if let Some(result) = message.as_tool() {
            self.calls.entry(call.clone()).or_insert_with(|| Shown {
                call: ToolCall::new(
                    call.clone(),
                    &result.name,
                    serde_json::Value::Object(serde_json::Map::new()),
                ),
                label: String::new(),
                announced: false,
            });
        }
        self.announce(call, out);
        let paint = self.view.paint;
        let shown = self.calls.remove(call);
        let label = shown.map(|shown| shown.label).unwrap_or_default();
        let (status, duration) = self.ended.remove(call).unwrap_or((CallStatus::NotRun, None));
        let took = duration
            .map(|took| format!(" {}", compact::duration(took)))
            .unwrap_or_default();
        let word = format!("{}{took}", compact::status(status));
        let painted = match status {
            CallStatus::Ok | CallStatus::Responded => paint.green(&word),
            CallStatus::Error | CallStatus::Unknown => paint.red(&word),
            _ => paint.yellow(&word),
        };
        let room = self.view.width.saturating_sub(label.len() + word.chars().count() + 6);
        self.note(
            out,
            &format!("  └ {label}{painted} {}", paint.dim(&compact::result(message, room))),
        );
    }

    /// A line of its own.
    fn note(&mut self, out: &mut Vec<Piece>, line: &str) {
        out.extend(self.break_line());
        out.push(Piece::Note(format!("{line}\n")));
    }
}
