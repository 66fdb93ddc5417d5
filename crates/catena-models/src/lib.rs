//! Models for catena: providers, the scripted model, the local model.

#[cfg(feature = "providers")]
pub mod providers;
