//! The loop: from an input to an outcome.
//!
//! [`machine`] decides what comes next, from the record alone, without I/O. [`runner`] does it, appends what happened to the record, and
//! asks again. A run that is resumed is the same loop over a record that was loaded.

mod admit;
mod amend;
mod announce;
mod gates;
mod machine;
mod model_call;
mod model_step;
mod request;
mod results;
mod runner;
mod session;
mod structured;
mod tool_call;
mod tools;

pub(crate) use amend::amend;
pub(crate) use results::result_message;
pub(crate) use session::run;
