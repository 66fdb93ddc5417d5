//! What the system knows about a terminal, and the one thing that is changed about it.

#[cfg(unix)]
mod system {
    use std::io;
    use std::os::fd::AsFd;

    use rustix::termios::{
        LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetwinsize, tcsetattr,
    };

    pub(crate) fn width(stream: &impl AsFd) -> Option<usize> {
        let size = tcgetwinsize(stream).ok()?;
        (size.ws_col > 0).then_some(usize::from(size.ws_col))
    }

    /// Forgets keys that were typed before there was anything to answer.
    pub(crate) fn forget_typed() {
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }

    /// The terminal's modes as they are now; they are restored when this is dropped.
    #[derive(Debug)]
    #[must_use = "dropping it restores the modes"]
    pub(crate) struct Modes {
        before: Option<Termios>,
    }

    impl Modes {
        /// Keeps nothing where standard input is no terminal.
        pub(crate) fn keep() -> Self {
            let before = tcgetattr(io::stdin()).ok();
            Self { before }
        }

        /// Keys typed while this lives are not shown: they would stand in the middle of an answer. The next prompt reads them.
        pub(crate) fn without_echo() -> Self {
            let kept = Self::keep();
            if let Some(before) = &kept.before {
                let mut quiet = before.clone();
                quiet.local_modes.remove(LocalModes::ECHO);
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, &quiet);
            }
            kept
        }
    }

    impl Drop for Modes {
        fn drop(&mut self) {
            if let Some(before) = &self.before {
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
            }
        }
    }
}

#[cfg(not(unix))]
mod system {
    pub(crate) fn width<S>(_stream: &S) -> Option<usize> {
        None
    }

    pub(crate) fn forget_typed() {}

    /// Not known how to do here.
    #[derive(Debug)]
    #[must_use = "dropping it restores the modes"]
    pub(crate) struct Modes;

    impl Modes {
        pub(crate) fn keep() -> Self {
            Self
        }

        pub(crate) fn without_echo() -> Self {
            Self
        }
    }
}

pub(crate) use system::{Modes, forget_typed, width};
