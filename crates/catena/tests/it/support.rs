//! What several tests share: a check of conversations, stores that can be watched, tools that wait, models that know where they are.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use catena::checkpoint::{Checkpointer, Lease, StoreError, ThreadInfo, Wish};
use catena::id::ThreadId;
use catena::message::{Message, Role, ToolCall};
use catena::model::{Model, ModelError, ModelProfile, ModelRequest, ModelStream};
use catena::prelude::*;
use catena::record::{Entry, OutcomeRecord, Thread};
use catena::testing::{Reply, ScriptedModel};
use catena::tool::{FnTool, ToolSpec, json_tool};
use catena_store::{SqliteCheckpointer, SqliteOptions, Synchronous};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// What some provider would refuse in a conversation.
pub(crate) fn invalid_for_some_provider(messages: &[Arc<Message>]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut ids = HashSet::new();
    let first = messages.iter().find(|m| m.role() != Role::System);
    if first.is_some_and(|m| m.role() != Role::User) {
        problems.push("the first message that is no instruction is not a user's".to_owned());
    }
    let mut open: Vec<&ToolCall> = Vec::new();
    for message in messages {
        if !ids.insert(message.id().clone()) {
            problems.push(format!("message `{}` is there twice", message.id()));
        }
        if let Some(result) = message.as_tool() {
            match open.first() {
                Some(call) if call.id == result.call => drop(open.remove(0)),
                _ => problems.push(format!("the result of `{}` does not stand at its call", result.call)),
            }
            continue;
        }
        let unanswered = open
            .drain(..)
            .map(|call| format!("`{}` has no result before the next message", call.id));
        problems.extend(unanswered);
        open.extend(message.calls());
    }
    problems.extend(open.iter().map(|call| format!("`{}` has no result", call.id)));
    let mut calls = HashSet::new();
    for call in messages.iter().flat_map(|m| m.calls()) {
        if !calls.insert(&call.id) || call.id.is_empty() {
            problems.push(format!("the call id `{}` is empty or used twice", call.id));
        }
        if !call.input.is_object() {
            problems.push(format!("the input of `{}` is not an object: {}", call.id, call.input));
        }
    }
    problems
}

/// A conversation that every provider accepts: instructions first, then a user; every call has one result, right behind its message, in
/// call order; every result has its call; ids are used once; inputs are objects.
#[track_caller]
pub(crate) fn assert_valid_for_every_provider(messages: &[Arc<Message>]) {
    let problems = invalid_for_some_provider(messages);
    assert!(problems.is_empty(), "{problems:#?}\n{messages:#?}");
}

/// The thread as it is stored, checked: it can be used as it is.
pub(crate) async fn valid_thread(store: &Arc<dyn Checkpointer>, id: &str) -> Thread {
    let thread = stored_thread(store, id).await;
    assert_valid_for_every_provider(&thread.view());
    thread
}

/// The thread as it is stored.
pub(crate) async fn stored_thread(store: &Arc<dyn Checkpointer>, id: &str) -> Thread {
    Thread::replay(id.into(), &store.load(&id.into(), 0).await.unwrap())
}

/// The texts of messages.
pub(crate) fn texts<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> Vec<String> {
    messages.into_iter().map(|message| message.text()).collect()
}

/// A database in this directory. A killed process loses nothing that the system has; only a loss of power would.
pub(crate) async fn sqlite(dir: &Path) -> SqliteCheckpointer {
    let file = dir.join("catena.db");
    let options = SqliteOptions::default().synchronous(Synchronous::Normal);
    SqliteCheckpointer::open(file.to_str().unwrap(), options).await.unwrap()
}

/// Sees the appends of a [`Watched`] store; empty ones are not counted.
#[async_trait]
pub(crate) trait Watch: Send + Sync + 'static {
    /// Before append number `append`, from 1. An error stands for the append's.
    async fn before(&self, append: usize, entries: &[Arc<Entry>]) -> Result<(), StoreError> {
        let _ = (append, entries);
        Ok(())
    }

    /// After it. An error is an acknowledgement that got lost.
    async fn after(&self, append: usize, entries: &[Arc<Entry>]) -> Result<(), StoreError> {
        let _ = (append, entries);
        Ok(())
    }
}

/// A store whose appends are watched.
pub(crate) struct Watched<W> {
    pub(crate) inner: Arc<dyn Checkpointer>,
    pub(crate) watch: W,
    appends: AtomicUsize,
}

