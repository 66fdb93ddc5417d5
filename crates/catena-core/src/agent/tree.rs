//! What a run shares with its children.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use crate::model::Usage;
use crate::record::Totals;

/// The outermost run and everything below it: shared permits and sums.
#[derive(Default)]
pub(crate) struct Tree {
    permits: Mutex<HashMap<String, Arc<Semaphore>>>,
    totals: Mutex<Arc<Totals>>,
}

impl Tree {
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

    pub(crate) fn add_model(&self, attempts: u32, usage: Usage) {
        self.add(|totals| totals.add_model(attempts, usage));
    }

    pub(crate) fn add_call(&self, tool: &str) {
        self.add(|totals| totals.add_call(tool));
    }

    pub(crate) fn add_internal(&self, by: &str, usage: Usage) {
        self.add(|totals| totals.add_internal(by, usage));
    }

    fn add(&self, change: impl FnOnce(&mut Totals)) {
        change(Arc::make_mut(
            &mut *self.totals.lock().unwrap_or_else(PoisonError::into_inner),
        ));
    }
}
