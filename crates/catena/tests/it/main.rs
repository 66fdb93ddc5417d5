//! Behaviour of the public interface. One file per promise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod background;
mod cancel;
mod chain_limits;
mod chain_paths;
mod chain_plan;
mod chain_wraps;
mod children;
mod configured;
mod crash;
mod failure;
mod gates;
mod hooks_endings;
mod hooks_observe;
mod hooks_order;
mod journal;
mod kit;
mod lease;
mod loop_basics;
mod mechanisms;
mod pauses;
mod principals;
mod readme;
mod robust;
mod services;
mod state_slots;
mod streams;
mod structured;
mod structured_fallback;
mod support;
mod threads;
mod tools_results;
mod tools_running;
mod waves;
mod wraps_api;
