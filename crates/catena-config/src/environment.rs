//! The one place of catena that reads the environment.

use std::sync::Arc;

/// Reads one environment variable. Keys of providers come from here and from nowhere else.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The environment of this process. A variable that is not UTF-8 counts as unset.
pub fn environment() -> Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the reader that everything else goes through"
    )]
    Arc::new(|name| std::env::var(name).ok())
}
