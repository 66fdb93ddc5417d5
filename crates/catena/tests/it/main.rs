//! Behaviour of the public interface. One file per promise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chain_wraps;
mod failure;
mod gates;
mod hooks_endings;
mod hooks_observe;
mod hooks_order;
mod kit;
mod loop_basics;
mod mechanisms;
mod services;
mod streams;
mod structured;
mod tools_results;
mod tools_running;
mod waves;
