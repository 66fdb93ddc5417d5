//! What stores promise, and how the one in SQLite keeps it when things go wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod behaviour;
mod broken;
mod death;
mod drops;
mod full;
mod growth;
mod race;
mod reopen;
mod round_trip;
mod support;
