//! State: typed slots beside the messages.
//!
//! A [`Slot`] is a key, a type and a [`Scope`]. Values are JSON in the journal and typed in the program; an update is atomic, short, and
//! durable with the step in which it was made.
//!
//! Closures that change a slot run under a lock: they must not call a handle on the run, which would wait for ever.

mod store;

pub(crate) use store::{StateStore, Undone, Writer};

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

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
/// let of_this_instance = VISITS.of("front_door");
/// assert_eq!(of_this_instance.key(), "greeter.visits:front_door");
/// ```
pub struct Slot<T> {
    key: Cow<'static, str>,
    scope: Scope,
    of: PhantomData<fn() -> T>,
}

impl<T> Slot<T> {
    /// A slot that lives as long as the thread. The key starts with its owner's name.
    pub const fn thread(key: &'static str) -> Self {
        Self {
            key: Cow::Borrowed(key),
            scope: Scope::Thread,
            of: PhantomData,
        }
    }

    /// A slot that lives as long as the run.
    pub const fn run(key: &'static str) -> Self {
        Self {
            key: Cow::Borrowed(key),
            scope: Scope::Run,
            of: PhantomData,
        }
    }

    /// The same slot of one instance: a middleware that may be in a chain twice keeps its state under its own name, `KEY:NAME`.
    #[must_use]
    pub fn of(&self, name: &str) -> Self {
        Self {
            key: Cow::Owned(format!("{}:{name}", self.key)),
            scope: self.scope,
            of: PhantomData,
        }
    }

    /// The slot's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How long it lives.
    pub fn scope(&self) -> Scope {
        self.scope
    }
}

// Not derived: the value's type need be neither.
impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            scope: self.scope,
            of: PhantomData,
        }
    }
}

impl<T> std::fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot")
            .field("key", &self.key)
            .field("scope", &self.scope)
            .finish()
    }
}

/// What may be kept in a slot.
pub trait SlotValue: Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static {}
impl<T: Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static> SlotValue for T {}
