//! What stores promise, and how the one in SQLite keeps it when things go wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests spawn what they join, and one of them is told by its environment that it is the process to be killed"
)]

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
