//! What those who watch are told about new entries: in the order of the record, and only once it holds them.

use std::sync::Arc;
use std::time::Duration;

use super::runner::Runner;
use crate::event::EventKind;
use crate::message::Message;
use crate::record::{Entry, ModelStep};

impl Runner {
    /// Tells about the messages among `entries`; `worked` is how long the tool worked whose result is one of them.
    pub(super) fn announce(&self, entries: &[Arc<Entry>], worked: Option<Duration>) {
        if !self.run.shared.events.is_watched() {
            return;
        }
        for entry in entries {
            match &**entry {
                Entry::Admitted { input, .. } => input.iter().for_each(|message| self.announce_message(message)),
                Entry::Message { message } => self.announce_message(message),
                Entry::Model(step) => self.announce_answer(step),
                Entry::CallEnded { message, status, .. } => {
                    if let Some(result) = message.as_tool() {
                        self.run.emit_kind(EventKind::ToolEnded {
                            call: result.call.clone(),
                            tool: result.name.clone(),
                            status: *status,
                            duration_us: worked,
                        });
                    }
                    self.announce_message(message);
                }
                _ => {}
            }
        }
    }

    fn announce_message(&self, message: &Arc<Message>) {
        self.run.emit_kind(EventKind::Message {
            message: message.clone(),
        });
    }

    fn announce_answer(&self, step: &ModelStep) {
        self.announce_message(&step.message);
        let usage = step.usage();
        if let Some(answer) = step.message.as_assistant().filter(|_| !usage.is_empty()) {
            let model = answer.model.clone().unwrap_or_default();
            self.run.emit_kind(EventKind::Usage { by: None, model, usage });
        }
    }
}
