//! The patterns of `expect`: what each accepts, and the mismatch it reports otherwise.

mod call;
mod ending;
mod file;
mod interrupt;
mod message;
mod names;
mod text;
mod value;

pub use call::ModelCallPattern;
pub use ending::ErrorPattern;
pub(crate) use ending::describe as describe_error;
pub use file::{FilePattern, FilesPattern, fits_glob};
pub use interrupt::InterruptPattern;
pub(crate) use message::describe as describe_message;
pub use message::{MessagePattern, ToolCallPattern};
pub use names::NamesPattern;
pub use text::TextPattern;
pub use value::{Keys, ValuePattern};

/// What a check returns: nothing, or the first difference.
pub type Check = Result<(), crate::mismatch::Mismatch>;
