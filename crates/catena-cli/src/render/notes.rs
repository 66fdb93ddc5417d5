//! Events beside the conversation: middleware, warnings, subagents.

use catena_core::event::{Decided, EventKind};
use catena_core::record::{CallStatus, OutcomeRecord};

use super::{Piece, Renderer, clean, compact};

impl Renderer {
    /// An event that is neither words nor calls.
    pub(super) fn aside(&mut self, kind: &EventKind, out: &mut Vec<Piece>) {
        let paint = self.view.paint;
        match kind {
            EventKind::RunStarted { resumed: true } if self.view.verbose > 0 => {
                self.note(out, &paint.dim("  (going on where the run stopped)"))
            }
            EventKind::Warning { source, message } => {
                let line = format!("{} {}: {}", paint.yellow("warning:"), clean(source), clean(message));
                self.note(out, &line);
            }
            EventKind::Lagged { dropped } => {
                self.note(
                    out,
                    &paint.dim(&format!("  ({dropped} events came too fast to be shown)")),
                );
            }
            EventKind::Middleware {
                name,
                hook,
                decision,
                changed,
                duration_us,
                detail,
                ..
            } => {
                if self.view.verbose == 0 && !is_notable(*decision) {
                    return;
                }
                let mut line = format!("  ‖ {} {hook}", clean(name));
                if *decision != Decided::Continue {
                    line.push_str(&format!(": {}", decision_word(*decision)));
                }
                if let Some(detail) = detail {
                    line.push_str(&format!(", {}", clean::one_line(detail, self.view.width)));
                }
                if self.view.verbose > 0 {
                    let changed = if changed.is_empty() {
                        String::new()
                    } else {
                        format!(" [{}]", changed.join(", "))
                    };
                    line.push_str(&format!("{changed} {}", compact::duration(*duration_us)));
                }
                self.note(out, &paint.dim(&line));
            }
            EventKind::StateChanged { key } if self.view.verbose > 0 => {
                self.note(out, &paint.dim(&format!("  ‖ state {} changed", clean(key))));
            }
            EventKind::Custom { source, name, data } if self.view.verbose > 0 => {
                let data = clean::one_line(&data.to_string(), self.view.width);
                self.note(
                    out,
                    &paint.dim(&format!("  ‖ {} {}: {data}", clean(source), clean(name))),
                );
            }
            _ => {}
        }
    }

    /// What a subagent does.
    pub(super) fn below(&mut self, agent: &str, kind: &EventKind, out: &mut Vec<Piece>) {
        let paint = self.view.paint;
        let agent = clean(agent).into_owned();
        match kind {
            EventKind::RunStarted { .. } => self.note(out, &format!("  ▸ {} started", paint.cyan(&agent))),
            EventKind::ToolEnded {
                tool,
                status,
                duration_us,
                ..
            } => {
                let took = duration_us
                    .map(|took| format!(" {}", compact::duration(took)))
                    .unwrap_or_default();
                let word = if *status == CallStatus::Ok {
                    String::new()
                } else {
                    format!(" {}", compact::status(*status))
                };
                self.note(out, &paint.dim(&format!("  ▸ {agent}: {}{word}{took}", clean(tool))));
            }
            EventKind::RunEnded { outcome, .. } => {
                let word = match outcome {
                    Some(OutcomeRecord::Done { .. }) => "done",
                    Some(OutcomeRecord::Stopped { .. }) => "stopped",
                    Some(OutcomeRecord::Cancelled) => "cancelled",
                    Some(OutcomeRecord::Failed { .. }) => "failed",
                    None => "waits",
                };
                self.note(out, &format!("  ▸ {} {word}", paint.cyan(&agent)));
            }
            EventKind::Usage { usage, .. } => self.usage += *usage,
            EventKind::Warning { .. } => self.aside(kind, out),
            _ => {}
        }
    }
}

/// Whether a person wants to know without having asked. A refused call is seen at its result.
fn is_notable(decision: Decided) -> bool {
    matches!(
        decision,
        Decided::Stop | Decided::AskAgain | Decided::Replace | Decided::AbortLoop | Decided::Failed
    )
}

fn decision_word(decision: Decided) -> &'static str {
    match decision {
        Decided::Continue => "continues",
        Decided::Stop => "ends the run",
        Decided::AskAgain => "asks again",
        Decided::Block => "refuses the call",
        Decided::Replace => "changes the call",
        Decided::AbortLoop => "ends the run for a call",
        Decided::Interrupt => "asks a person",
        Decided::Answered => "answers itself",
        Decided::Failed => "failed",
        _ => "decided",
    }
}
