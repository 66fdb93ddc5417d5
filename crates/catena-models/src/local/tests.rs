//! The local model against a fake Python: a shell script that stands for the interpreter, for pip and for the server. No network but loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod detached;
mod fake;
mod provisioning;
mod serving;
