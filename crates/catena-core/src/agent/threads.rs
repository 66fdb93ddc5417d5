//! What can be done with a thread beside running it.

use std::collections::HashSet;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Agent, AgentShared, OnBusy};
use crate::checkpoint::Lease;
use crate::error::{Error, Result};
use crate::id::{MessageId, ThreadId};
use crate::message::{Message, ToolCall};
use crate::record::{Entry, Thread};
use crate::run_loop::result_message;
use crate::state::Scope;
use crate::tool::ToolOutput;

impl Agent {
    /// Reads a thread in full.
    ///
    /// # Errors
    /// [`Error::NoThread`] if there is none, [`Error::Store`] if it cannot be read.
    pub async fn thread(&self, id: &ThreadId) -> Result<Thread> {
        let entries = self.shared.store.load(id, 0).await?;
        if entries.is_empty() {
            return Err(Error::NoThread(id.clone()));
        }
        Ok(Thread::replay(id.clone(), &entries))
    }

    /// Copies a thread up to the message `at` into a new one, with the slots of the thread as they were when the step of that message was
    /// done. Calls that have no result there are answered "not run".
    ///
    /// # Errors
    /// [`Error::NoThread`], or [`Error::Unknown`] if the thread has no such message.
    ///
    /// # Cancel safety
    /// A dropped call goes on to its end.
    pub async fn fork(&self, from: &ThreadId, at: &MessageId) -> Result<ThreadId> {
        let (agent, from, at) = (self.clone(), from.clone(), at.clone());
        self.unbroken(async move { agent.forked(&from, &at).await }).await
    }

    async fn forked(&self, from: &ThreadId, at: &MessageId) -> Result<ThreadId> {
        let copied = self.thread_until(from, at).await?;
        let view = copied.view();
        let mut entries = vec![Entry::Forked {
            from: from.clone(),
            at: at.clone(),
        }];
        entries.extend(
            closed(&view, &copied)
                .into_iter()
                .map(|message| Entry::Message { message }),
        );
        entries.extend(
            copied
                .slots()
                .filter(|(_, scope, _)| *scope == Scope::Thread)
                .map(|(key, scope, value)| Entry::State {
                    key,
                    scope,
                    value: (*value).clone(),
                }),
        );
        let thread = ThreadId::fresh();
        let lease = self.shared.store.acquire(&thread, self.shared.limits.lease).await?;
        let appended = self
            .shared
            .store
            .append(&lease, &entries.into_iter().map(Arc::new).collect::<Vec<_>>())
            .await;
        self.shared.store.release(&lease).await?;
        appended?;
        Ok(thread)
    }

    /// Takes a thread back to before the message `from`: what came since no longer counts, but stays in the record. State slots keep the
    /// values they have; [`fork`](Self::fork) gives a thread with those of an earlier moment.
    ///
    /// # Errors
    /// [`Error::Busy`] if a run is active, [`Error::Interrupted`] if the thread waits for an answer, [`Error::Unknown`] if it has no such
    /// message.
    ///
    /// # Cancel safety
    /// A dropped call goes on to its end.
    pub async fn rewind(&self, thread: &ThreadId, from: &MessageId) -> Result<()> {
        let (agent, thread, from) = (self.clone(), thread.clone(), from.clone());
        self.unbroken(async move { agent.rewound(&thread, &from).await }).await
    }

