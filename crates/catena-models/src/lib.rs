//! Models for catena: providers, the scripted model, the local model.
