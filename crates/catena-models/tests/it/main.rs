//! Providers against a server that speaks their wire formats, faults included.
//!
//! Each fixture is a body as a provider sends it; the server is raw TCP, so that it can split, pace and cut what it sends. Nothing leaves
//! the loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod anthropic;
mod chat;
mod faults;
mod gemini;
mod mock;
mod ollama;
mod replay;
mod requests;
mod responses;
mod specs;
mod support;
