//! The slots' values, who changed them, and what of it is to be journalled.
//!
//! A change of a hook that is still running is seen by everyone, but is not journalled before the hook is done: if it fails, the change
//! is taken back. Versions rise over the whole store and are never used twice, so a version says which value is meant.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::{Scope, Slot, SlotValue};
use crate::error::{Error, Result};
use crate::record::Entry;

/// The slots of one run and its thread.
#[derive(Debug, Default)]
pub(crate) struct StateStore {
    slots: Mutex<Slots>,
    /// How many changes are not settled: most hooks change nothing, and find out here.
    unsettled: AtomicUsize,
    next_writer: AtomicU64,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Slots {
    cells: BTreeMap<String, Cell>,
    /// The version of each slot that is durable; 0 is what was loaded.
    journalled: BTreeMap<String, u64>,
    /// What hooks that are still running have changed, in order.
    changes: Vec<Change>,
    /// Those hooks.
    running: Vec<Writer>,
    /// The last version given out.
    version: u64,
}

/// A slot before a writer changed it.
#[derive(Debug)]
struct Change {
    writer: Writer,
    key: String,
    before: Option<Cell>,
    /// The version that the change made.
    made: u64,
}

/// Who changes slots: one call of one hook, or nobody whose changes would be taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writer(u64);

/// What taking changes back did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Undone {
    /// Whether there was anything to take back.
    pub(crate) any: bool,
    /// Slots that someone else has changed since: their value stays, and with it what it was made from.
    pub(crate) kept: Vec<String>,
}

#[derive(Clone, Debug)]
struct Cell {
    scope: Scope,
    json: Arc<Value>,
    typed: Option<Arc<dyn Any + Send + Sync>>,
    version: u64,
}

impl StateStore {
    pub(crate) fn load(slots: impl Iterator<Item = (String, Scope, Arc<Value>)>) -> Self {
        let cell = |scope, json| Cell {
            scope,
            json,
            typed: None,
            version: 0,
        };
        let slots = Slots {
            cells: slots.map(|(key, scope, json)| (key, cell(scope, json))).collect(),
            ..Slots::default()
        };
        Self {
            slots: Mutex::new(slots),
            ..Self::default()
        }
    }

