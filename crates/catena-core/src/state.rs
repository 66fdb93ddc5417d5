//! State: typed slots beside the messages.
//!
//! A [`Slot`] is a key, a type and a [`Scope`]. Values are JSON in the journal and typed in the program; an update is atomic, short, and
//! durable with the step in which it was made.

use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::record::Entry;

/// How long a slot lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// As long as the thread.
    Thread,
    /// As long as the run; every run starts without it, however the last one ended.
    Run,
}

/// A place for a value of type `T`.
///
/// ```
/// # use catena_core::state::Slot;
/// const VISITS: Slot<u32> = Slot::thread("greeter.visits");
/// ```
#[derive(Debug)]
pub struct Slot<T> {
    key: &'static str,
    scope: Scope,
    of: PhantomData<fn() -> T>,
}

impl<T> Slot<T> {
    /// A slot that lives as long as the thread. The key starts with its owner's name.
    pub const fn thread(key: &'static str) -> Self {
        Self {
            key,
            scope: Scope::Thread,
            of: PhantomData,
        }
    }

    /// A slot that lives as long as the run.
    pub const fn run(key: &'static str) -> Self {
        Self {
            key,
            scope: Scope::Run,
            of: PhantomData,
        }
    }

    /// The slot's key.
    pub const fn key(&self) -> &'static str {
        self.key
    }
}

/// What may be kept in a slot.
pub trait SlotValue: Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static {}
impl<T: Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static> SlotValue for T {}

/// The slots of one run and its thread.
#[derive(Debug, Default)]
pub(crate) struct StateStore {
    cells: Mutex<BTreeMap<String, Cell>>,
    /// What hooks that are not done yet have changed.
    changes: Mutex<Vec<Change>>,
    /// How many there are: most hooks change nothing, and find out here.
    changed: AtomicUsize,
    next_writer: AtomicU64,
}

/// A slot before a writer changed it.
#[derive(Debug)]
struct Change {
    writer: Writer,
    key: String,
    before: Option<Cell>,
}

/// Who changes slots: one call of one hook, or nobody whose changes would be taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writer(u64);

#[derive(Clone, Debug)]
struct Cell {
    scope: Scope,
    json: Arc<Value>,
    typed: Option<Arc<dyn Any + Send + Sync>>,
    /// Rises with every change; what is journalled is behind it while there is something to write.
    version: u64,
    journalled: u64,
}

impl StateStore {
    pub(crate) fn load(slots: impl Iterator<Item = (String, Scope, Arc<Value>)>) -> Self {
        let cells = slots
            .map(|(key, scope, json)| {
                (
                    key,
                    Cell {
                        scope,
                        json,
                        typed: None,
                        version: 0,
                        journalled: 0,
                    },
                )
            })
            .collect();
        Self {
            cells: Mutex::new(cells),
            ..Self::default()
        }
    }

