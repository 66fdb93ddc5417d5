//! Why a middleware cannot be made from its options.

use catena_core::chain_text;

/// Why a middleware cannot be made from its options. Shown at the entry in the file, or at one of its keys.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct OptionError {
    pub(crate) message: String,
    pub(crate) key: Option<String>,
    pub(crate) help: Option<String>,
    /// The cause has been reported where it lies, and this says nothing new.
    pub(crate) reported: bool,
}

impl OptionError {
    /// What is wrong, in a sentence without a full stop.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            key: None,
            help: None,
            reported: false,
        }
    }

    /// With the key whose value is wrong.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// With what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl From<catena_core::Error> for OptionError {
    fn from(error: catena_core::Error) -> Self {
        Self::new(chain_text(&error))
    }
}
