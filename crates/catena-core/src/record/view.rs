//! The view: what a model call starts from, computed from the record.
//!
//! Folded messages are replaced by their summary, superseded ones are left out, results stand behind their calls in call order, and calls
//! are shown as they ran. Nothing of this changes the record.

use std::sync::Arc;

use super::thread::Thread;
use crate::id::{CallId, MessageId};
use crate::message::{Message, Part};

impl Thread {
    /// The whole view, from nothing. What [`Thread::view`] keeps up to date as entries come must equal this.
    pub(super) fn compute_view(&self) -> Vec<Arc<Message>> {
        let mut view = Vec::new();
        let mut first = 0;
        if let Some(fold) = self.fold() {
            view.push(fold.summary.clone());
            first = fold.end;
        }
        for (index, message) in self.messages.iter().enumerate().skip(first) {
            if self.superseded.contains(message.id()) {
                continue;
            }
            match &**message {
                Message::Tool(result) if self.owners.contains_key(&result.call) => {}
                Message::Assistant(_) => self.with_results(index, message, &mut view),
                _ => view.push(message.clone()),
            }
        }
        view
    }

    /// A call and its results stand together, wherever the record has them.
    fn with_results(&self, index: usize, message: &Arc<Message>, view: &mut Vec<Arc<Message>>) {
        view.push(self.as_it_ran(message));
        for call in message.calls() {
            // A provider that used an id twice: the result belongs to the message that owns the id.
            if self.owners.get(&call.id) == Some(&index) {
                view.extend(self.results.get(&call.id).cloned());
            }
        }
    }

    /// The message with the inputs that its calls ran with. A message that a provider signed stays as it is: changed calls beside a
    /// signature are refused, so the result says what ran instead.
    pub(super) fn as_it_ran(&self, message: &Arc<Message>) -> Arc<Message> {
        let changed = message.calls().any(|call| self.inputs.contains_key(&call.id));
        if !changed || is_signed(message) {
            return message.clone();
        }
        let mut message = (**message).clone();
        for call in message.parts_mut().iter_mut().filter_map(Part::as_call_mut) {
            if let Some(effective) = self.inputs.get(&call.id) {
                call.name.clone_from(&effective.tool);
                call.input.clone_from(&effective.input);
                call.invalid = None;
            }
        }
        Arc::new(message)
    }
}

/// Whether a provider would notice that the message's calls were changed.
pub(super) fn is_signed(message: &Message) -> bool {
    message.parts().iter().any(|part| match part {
        Part::Reasoning(reasoning) => reasoning.signature.is_some() || reasoning.encrypted.is_some(),
        Part::ToolCall(call) => call.signature.is_some(),
        _ => false,
    })
}

/// Replaces everything up to `up_to`, and the results of calls in it, by a summary. Does nothing if `up_to` is not there.
pub(crate) fn fold_messages(messages: &mut Vec<Arc<Message>>, up_to: &MessageId, summary: &Arc<Message>) {
    let Some(last) = messages.iter().position(|m| m.id() == up_to) else {
        return;
    };
    let folded: Vec<CallId> = messages[..=last]
        .iter()
        .flat_map(|m| m.calls().map(|c| c.id.clone()))
        .collect();
    let belongs = |m: &Arc<Message>| m.as_tool().is_some_and(|result| folded.contains(&result.call));
    let rest = messages.split_off(last + 1).into_iter().filter(|m| !belongs(m));
    *messages = std::iter::once(summary.clone()).chain(rest).collect();
}
