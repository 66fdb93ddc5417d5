//! What `before_agent` is given.

use std::sync::Arc;

use super::RunContext;
use crate::error::Result;
use crate::id::MessageId;
use crate::message::{Message, Role};
use crate::prompt::Prompt;
use crate::record::Entry;

/// The new input of a run, before it is part of the thread.
///
/// Cloning copies pointers.
#[derive(Clone, Debug)]
pub struct Intake {
    pub(crate) run: RunContext,
    /// The new messages. What they are when the last `before_agent` has run is what the thread keeps.
    pub input: Arc<Vec<Arc<Message>>>,
    /// Sections that stay in the prompt for the run.
    pub prompt: Prompt,
    pub(crate) staged: Vec<Entry>,
}

impl Intake {
    pub(crate) fn new(run: RunContext, input: Vec<Arc<Message>>) -> Self {
        Self {
            run,
            input: Arc::new(input),
            prompt: Prompt::default(),
            staged: Vec::new(),
        }
    }

    /// The run.
    pub fn run(&self) -> &RunContext {
        &self.run
    }

    /// The new messages, to edit.
    pub fn input_mut(&mut self) -> &mut Vec<Arc<Message>> {
        Arc::make_mut(&mut self.input)
    }

    /// What the person said last.
    pub fn text(&self) -> String {
        self.input
            .iter()
            .rev()
            .find(|m| m.role() == Role::User)
            .map(|m| m.text())
            .unwrap_or_default()
    }

    /// Lets `summary` stand for everything in the thread up to the message `up_to`. The record keeps what was said.
    ///
    /// # Errors
    /// [`Error::Unknown`](crate::Error::Unknown) if the thread has no such message.
    pub fn fold(&mut self, up_to: MessageId, summary: Message) -> Result<()> {
        self.run.record(|thread| thread.known(&up_to))?;
        self.staged.push(folded(&self.run, up_to, Arc::new(summary)));
        Ok(())
    }
}

pub(super) fn folded(run: &RunContext, up_to: MessageId, summary: Arc<Message>) -> Entry {
    Entry::Folded {
        up_to,
        summary,
        by: run.middleware().unwrap_or("catena").to_owned(),
    }
}