    // A panic in `update`'s closure happens before anything is written.
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing that is changed from now on would be journalled.
    pub(crate) fn close(&self) {
        // Under the lock: an update that got in before is pending.
        let _slots = self.slots();
        self.closed.store(true, Ordering::Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn get<T: SlotValue>(&self, slot: &Slot<T>) -> Result<Arc<T>> {
        match self.slots().cells.get_mut(slot.key()) {
            Some(cell) => cell.typed::<T>(slot.key()),
            None => Ok(Arc::default()),
        }
    }

    pub(crate) fn raw(&self, key: &str) -> Option<Arc<Value>> {
        self.slots().cells.get(key).map(|cell| cell.json.clone())
    }

    /// Changes a slot; `None` if the store is closed.
    pub(crate) fn update<T: SlotValue, R>(
        &self,
        slot: &Slot<T>,
        writer: Writer,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<Option<R>> {
        let key = slot.key();
        let mut slots = self.slots();
        if self.is_closed() {
            return Ok(None);
        }
        let mut value = match slots.cells.get_mut(key) {
            Some(cell) => (*cell.typed::<T>(key)?).clone(),
            None => T::default(),
        };
        let result = change(&mut value);
        let json = serde_json::to_value(&value).map_err(|source| Error::State {
            slot: key.into(),
            action: "written",
            source,
        })?;
        slots.version += 1;
        let made = slots.version;
        let cell = Cell {
            scope: slot.scope(),
            json: Arc::new(json),
            typed: Some(Arc::new(value)),
            version: made,
        };
        let before = slots.cells.insert(key.to_owned(), cell);
        // A hook that is done cannot take anything back any more.
        if slots.running.contains(&writer) {
            let key = key.to_owned();
            let change = Change {
                writer,
                key,
                before,
                made,
            };
            slots.changes.push(change);
            self.count(&slots);
        }
        Ok(Some(result))
    }

    /// A writer whose changes can be taken back until it is [done](Self::done).
    pub(crate) fn writer(&self) -> Writer {
        let writer = Writer(self.next_writer.fetch_add(1, Ordering::Relaxed) + 1);
        self.slots().running.push(writer);
        writer
    }

    /// The writer's hook is over; what it has not kept by now is taken back.
    pub(crate) fn done(&self, writer: Writer) -> Undone {
        let mut slots = self.slots();
        slots.running.retain(|running| *running != writer);
        let undone = slots.undo(writer);
        self.count(&slots);
        undone
    }

    /// What the writer changed stays. Yields the slots' keys.
    #[inline]
    pub(crate) fn keep(&self, writer: Writer) -> Vec<String> {
        if self.is_settled() {
            return Vec::new();
        }
        let mut slots = self.slots();
        let kept = slots.take(writer);
        self.count(&slots);
        kept.into_iter().map(|change| change.key).collect()
    }

    /// Puts back what was there before the writer's changes, unless someone else has changed it since.
    pub(crate) fn undo(&self, writer: Writer) -> Undone {
        if self.is_settled() {
            return Undone::default();
        }
        let mut slots = self.slots();
        let undone = slots.undo(writer);
        self.count(&slots);
        undone
    }

    fn is_settled(&self) -> bool {
        self.unsettled.load(Ordering::Acquire) == 0
    }

    fn count(&self, slots: &Slots) {
        self.unsettled.store(slots.changes.len(), Ordering::Release);
    }

    /// Entries for everything settled that is not journalled yet, and what to tell [`journalled`](Self::journalled) once it is.
    pub(crate) fn pending(&self) -> (Vec<Entry>, Vec<(String, u64)>) {
        let slots = self.slots();
        let entry = |(key, cell): (&String, &Cell)| {
            let cell = slots.settled(key, cell)?;
            if slots.journalled.get(key).copied().unwrap_or_default() == cell.version {
                return None;
            }
            let entry = Entry::State {
                key: key.clone(),
                scope: cell.scope,
                value: (*cell.json).clone(),
            };
            Some((entry, (key.clone(), cell.version)))
        };
        slots.cells.iter().filter_map(entry).unzip()
    }

    /// These versions are durable.
    pub(crate) fn journalled(&self, versions: &[(String, u64)]) {
        let mut slots = self.slots();
        slots.journalled.extend(versions.iter().cloned());
    }
}

impl Slots {
    /// The newest value that no running hook could still take back.
    fn settled<'a>(&'a self, key: &str, newest: &'a Cell) -> Option<&'a Cell> {
        let mut cell = newest;
        for change in self.changes.iter().rev().filter(|change| change.key == key) {
            if change.made == cell.version {
                cell = change.before.as_ref()?;
            }
        }
        Some(cell)
    }

    fn undo(&mut self, writer: Writer) -> Undone {
        let mine = self.take(writer);
        let mut undone = Undone {
            any: !mine.is_empty(),
            kept: Vec::new(),
        };
        for Change { key, before, made, .. } in mine.into_iter().rev() {
            if self.cells.get(&key).is_some_and(|cell| cell.version == made) {
                match before {
                    Some(cell) => self.cells.insert(key, cell),
                    None => self.cells.remove(&key),
                };
                continue;
            }
            // Whoever built on it and takes that back later must not bring this back.
            let built_on = |change: &&mut Change| change.before.as_ref().is_some_and(|cell| cell.version == made);
            if let Some(next) = self.changes.iter_mut().find(built_on) {
                next.before = before;
            }
            if !undone.kept.contains(&key) {
                undone.kept.push(key);
            }
        }
        undone
    }

    fn take(&mut self, writer: Writer) -> Vec<Change> {
        let (mine, others) = std::mem::take(&mut self.changes)
            .into_iter()
            .partition(|change| change.writer == writer);
        self.changes = others;
        mine
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
        assert!(!store.undo(other).any);
        assert_eq!(
            store.undo(mine),
            Undone {
                any: true,
                kept: vec![]
            }
        );
        assert_eq!(*store.get(&LIST).unwrap(), [7]);
        assert!(store.pending().0.is_empty());
    }

    #[test]
    fn a_value_of_another_shape_is_an_error_that_names_the_slot() {
        let store = StateStore::load([("list".to_owned(), Scope::Thread, Arc::new(json!("text")))].into_iter());
        assert!(store.get(&LIST).unwrap_err().to_string().contains("`list`"));
    }

    fn pending(store: &StateStore) -> Vec<Value> {
        let (entries, versions) = store.pending();
        store.journalled(&versions);
        let value = |entry| match entry {
            Entry::State { value, .. } => value,
            other => panic!("{other:?}"),
        };
        entries.into_iter().map(value).collect()
    }

    fn push(store: &StateStore, writer: Writer, value: u32) {
        store.update(&LIST, writer, |list| list.push(value)).unwrap();
    }

    #[test]
    fn a_running_hooks_change_is_not_journalled_with_a_siblings_step() {
        let store = StateStore::default();
        let (wrap, nobody) = (store.writer(), Writer::default());
        push(&store, nobody, 1);
        push(&store, wrap, 2);
        assert_eq!(pending(&store), [json!([1])], "what was settled before it is");
        push(&store, wrap, 3);
        assert!(pending(&store).is_empty());
        store.undo(wrap);
        assert_eq!(*store.get(&LIST).unwrap(), [1]);
        assert!(pending(&store).is_empty());
    }

    #[test]
    fn a_kept_change_is_journalled() {
        let store = StateStore::default();
        let wrap = store.writer();
        push(&store, wrap, 1);
        assert!(pending(&store).is_empty());
        assert_eq!(store.keep(wrap), ["list"]);
        assert_eq!(pending(&store), [json!([1])]);
        assert_eq!(store.done(wrap), Undone::default());
        push(&store, wrap, 2);
        assert_eq!(pending(&store), [json!([1, 2])], "nobody takes back what comes later");
    }

    #[test]
    fn undo_keeps_a_later_change_of_another_writer() {
        let store = StateStore::default();
        let (wrap, other) = (store.writer(), store.writer());
        push(&store, wrap, 1);
        push(&store, other, 2);
        store.keep(other);
        assert_eq!(pending(&store), [json!([1, 2])]);
        let kept = vec!["list".to_owned()];
        assert_eq!(store.undo(wrap), Undone { any: true, kept });
        assert_eq!(*store.get(&LIST).unwrap(), [1, 2]);
        assert!(pending(&store).is_empty(), "the journal has what is live");
    }

    #[test]
    fn an_undo_does_not_bring_back_what_another_undo_took_away() {
        let store = StateStore::default();
        let (first, second) = (store.writer(), store.writer());
        push(&store, Writer::default(), 0);
        push(&store, first, 1);
        push(&store, second, 2);
        store.undo(first);
        store.undo(second);
        assert_eq!(*store.get(&LIST).unwrap(), [0]);
        assert_eq!(pending(&store), [json!([0])]);
    }

    #[test]
    fn a_version_is_never_used_for_two_values() {
        let store = StateStore::default();
        let failed = store.writer();
        push(&store, Writer::default(), 1);
        assert_eq!(pending(&store), [json!([1])]);
        push(&store, failed, 2);
        let (_, versions) = store.pending();
        store.done(failed);
        push(&store, Writer::default(), 3);
        store.journalled(&versions);
        assert_eq!(pending(&store), [json!([1, 3])]);
    }
}