impl<W: Watch> Watched<W> {
    pub(crate) fn new(inner: impl Checkpointer, watch: W) -> Self {
        Self {
            inner: Arc::new(inner),
            watch,
            appends: AtomicUsize::new(0),
        }
    }
}

#[async_trait]
impl<W: Watch> Checkpointer for Watched<W> {
    async fn acquire(&self, thread: &ThreadId, ttl: Duration) -> Result<Lease, StoreError> {
        self.inner.acquire(thread, ttl).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Wish, StoreError> {
        self.inner.renew(lease, ttl).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.inner.release(lease).await
    }

    async fn request_cancel(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        self.inner.request_cancel(thread).await
    }

    async fn append(&self, lease: &Lease, entries: &[Arc<Entry>]) -> Result<u64, StoreError> {
        if entries.is_empty() {
            return self.inner.append(lease, entries).await;
        }
        let number = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
        self.watch.before(number, entries).await?;
        let length = self.inner.append(lease, entries).await?;
        self.watch.after(number, entries).await.map(|()| length)
    }

    async fn load(&self, thread: &ThreadId, from: u64) -> Result<Vec<Arc<Entry>>, StoreError> {
        self.inner.load(thread, from).await
    }

    async fn list(&self, limit: usize) -> Result<Vec<ThreadInfo>, StoreError> {
        self.inner.list(limit).await
    }

    async fn delete(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        self.inner.delete(thread).await
    }
}

/// A model that answers by what it is asked, so that it goes on after a restart. It panics if it is asked about a conversation that some
/// provider would not accept.
pub(crate) struct Answering<F> {
    answer: F,
    profile: ModelProfile,
}

/// See [`Answering`].
pub(crate) fn answering<F: Fn(&ModelRequest) -> Reply + Send + Sync + 'static>(answer: F) -> Answering<F> {
    let profile = ModelProfile::default();
    Answering { answer, profile }
}

/// A model whose answer depends on how many answers the conversation has.
pub(crate) fn by_turn(script: impl Fn(usize) -> Reply + Send + Sync + 'static) -> impl Model {
    answering(move |request| script(request.messages.iter().filter(|m| m.role() == Role::Assistant).count()))
}

#[async_trait]
impl<F: Fn(&ModelRequest) -> Reply + Send + Sync + 'static> Model for Answering<F> {
    fn name(&self) -> &str {
        "scripted:answering"
    }

    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        assert_valid_for_every_provider(&request.messages);
        ScriptedModel::new(self.name(), [(self.answer)(request)])
            .stream(request)
            .await
    }
}

/// The spec of a tool that takes anything.
pub(crate) fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "Does what the test says.", json!({"type": "object"}))
}

/// A tool that counts its calls and answers with its input's `x`.
pub(crate) fn counting(name: &str) -> (FnTool, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let tool = json_tool(spec(name), move |input: Value, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { format!("did {}", input["x"].as_str().unwrap_or("it")) }
    });
    (tool, count)
}

/// A place where something waits until the test lets it go on.
#[derive(Clone)]
pub(crate) struct Hold(Arc<(Semaphore, Semaphore)>);

impl Hold {
    pub(crate) fn new() -> Self {
        Self(Arc::new((Semaphore::new(0), Semaphore::new(0))))
    }

    /// For what is held: says that it is here and waits.
    pub(crate) async fn here(&self) {
        self.0.0.add_permits(1);
        self.0.1.acquire().await.unwrap().forget();
    }

    /// For the test: waits until someone is here.
    pub(crate) async fn reached(&self) {
        self.0.0.acquire().await.unwrap().forget();
    }

    /// For the test: lets one go on.
    pub(crate) fn release(&self) {
        self.0.1.add_permits(1);
    }

    /// A tool that is held.
    pub(crate) fn tool(&self, name: &str) -> FnTool {
        let hold = self.clone();
        json_tool(spec(name), move |_, _| {
            let hold = hold.clone();
            async move {
                hold.here().await;
                "released"
            }
        })
    }
}

/// Notes how runs ended: each `after_agent`.
#[derive(Clone, Default)]
pub(crate) struct Ends(Arc<Mutex<Vec<OutcomeRecord>>>);

impl Ends {
    pub(crate) fn seen(&self) -> Vec<OutcomeRecord> {
        self.0.lock().unwrap().clone()
    }
}

#[middleware]
impl Middleware for Ends {
    fn name(&self) -> &str {
        "ends"
    }

    async fn after_agent(&self, _: &RunContext, outcome: &OutcomeRecord) -> Result<()> {
        self.0.lock().unwrap().push(outcome.clone());
        Ok(())
    }
}
