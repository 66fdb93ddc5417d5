//! The chain: middlewares in order, and how their hooks are run.
//!
//! [`Chain::new`] checks everything and reports every problem together; the plan it makes does not depend on the order in which
//! middlewares were registered, unless they are to run [as listed](Order::Listed).

mod hooks;
mod next;
mod plan;
mod protect;
mod report;
mod wave;

pub(crate) use hooks::{AfterAnswer, Stopped};
pub(crate) use next::{BaseModel, BaseTool};
pub use next::{NextModel, NextTool};
pub use plan::{Chain, Order};
pub(crate) use protect::protect;
pub use report::{ChainReport, ReportRow};
