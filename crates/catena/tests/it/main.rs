//! Behaviour of the public interface. One file per promise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod failure;
mod gates;
mod hooks_endings;
mod hooks_order;
mod kit;
mod loop_basics;
mod waves;
