//! Runs the conformance scenarios of `tests/conformance` and says where an agent differs from them.
//!
//! A scenario is a JSON file: scripted models, scripted tools, a list of middleware, some turns, and what must be observed. The parts of
//! this crate follow one case through its life:
//!
//! - [`scenario`] reads the file, strictly: an unknown key is an error that names its path;
//! - a [`Runner`](report::Runner) plays it and records what happened as plain values, see [`observed`]; the one for catena is in [`adapter`];
//! - [`compare`] holds the record against [`expect`] and returns the first [`mismatch`], using the rules of [`pattern`];
//! - [`known`] lists what is missing or differs on purpose, strict both ways;
//! - [`report`] walks a directory, runs every case and prints the outcome; [`command`] chooses the directory.
//!
//! Nothing but the adapter knows catena, so everything else can be tested with hand-written records.

// The attribute `#[middleware]` writes paths that start with `::catena`.
extern crate catena_core as catena;

pub mod adapter;
pub mod command;
pub mod compare;
pub mod expect;
pub mod known;
pub mod load;
pub mod mismatch;
pub mod observed;
pub mod pattern;
pub mod read;
pub mod report;
pub mod scenario;
pub mod text;
