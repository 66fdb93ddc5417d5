//! What hooks and tools are given: [`RunContext`] everywhere, [`Intake`] and [`Turn`] where more can be done.

mod ask;
mod background;
mod extensions;
mod intake;
mod run;
mod turn;

pub use ask::ModelHandle;
pub use background::Background;
pub(crate) use background::Spawned;
pub use extensions::Extensions;
pub use intake::Intake;
pub use run::RunContext;
pub(crate) use run::RunShared;
pub use turn::{Batch, BatchCall, Turn, Verdict};
