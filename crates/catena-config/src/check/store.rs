//! Whether the store's address is one.

use super::Check;

impl Check<'_> {
    pub(super) fn store(&mut self) {
        let Some(url) = self.config.store.url.as_deref() else {
            return;
        };
        let wrong = match url.split_once("://") {
            Some(("sqlite", "")) => "the address of the store names no file".to_owned(),
            Some(("sqlite", _)) => return,
            // The address itself may hold a password.
            Some((scheme, _)) => format!("a store of kind `{scheme}` is not understood"),
            None if url.trim().is_empty() => "the address of the store is empty".to_owned(),
            None => return,
        };
        let help = "write `sqlite://catena.db`, a path, or `sqlite::memory:`".to_owned();
        self.problems
            .push(self.config.problem(["store".into(), "url".into()], wrong).help(help));
    }
}
