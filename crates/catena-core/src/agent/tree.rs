//! What a run shares with its children.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use crate::record::{Entry, Totals};

/// The outermost run and everything below it: shared permits and sums.
#[derive(Default)]
pub(crate) struct Tree {
    permits: Mutex<HashMap<String, Arc<Semaphore>>>,
    totals: Mutex<Arc<Totals>>,
}

impl Tree {
    /// That of a run that did something before.
    pub(crate) fn resumed(totals: Totals) -> Self {
        Self {
            totals: Mutex::new(Arc::new(totals)),
            ..Self::default()
        }
    }

    /// Takes a run into account that joins with what it did before.
    pub(crate) fn join(&self, run: &Totals) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut totals).add(run);
    }

    pub(crate) fn permits(&self, name: &str, size: usize) -> Arc<Semaphore> {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        permits
            .entry(name.to_owned())
            .or_insert_with(|| Arc::new(Semaphore::new(size)))
            .clone()
    }

    pub(crate) fn totals(&self) -> Arc<Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes new entries of one of its runs into account.
    pub(crate) fn apply(&self, entries: &[Arc<Entry>]) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let totals = Arc::make_mut(&mut totals);
        for entry in entries {
            match &**entry {
                Entry::Model(step) => totals.add_model(step.attempts, step.usage()),
                Entry::FailedAttempts { attempts, usage } => totals.add_failed(*attempts, *usage),
                Entry::CallEnded { message, status, .. } if status.executed() => {
                    if let Some(result) = message.as_tool() {
                        totals.add_call(&result.name);
                    }
                }
                Entry::InternalCall { by, usage, .. } => totals.add_internal(by, *usage),
                _ => {}
            }
        }
    }
}
