//! Who owns a lease, written so that others can tell whether the owner is dead.
//!
//! A lease ends when it is given back or when its time is over. If its owner was killed, nobody should have to wait for that: on Linux the
//! owner's text holds what identifies a process beyond doubt, and whoever wants the lease may look it up. Only a proof counts. Where
//! one cannot be had (another machine, another container, another user, another system than Linux) the owner is taken to be alive.

mod process;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use process::Process;

/// A store in a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    #[serde(flatten)]
    process: Process,
    /// Which of the process's stores.
    store: u64,
}

/// The stores of this process that are open.
static OPEN: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

fn open_stores() -> MutexGuard<'static, BTreeSet<u64>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes its [`Owner`] count as alive until it is dropped.
pub(crate) struct Presence {
    owner: Owner,
    text: String,
}

impl Presence {
    /// A new store of this process.
    pub(crate) fn new() -> Result<Self, serde_json::Error> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let owner = Owner {
            process: Process::current().clone(),
            store: NEXT.fetch_add(1, Ordering::Relaxed),
        };
        let text = serde_json::to_string(&owner)?;
        open_stores().insert(owner.store);
        Ok(Self { owner, text })
    }

    /// What to write into a lease.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether a lease's owner is this store, another one, or provably none that lives.
    pub(crate) fn look_up(&self, text: &str) -> Standing {
        match serde_json::from_str::<Owner>(text) {
            Ok(owner) if owner == self.owner => Standing::Own,
            Ok(owner) if owner.is_dead() => Standing::Dead,
            // Text that cannot be read proves nothing.
            Ok(_) | Err(_) => Standing::Other,
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        open_stores().remove(&self.owner.store);
    }
}

/// See [`Presence::look_up`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Own,
    Other,
    Dead,
}

impl Owner {
    fn is_dead(&self) -> bool {
        match self.process == *Process::current() {
            true => !open_stores().contains(&self.store),
            false => self.process.is_dead(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_store_is_alive_until_it_is_dropped() {
        let (first, second) = (Presence::new().unwrap(), Presence::new().unwrap());
        let text = first.text().to_owned();
        assert_eq!(first.look_up(&text), Standing::Own);
        assert_eq!(second.look_up(&text), Standing::Other);
        drop(first);
        assert_eq!(second.look_up(&text), Standing::Dead);
    }

    #[test]
    fn an_owner_that_cannot_be_read_is_taken_to_be_alive() {
        let me = Presence::new().unwrap();
        for text in ["", "?", "{}", r#"{"pid":1}"#] {
            assert_eq!(me.look_up(text), Standing::Other, "{text}");
        }
    }
}
