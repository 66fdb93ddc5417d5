//! What provisioning tells while it works.

/// A step of provisioning, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Looking for a Python that will do.
    FindPython,
    /// Making the private environment.
    CreateEnvironment,
    /// pip is fetching the packages.
    Download,
    /// pip is unpacking them.
    Install,
    /// Checking what was installed.
    Verify,
}

impl Step {
    /// How many steps there are.
    pub const COUNT: u32 = 5;

    /// Place of this step, from 1.
    pub fn number(self) -> u32 {
        match self {
            Self::FindPython => 1,
            Self::CreateEnvironment => 2,
            Self::Download => 3,
            Self::Install => 4,
            Self::Verify => 5,
        }
    }
}

/// One piece of news.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProvisionEvent {
    /// Another process is provisioning the same directory; waiting for it.
    Waiting,
    /// A step has begun.
    Step(Step),
    /// pip begins to fetch a file, or takes it from its cache.
    File {
        /// Its name, cleaned of control characters.
        name: String,
        /// Its size in bytes to three digits, if pip tells.
        bytes: Option<u64>,
    },
    /// How much of the current file has arrived. Exact with pip 24.1 and newer, to three digits with older ones.
    Bytes {
        /// So far.
        done: u64,
        /// In all.
        total: u64,
    },
    /// All is in place; the last event, and the only one where nothing was to be done.
    Ready,
}

/// Receives the news. Called from inside the provisioning task, at most some ten times per second: must not block. Any closure over
/// [`ProvisionEvent`] will do; one that sends into a bounded channel should use `try_send` and drop what does not fit.
pub trait Progress: Send + Sync {
    /// Takes one event.
    fn report(&self, event: ProvisionEvent);
}

impl<F: Fn(ProvisionEvent) + Send + Sync> Progress for F {
    fn report(&self, event: ProvisionEvent) {
        self(event);
    }
}
