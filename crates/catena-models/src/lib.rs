//! Models for catena: hosted and self-hosted providers, a small local model, and the scripted model that tests are made of.

#[cfg(feature = "local")]
pub mod local;
#[cfg(feature = "providers")]
pub mod providers;
pub mod scripted;

pub use scripted::{Reply, ScriptedModel, call, calls, say, scripted};
