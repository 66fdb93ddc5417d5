//! Models for catena: providers, the scripted model, the local model.

#[cfg(feature = "local")]
pub mod local;
