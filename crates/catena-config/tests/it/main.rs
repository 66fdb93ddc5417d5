//! Files, what is said about them, and the agents that come of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

// The attribute `#[middleware]` writes paths that start with `::catena`.
extern crate catena_core as catena;

mod agents;
mod arbitrary;
mod files;
mod middlewares;
mod models;
mod reports;
mod round_trip;
mod schema;
mod support;
