//! The real binary, as a person or a script uses it: arguments in, streams and exit code out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chat;
mod config;
mod crash;
mod questions;
mod run;
mod server;
mod store;
mod streams;
mod support;
mod threads;
mod tour;
mod usage;
