//! What work that outlives its run is given.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{ModelHandle, RunContext};
use crate::error::{Error, Result, chain_text};
use crate::event::EventKind;
use crate::record::Entry;
use crate::run_loop;
use crate::state::{Scope, Slot, SlotValue, StateStore, Writer};

/// A handle for work that outlives its run: it ends with the agent's [shutdown](crate::Agent::shutdown), not with the run, and what it
/// writes is durable by itself.
///
/// Read what the work needs from the run before it is spawned: later the thread may have been used by other runs.
#[derive(Clone)]
pub struct Background {
    run: RunContext,
}

/// What the handles of one piece of background work share.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) cancel: CancellationToken,
    /// Model calls that are not journalled yet.
    internal: Mutex<Vec<Entry>>,
}

impl Spawned {
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        let internal = Mutex::default();
        Self { cancel, internal }
    }

    pub(crate) fn account(&self, entry: Entry) {
        self.internal().push(entry);
    }

    fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.internal())
    }

    fn internal(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        self.internal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Background {
    /// How long one piece of background work may take; it is dropped then. Two slow model calls take about four minutes.
    pub const TIME_LIMIT: Duration = Duration::from_secs(600);

    pub(super) fn new(run: RunContext) -> Self {
        Self { run }
    }

    /// The run that started the work, to look at and to speak through; [`RunContext::update`] is an error here, and who reads the events of
    /// the run has left when it is over.
    pub fn run(&self) -> &RunContext {
        &self.run
    }

    /// The agent's own model, for a call of one's own.
    pub fn default_model(&self) -> ModelHandle {
        self.run.default_model()
    }

    /// A model by its name in the agent, for a call of one's own.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the agent has none of that name.
    pub fn model(&self, name: &str) -> Result<ModelHandle> {
        self.run.model(name)
    }

    /// Changes a slot of the thread as it is stored by then: atomic, and durable when it returns. It waits until the thread is free, at
    /// most [`Limits::queue_wait`](crate::agent::Limits::queue_wait), so a hook that waited for it would wait for itself. `change` must be
    /// quick, and must not call a handle.
    ///
    /// # Errors
    /// [`Error::Config`] if the slot is one of the run, which is over; [`Error::NoThread`] if the thread is gone; [`Error::Busy`] if it did
    /// not become free; [`Error::Cancelled`] at shutdown; [`Error::State`] or [`Error::Store`] otherwise.
    ///
    /// # Cancel safety
    /// A dropped call goes on to its end.
    pub async fn update<T: SlotValue, R: Send + 'static>(
        &self,
        slot: &Slot<T>,
        change: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> Result<R> {
        if slot.scope() == Scope::Run {
            return Err(Error::Config(format!(
                "state slot `{}` lives as long as the run, which background work outlives; use a slot of the thread",
                slot.key()
            )));
        }
        let (slot, key) = (slot.clone(), slot.key().to_owned());
        let result = self
            .commit(move |store| store.update(&slot, Writer::default(), change)?.ok_or(Error::Cancelled))
            .await?;
        self.run.emit_kind(EventKind::StateChanged { key });
        Ok(result)
    }

    /// Journals what is left: the model calls since the last update.
    pub(crate) async fn finish(&self) {
        let Some(spawned) = self.run.spawned() else { return };
        if spawned.internal().is_empty() {
            return;
        }
        if let Err(error) = self.commit(|_| Ok(())).await {
            self.run.warn(format!(
                "the tokens of background work were not recorded: {}",
                chain_text(&error)
            ));
        }
    }

    async fn commit<R: Send + 'static>(
        &self,
        change: impl FnOnce(&StateStore) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let run = self.run.clone();
        // Work under a lease: a future that is dropped must not leave the thread taken.
        let work = async move {
            let spawned: Arc<Spawned> = run.spawned().cloned().ok_or(Error::Cancelled)?;
            let agent = &run.shared.agent;
            let id = run.thread_id();
            let gather = |store: &StateStore| {
                let result = change(store)?;
                let mut entries = spawned.take();
                entries.extend(store.pending().0);
                Ok((entries, result))
            };
            let written = run_loop::amend(agent, id, &spawned.cancel, &run.shared.tree, gather).await;
            written.map_err(|(error, entries)| {
                entries
                    .into_iter()
                    .filter(|entry| matches!(**entry, Entry::InternalCall { .. }))
                    .for_each(|entry| spawned.account((*entry).clone()));
                error
            })
        };
        let agent = &self.run.shared.agent;
        match agent.background.spawn_run(work).await {
            Ok(result) => result,
            Err(error) if error.is_cancelled() => Err(Error::Cancelled),
            Err(_) => Err(Error::Panic("background work".into())),
        }
    }
}

impl std::fmt::Debug for Background {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Background").field(&self.run).finish()
    }
}
