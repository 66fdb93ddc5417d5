//! Asking a person: lines they type, decisions they take.

mod decide;
mod editor;
mod lines;

pub(crate) use decide::decide;
pub(crate) use lines::{Line, Lines};
