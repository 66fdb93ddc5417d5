//! What ends a command early: one clear message, what to do about it, and the exit code.

use std::io;
use std::path::PathBuf;

use catena_core::checkpoint::StoreError;
use catena_core::model::ModelErrorKind;
use catena_models::local::LocalError;
use catena_models::providers::ProviderError;

/// The result of most of this crate's functions.
pub(crate) type Result<T, E = CliError> = std::result::Result<T, E>;

/// How the command ended, as scripts see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The run is done, or the command did what it is for.
    Done,
    /// The run failed, or something on the machine did.
    Failed,
    /// What was typed or configured makes no sense.
    Usage,
    /// The run waits for answers.
    Interrupted,
    /// The run was cancelled.
    Cancelled,
}

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Interrupted => 3,
            // What a shell reports for a program that Ctrl-C ended.
            Self::Cancelled => 130,
        }
    }
}

/// Why a command cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// What was typed makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The configuration has problems, each told with its place.
    #[error("{}", .0.join("\n\n"))]
    Config(Vec<String>),
    /// A model cannot be connected.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The local model cannot be used.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// Threads cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run or an agent failed.
    #[error(transparent)]
    Core(#[from] catena_core::Error),
    /// A file or directory cannot be handled.
    #[error("cannot {what} `{}`", path.display())]
    File {
        /// Such as `read`.
        what: &'static str,
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Standard input cannot be read.
    #[error("cannot read standard input")]
    Stdin(#[source] io::Error),
    /// Standard output cannot be written.
    #[error("cannot write to standard output")]
    Stdout(#[source] io::Error),
    /// Nobody reads standard output any more: not worth a message.
    #[error("standard output was closed")]
    Closed,
    /// Something of catena's own that should not happen.
    #[error("{0}")]
    Internal(String),
}

impl CliError {
    /// Wraps a failed system call on a file.
    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { what, path, source }
    }

    /// Every problem of a configuration.
    pub(crate) fn config(errors: &catena_config::ConfigErrors) -> Self {
        Self::Config(errors.problems().iter().map(ToString::to_string).collect())
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        use catena_core::Error;
        match self {
            Self::Usage(_) | Self::Config(_) | Self::Provider(_) | Self::File { .. } => Exit::Usage,
            Self::Core(error) => match error {
                Error::Build { .. }
                | Error::Config(_)
                | Error::NoThread(_)
                | Error::NotInterrupted(_)
                | Error::InvalidAnswer { .. }
                | Error::Unknown { .. } => Exit::Usage,
                Error::Interrupted { .. } => Exit::Interrupted,
                Error::Cancelled => Exit::Cancelled,
                _ => Exit::Failed,
            },
            Self::Local(LocalError::BadGguf { .. } | LocalError::NoDataDir) => Exit::Usage,
            Self::Local(_) | Self::Store(_) | Self::Stdin(_) | Self::Stdout(_) | Self::Internal(_) => Exit::Failed,
            Self::Closed => Exit::Done,
        }
    }

    /// What a person can do about it, where the message does not say so itself.
    pub(crate) fn hint(&self) -> Option<String> {
        use catena_core::Error;
        let hint = match self {
            Self::Provider(ProviderError::MissingKey { .. }) => {
                "or use another model: `--model provider:model`, `--local` for a very small one on this machine"
            }
            Self::Local(LocalError::NotProvisioned { .. }) => "`catena chat --local` provisions it",
            Self::Local(LocalError::Unresponsive { .. }) => "`catena local stop` ends it",
            Self::Core(Error::Interrupted { thread, .. }) => {
                return Some(format!(
                    "`catena resume --thread {thread} --decisions FILE` answers it, `catena chat --thread {thread}` asks you"
                ));
            }
            Self::Core(Error::NoThread(_)) => "`catena threads list` shows the threads there are",
            Self::Core(Error::NotInterrupted(thread)) => {
                return Some(format!(
                    "nothing is left to resume; `catena chat --thread {thread}` goes on with the conversation"
                ));
            }
            Self::Core(error) => {
                return error
                    .as_model()
                    .and_then(|error| model_hint(error.kind))
                    .map(str::to_owned);
            }
            Self::Internal(_) => "this is a bug in catena; please report it with what you did before",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

fn model_hint(kind: ModelErrorKind) -> Option<&'static str> {
    Some(match kind {
        ModelErrorKind::Auth => "check the key in the environment, and that it may use this model",
        ModelErrorKind::Network => "check the network and the model's `base_url`; nothing that was said is lost",
        ModelErrorKind::RateLimited | ModelErrorKind::Overloaded => {
            "try again in a while; nothing that was said is lost"
        }
        ModelErrorKind::ContextOverflow => "start a new thread, or use a model with a larger context window",
        ModelErrorKind::Timeout | ModelErrorKind::Truncated => "try again; nothing that was said is lost",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_as_documented() {
        assert_eq!(CliError::Usage(String::new()).exit().code(), 2);
        assert_eq!(CliError::Core(catena_core::Error::Cancelled).exit().code(), 130);
        let waiting = catena_core::Error::Interrupted {
            thread: "t".into(),
            open: 1,
        };
        assert_eq!(CliError::Core(waiting).exit().code(), 3);
        assert_eq!(CliError::Internal(String::new()).exit().code(), 1);
    }

    #[test]
    fn a_waiting_thread_is_answered_with_the_command_that_resumes_it() {
        let waiting = catena_core::Error::Interrupted {
            thread: "t-1".into(),
            open: 1,
        };
        assert!(
            CliError::Core(waiting)
                .hint()
                .unwrap_or_default()
                .contains("catena resume --thread t-1")
        );
    }
}
