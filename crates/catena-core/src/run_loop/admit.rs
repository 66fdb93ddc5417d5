//! The first step: `before_agent`, and the input becomes part of the thread.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::runner::Runner;
use crate::context::Intake;
use crate::error::{Error, Result};
use crate::id::{CallId, MessageId};
use crate::message::{Message, Part};
use crate::middleware::EndingOutcome;
use crate::record::{Entry, Thread};

impl Runner {
    pub(super) async fn admit(&mut self) -> Result<()> {
        let Some((start, input)) = self.input.clone() else {
            // Start and admission are one commit, so a record has both or neither.
            return Err(Error::Other("the run has no input to admit".into()));
        };
        let mut intake = Intake::new(self.run.clone(), input);
        let stopped = self.agent.chain.before_agent(&mut intake).await?;
        let refused = matches!(&stopped, Some((_, ending)) if matches!(ending.outcome, EndingOutcome::Failed(_)));
        if refused {
            // An input that a middleware fails the run for, such as forbidden data, is not stored.
            let (by, ending) = stopped.ok_or(Error::Cancelled)?;
            return self.end(&by, ending, Vec::new()).await;
        }
        let mut entries = vec![
            Entry::RunStarted(start),
            Entry::Admitted {
                input: self.run.record(|thread| renewed(&intake.input, thread)),
                prompt: intake.prompt.sections().to_vec(),
            },
        ];
        entries.append(&mut intake.staged);
        match stopped {
            Some((by, ending)) => self.end(&by, ending, entries).await,
            None => self.commit(entries).await,
        }
    }
}

/// The messages with ids that the thread does not know yet: an input may send a history again.
fn renewed(input: &[Arc<Message>], thread: &Thread) -> Vec<Arc<Message>> {
    let mut used = HashSet::new();
    let mut calls = Calls::default();
    let renew = |message: &Arc<Message>| {
        let known = thread.position(message.id()).is_some() || !used.insert(message.id().clone());
        let stale = message
            .calls()
            .any(|call| thread.has_call(&call.id) || calls.used.contains(&call.id));
        let follows = message
            .as_tool()
            .is_some_and(|result| calls.renamed.contains_key(&result.call));
        if !known && !stale && !follows {
            calls.used.extend(message.calls().map(|call| call.id.clone()));
            return message.clone();
        }
        let mut message = (**message).clone();
        if known {
            *id_mut(&mut message) = MessageId::fresh();
        }
        calls.rename(&mut message, thread);
        Arc::new(message)
    };
    input.iter().map(renew).collect()
}

/// Calls of the input so far.
#[derive(Default)]
struct Calls {
    used: HashSet<CallId>,
    /// Results come behind their calls, so the last new id of a call is that of its result.
    renamed: HashMap<CallId, CallId>,
}

impl Calls {
    fn rename(&mut self, message: &mut Message, thread: &Thread) {
        if let Message::Tool(result) = message
            && let Some(new) = self.renamed.get(&result.call)
        {
            result.call = new.clone();
        }
        for call in message.parts_mut().iter_mut().filter_map(Part::as_call_mut) {
            if thread.has_call(&call.id) || self.used.contains(&call.id) {
                let new = CallId::fresh();
                self.renamed.insert(std::mem::replace(&mut call.id, new.clone()), new);
            }
            self.used.insert(call.id.clone());
        }
    }
}

fn id_mut(message: &mut Message) -> &mut MessageId {
    match message {
        Message::System(message) => &mut message.id,
        Message::User(message) => &mut message.id,
        Message::Assistant(message) => &mut message.id,
        Message::Tool(message) => &mut message.id,
    }
}
