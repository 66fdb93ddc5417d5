//! Which middlewares and tools a configuration can use, by name.
//!
//! The built-in ones are in [`Registry::builtin`]. A program that has more adds them:
//!
//! ```
//! use std::path::Path;
//! use std::sync::Arc;
//! use catena_config::{Config, Entry, Registry};
//! use catena_core::middleware::{Flow, Priority, before_model_fn};
//! use catena_core::prompt::{Stability, Trusted};
//!
//! /// What a person writes beside `use = "tone"`.
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct ToneOptions {
//!     /// How the agent speaks.
//!     tone: String,
//! }
//!
//! let entry = Entry::new("tone", Priority(140), "Says how to speak.", |options: ToneOptions, _| {
//!     Ok(Arc::new(before_model_fn("tone", move |turn| {
//!         turn.request.prompt.push("tone", Stability::Static, Trusted(format!("Be {}.", options.tone)));
//!         Ok(Flow::Continue)
//!     })))
//! });
//! let text = r#"
//! [agents.assistant]
//! middleware = [{ use = "tone", tone = 1 }]
//! "#;
//! let errors = Config::parse_with(text, Path::new("catena.toml"), Registry::builtin().with(entry)).unwrap_err();
//! assert!(errors.to_string().contains("expected a string, found an integer"));
//! ```

mod context;
mod entry;
mod error;

use std::collections::BTreeMap;
use std::sync::Arc;

use catena_core::tool::Tool;

pub use context::BuildContext;
pub use entry::Entry;
pub use error::OptionError;

/// Middlewares and tools by name; see the module's example. Clones are cheap.
#[derive(Clone, Default)]
pub struct Registry {
    entries: Vec<Entry>,
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Registry {
    /// What this build of catena has.
    pub fn builtin() -> Self {
        Self::default()
    }

    /// Adds a middleware. One of the same name is replaced.
    #[must_use]
    pub fn with(mut self, entry: Entry) -> Self {
        self.entries.retain(|known| known.name() != entry.name());
        self.entries.push(entry);
        self
    }

    /// Adds a tool that agents can list, by its own name. One of the same name is replaced.
    #[must_use]
    pub fn with_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.insert(tool.spec().name.clone(), tool);
        self
    }

    /// The middlewares, in the order in which they were added.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The tools, by name.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values()
    }

    /// The JSON Schema of a file that may use these middlewares.
    pub fn schema(&self) -> serde_json::Value {
        crate::schema::of_registry(self)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// The middleware of that name or alias.
    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|entry| entry.all_names().any(|known| known == name))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.entries.iter().flat_map(Entry::all_names)
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names =
            |f: &mut std::fmt::Formatter<'_>| f.debug_list().entries(self.entries.iter().map(Entry::name)).finish();
        f.debug_struct("Registry")
            .field("middlewares", &std::fmt::from_fn(names))
            .field("tools", &self.tools.keys().collect::<Vec<_>>())
            .finish()
    }
}
