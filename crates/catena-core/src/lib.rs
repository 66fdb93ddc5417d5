//! The ground floor of catena: messages, tools, models, middleware, the chain, the loop and the journal.
//!
//! There is no provider, no database and no HTTP in here. A reader who knows this crate knows catena. Start at [`middleware`], then
//! [`agent`]; what happens to a thread is in [`record`].

// The attribute `#[middleware]` writes paths that start with `::catena`.
extern crate self as catena;

pub mod agent;
pub mod chain;
pub mod checkpoint;
pub mod context;
mod error;
pub mod event;
pub mod id;
pub mod interrupt;
pub mod live;
pub mod message;
pub mod middleware;
pub mod model;
pub mod output;
pub mod principal;
pub mod prompt;
pub mod record;
mod run_loop;
mod shared;
pub mod state;
pub mod tool;

pub use agent::{Agent, AgentBuilder, Input, Outcome, Resume, RunHandle, RunResult};
pub use error::{Error, ErrorReport, Result, chain_text};
pub use middleware::{Middleware, middleware};
pub use shared::Shared;

#[doc(hidden)]
pub mod __private {
    pub use async_trait::async_trait;
}