    // A panic in `update`'s closure happens before anything is written.
    fn cells(&self) -> MutexGuard<'_, BTreeMap<String, Cell>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get<T: SlotValue>(&self, slot: &Slot<T>) -> Result<Arc<T>> {
        match self.cells().get_mut(slot.key) {
            Some(cell) => cell.typed::<T>(slot.key),
            None => Ok(Arc::default()),
        }
    }

    pub(crate) fn raw(&self, key: &str) -> Option<Arc<Value>> {
        self.cells().get(key).map(|cell| cell.json.clone())
    }

    pub(crate) fn update<T: SlotValue, R>(
        &self,
        slot: &Slot<T>,
        writer: Writer,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<R> {
        let mut cells = self.cells();
        let mut value = match cells.get_mut(slot.key) {
            Some(cell) => (*cell.typed::<T>(slot.key)?).clone(),
            None => T::default(),
        };
        let result = change(&mut value);
        let json = serde_json::to_value(&value).map_err(|source| Error::State {
            slot: slot.key.into(),
            action: "written",
            source,
        })?;
        let (version, journalled) = cells
            .get(slot.key)
            .map_or((0, 0), |cell| (cell.version, cell.journalled));
        let typed: Arc<dyn Any + Send + Sync> = Arc::new(value);
        let cell = Cell {
            scope: slot.scope,
            json: Arc::new(json),
            typed: Some(typed),
            version: version + 1,
            journalled,
        };
        let before = cells.insert(slot.key.to_owned(), cell);
        if writer != Writer::default() {
            let key = slot.key.to_owned();
            let mut changes = self.changes();
            changes.push(Change { writer, key, before });
            self.changed.store(changes.len(), Ordering::Release);
        }
        Ok(result)
    }

    /// A writer whose changes can be taken back.
    pub(crate) fn writer(&self) -> Writer {
        Writer(self.next_writer.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// What the writer changed stays. Yields the slots' keys.
    #[inline]
    pub(crate) fn keep(&self, writer: Writer) -> Vec<String> {
        if self.is_unchanged() {
            return Vec::new();
        }
        self.taken(writer).into_iter().map(|change| change.key).collect()
    }

    /// Puts back what was there before the writer's changes. Returns whether there were any.
    pub(crate) fn undo(&self, writer: Writer) -> bool {
        if self.is_unchanged() {
            return false;
        }
        let changes = self.taken(writer);
        let any = !changes.is_empty();
        let mut cells = self.cells();
        for change in changes.into_iter().rev() {
            match change.before {
                Some(cell) => cells.insert(change.key, cell),
                None => cells.remove(&change.key),
            };
        }
        any
    }

    fn is_unchanged(&self) -> bool {
        self.changed.load(Ordering::Acquire) == 0
    }

    fn taken(&self, writer: Writer) -> Vec<Change> {
        let mut changes = self.changes();
        let (mine, others) = std::mem::take(&mut *changes)
            .into_iter()
            .partition(|change| change.writer == writer);
        *changes = others;
        self.changed.store(changes.len(), Ordering::Release);
        mine
    }

    fn changes(&self) -> MutexGuard<'_, Vec<Change>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Entries for everything that is not journalled yet, and what to tell [`journalled`](Self::journalled) once it is.
    pub(crate) fn pending(&self) -> (Vec<Entry>, Vec<(String, u64)>) {
        let cells = self.cells();
        let dirty = cells.iter().filter(|(_, cell)| cell.version != cell.journalled);
        let entry = |(key, cell): (&String, &Cell)| {
            let entry = Entry::State {
                key: key.clone(),
                scope: cell.scope,
                value: (*cell.json).clone(),
            };
            (entry, (key.clone(), cell.version))
        };
        dirty.map(entry).unzip()
    }

    /// These versions are durable.
    pub(crate) fn journalled(&self, versions: &[(String, u64)]) {
        let mut cells = self.cells();
        for (key, version) in versions {
            if let Some(cell) = cells.get_mut(key) {
                cell.journalled = *version;
            }
        }
    }
}

impl Cell {
    fn typed<T: SlotValue>(&mut self, key: &str) -> Result<Arc<T>> {
        if let Some(Ok(value)) = self.typed.clone().map(Arc::downcast::<T>) {
            return Ok(value);
        }
        let value: T = serde_json::from_value((*self.json).clone()).map_err(|source| Error::State {
            slot: key.to_owned(),
            action: "read",
            source,
        })?;
        let value = Arc::new(value);
        self.typed = Some(value.clone());
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIST: Slot<Vec<u32>> = Slot::thread("list");

    #[test]
    fn an_update_is_pending_until_it_is_journalled() {
        let store = StateStore::default();
        store.update(&LIST, Writer::default(), |list| list.push(1)).unwrap();
        let entry = Entry::State {
            key: "list".into(),
            scope: Scope::Thread,
            value: json!([1]),
        };
        let (entries, versions) = store.pending();
        assert_eq!(entries, [entry]);
        store.update(&LIST, Writer::default(), |list| list.push(2)).unwrap();
        store.journalled(&versions);
        let (entries, versions) = store.pending();
        assert_eq!(entries.len(), 1, "what changed meanwhile is still to be written");
        store.journalled(&versions);
        assert!(store.pending().0.is_empty());
        assert_eq!(*store.get(&LIST).unwrap(), [1, 2]);
    }

    #[test]
    fn undo_restores_the_first_value_of_several_changes() {
        let store = StateStore::load([("list".to_owned(), Scope::Thread, Arc::new(json!([7])))].into_iter());
        let (mine, other) = (store.writer(), store.writer());
        store.update(&LIST, mine, |list| list.push(1)).unwrap();
        store.update(&LIST, mine, |list| list.push(2)).unwrap();
        assert!(!store.undo(other));
        assert!(store.undo(mine));
        assert_eq!(*store.get(&LIST).unwrap(), [7]);
        assert!(store.pending().0.is_empty());
    }

    #[test]
    fn a_value_of_another_shape_is_an_error_that_names_the_slot() {
        let store = StateStore::load([("list".to_owned(), Scope::Thread, Arc::new(json!("text")))].into_iter());
        assert!(store.get(&LIST).unwrap_err().to_string().contains("`list`"));
    }
}