    /// Work under a lease: a caller that drops its future must not leave the thread taken.
    async fn unbroken<T: Send + 'static>(&self, work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
        let work = self.shared.background.spawn_run(work).await;
        work.unwrap_or_else(|error| match error.is_cancelled() {
            true => Err(Error::Cancelled),
            false => Err(Error::Panic("work on a thread".into())),
        })
    }

    async fn rewound(&self, thread: &ThreadId, from: &MessageId) -> Result<()> {
        let limits = &self.shared.limits;
        let _place = self
            .shared
            .desk
            .enter(thread, OnBusy::Reject, &CancellationToken::new(), limits.queue_wait)
            .await?;
        let lease = self.shared.store.acquire(thread, limits.lease).await?;
        let done = self.supersede(&lease, from).await;
        self.shared.store.release(&lease).await?;
        if done.is_err() {
            self.shared.forget_if_empty(&lease).await;
        }
        done
    }

    async fn supersede(&self, lease: &Lease, from: &MessageId) -> Result<()> {
        let record = self.thread(&lease.thread).await?;
        if let Some(run) = record.run().filter(|run| run.outcome().is_none()) {
            return Err(Error::Interrupted {
                thread: lease.thread.clone(),
                open: run.open_calls().len(),
            });
        }
        let mut first = record.known(from)?;
        // A result goes with its call.
        if let Some(result) = record.messages()[first].as_tool() {
            let owner = record
                .messages()
                .iter()
                .position(|m| m.calls().any(|call| call.id == result.call));
            first = owner.unwrap_or(first);
        }
        let messages = record.messages()[first..]
            .iter()
            .map(|m| m.id().clone())
            .filter(|id| !record.is_superseded(id))
            .collect();
        self.shared
            .store
            .append(lease, &[Arc::new(Entry::Superseded { messages })])
            .await?;
        Ok(())
    }

    /// Deletes a thread and everything in it. Returns whether it existed.
    ///
    /// # Errors
    /// [`Error::Busy`] if a run is active.
    pub async fn delete_thread(&self, thread: &ThreadId) -> Result<bool> {
        let limits = &self.shared.limits;
        let _place = self
            .shared
            .desk
            .enter(thread, OnBusy::Reject, &CancellationToken::new(), limits.queue_wait)
            .await?;
        let existed = self.shared.store.delete(thread).await?;
        self.shared.desk.forget(thread);
        self.shared.live.forget(thread);
        Ok(existed)
    }

    /// The thread as it was when the message was added.
    async fn thread_until(&self, id: &ThreadId, at: &MessageId) -> Result<Thread> {
        let entries = self.shared.store.load(id, 0).await?;
        if entries.is_empty() {
            return Err(Error::NoThread(id.clone()));
        }
        let mut thread = Thread::new(id.clone());
        for entry in &entries {
            // Input is admitted several messages at a time; the copy ends within it if need be.
            match &**entry {
                Entry::Admitted { input, prompt } if input.iter().any(|m| m.id() == at) => {
                    let end = input.iter().position(|m| m.id() == at).unwrap_or(0);
                    thread.apply(&Entry::Admitted {
                        input: input[..=end].to_vec(),
                        prompt: prompt.clone(),
                    });
                }
                entry => thread.apply(entry),
            }
            if thread.position(at).is_some() {
                return Ok(thread);
            }
        }
        Err(Error::Unknown {
            what: "message",
            name: at.to_string(),
            suggestion: None,
        })
    }
}

impl AgentShared {
    /// Taking a thread makes it; one that was only a slip of the pen leaves nothing in the list.
    pub(crate) async fn forget_if_empty(&self, lease: &Lease) {
        if lease.length > 0 {
            return;
        }
        if let Ok([]) = self.store.load(&lease.thread, 0).await.as_deref() {
            // Someone else may have taken it by now, and then it is theirs.
            let deleted = self.store.delete(&lease.thread).await;
            tracing::debug!(thread = %lease.thread, ?deleted, "an empty thread was left");
        }
    }
}

/// The view with an answer behind every call that has none.
fn closed(view: &[Arc<Message>], thread: &Thread) -> Vec<Arc<Message>> {
    let mut messages = Vec::with_capacity(view.len());
    let mut open: Vec<ToolCall> = Vec::new();
    let answered: HashSet<_> = view
        .iter()
        .filter_map(|m| m.as_tool())
        .map(|result| result.call.clone())
        .collect();
    for message in view {
        if message.as_tool().is_none() {
            messages.extend(open.drain(..).map(not_run));
        }
        messages.push(message.clone());
        open.extend(
            message
                .calls()
                .filter(|call| !answered.contains(&call.id) && thread.result(&call.id).is_none())
                .cloned(),
        );
    }
    messages.extend(open.drain(..).map(not_run));
    messages
}

fn not_run(call: ToolCall) -> Arc<Message> {
    result_message(
        &call,
        ToolOutput::error("not run: the conversation was copied before the call was made"),
    )
}
