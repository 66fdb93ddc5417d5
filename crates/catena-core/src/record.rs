//! The record of a thread: entries, appended and never rewritten, and what follows from them.
//!
//! Everything that a run does to its thread is an [`Entry`]. The loop's state, the messages a model sees and the counts that limits read
//! are all computed from the entries, by [`Thread::apply`], one at a time: a run that is resumed from a store and a run that never
//! stopped are the same computation.

mod counts;
mod entry;
mod thread;
mod view;

pub use counts::{CallRecord, CallStatus, Counts, Internal, Totals};
pub use entry::{EndReason, Entry, ModelStep, OutcomeRecord, RunKind, RunStart};
pub(crate) use thread::{Approval, Last};
pub use thread::{CallState, OpenCall, RunRecord, Thread};
pub(crate) use view::fold_messages;
