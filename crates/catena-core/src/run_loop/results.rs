//! Results of calls that no tool gave, and messages that no model wrote.

use std::sync::Arc;

use super::runner::Runner;
use crate::id::MessageId;
use crate::message::{AssistantMessage, Message, Part, ToolCall, ToolMessage};
use crate::output::OutputFormat;
use crate::record::{CallState, CallStatus, Entry, OpenCall};
use crate::tool::ToolOutput;

/// A call's result as a message.
pub(crate) fn result_message(call: &ToolCall, output: ToolOutput) -> Arc<Message> {
    Arc::new(Message::Tool(ToolMessage {
        id: MessageId::fresh(),
        call: call.id.clone(),
        name: call.name.clone(),
        parts: output.parts.into_inner(),
        status: output.status,
        artifact: output.artifact.map(crate::shared::Shared::into_inner),
    }))
}

/// The end of a call that its tool did not bring about.
pub(super) fn ended_without_tool(call: &ToolCall, output: ToolOutput, status: CallStatus, by: &str) -> Entry {
    Entry::CallEnded {
        message: result_message(call, output),
        status,
        digest: None,
        by: Some(by.to_owned()),
        ends_run: false,
    }
}

impl Runner {
    /// Results for every call that is open after `entries`.
    pub(super) fn closing(&self, entries: &[Entry], reason: &str) -> Vec<Entry> {
        let open = self.open_after(entries);
        let close = |open: &OpenCall| {
            let (status, text) = match open.state {
                CallState::Started => (
                    CallStatus::Unknown,
                    format!("not finished: {reason}; whether it took effect is not known"),
                ),
                _ => (CallStatus::NotRun, format!("not run: {reason}")),
            };
            ended_without_tool(&open.call, ToolOutput::error(text), status, "catena")
        };
        open.iter().map(close).collect()
    }

    /// Results for the calls of a message that brought the object that was asked for.
    pub(super) fn accepting(&self, entries: &[Entry], format: Option<&OutputFormat>) -> Vec<Entry> {
        let name = format.map(|format| format.spec().name.as_str());
        let close = |open: &OpenCall| match Some(open.call.name.as_str()) == name {
            true => ended_without_tool(
                &open.call,
                ToolOutput::text("accepted"),
                CallStatus::Responded,
                "catena",
            ),
            false => {
                let output = ToolOutput::error("not run: the final answer came in the same message");
                ended_without_tool(&open.call, output, CallStatus::NotRun, "catena")
            }
        };
        self.open_after(entries).iter().map(close).collect()
    }

    fn open_after(&self, entries: &[Entry]) -> Vec<OpenCall> {
        let recorded = self.run.record(|thread| {
            let run = thread.run().filter(|run| run.id() == self.run.run_id());
            run.map(|run| run.open.clone()).unwrap_or_default()
        });
        entries.iter().fold(recorded, |mut open, entry| {
            match entry {
                Entry::Model(step) => open = step.message.calls().cloned().map(OpenCall::undecided).collect(),
                Entry::CallEnded { message, .. } => {
                    open.retain(|open| message.as_tool().is_none_or(|result| result.call != open.call.id));
                }
                _ => {}
            }
            open
        })
    }

    /// Words of the agent's that no model wrote.
    pub(super) fn own_message(&self, text: &str) -> Arc<Message> {
        let name = Some(self.agent.name.clone());
        Arc::new(Message::Assistant(AssistantMessage {
            name,
            ..AssistantMessage::new(vec![Part::text(text)])
        }))
    }
}
