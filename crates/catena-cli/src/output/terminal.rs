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

    /// Keys typed while this lives are not shown: they would stand in the middle of an answer. Nothing is lost, the next prompt reads them.
    #[derive(Debug)]
    #[must_use = "dropping it shows keys again"]
    pub(crate) struct Unechoed {
        before: Option<Termios>,
    }

    impl Unechoed {
        /// Does nothing where standard input is no terminal.
        pub(crate) fn new() -> Self {
            let before = tcgetattr(io::stdin()).ok();
            if let Some(before) = &before {
                let mut quiet = before.clone();
                quiet.local_modes.remove(LocalModes::ECHO);
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, &quiet);
            }
            Self { before }
        }
    }

    impl Drop for Unechoed {
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
    #[must_use = "dropping it shows keys again"]
    pub(crate) struct Unechoed;

    impl Unechoed {
        pub(crate) fn new() -> Self {
            Self
        }
    }
}

pub(crate) use system::{Unechoed, forget_typed, width};
