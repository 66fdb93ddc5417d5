//! Behaviour of the public interface. One file per promise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cancel;
mod crash;
mod journal;
mod lease;
mod loop_basics;
mod pauses;
mod support;
mod threads;
