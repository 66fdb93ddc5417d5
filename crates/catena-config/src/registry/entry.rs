//! One middleware that a configuration can use.

use std::sync::Arc;

use catena_core::middleware::{Middleware, Priority};
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::{BuildContext, OptionError};
use crate::schema::tidy;

type Build = dyn Fn(Json, &mut BuildContext<'_>) -> Result<Arc<dyn Middleware>, OptionError> + Send + Sync;

/// A middleware by name: its options, and how it is made from them.
#[derive(Clone)]
pub struct Entry {
    name: &'static str,
    aliases: &'static [&'static str],
    priority: Priority,
    summary: &'static str,
    in_base: bool,
    safety: bool,
    made: Made,
}

#[derive(Clone)]
enum Made {
    From {
        options: fn(&mut SchemaGenerator) -> schemars::Schema,
        build: Arc<Build>,
    },
    Unavailable(&'static str),
}

impl Entry {
    /// A middleware that `build` makes from options of type `O`. Their JSON Schema is what a file is checked against, so what serde refuses
    /// and the schema does not is shown without its place. An alias of a key must stand in both: `#[serde(alias = "tool")]` and
    /// `#[schemars(extend("x-aliases" = ["tool"]))]`.
    pub fn new<O, F>(name: &'static str, priority: Priority, summary: &'static str, build: F) -> Self
    where
        O: DeserializeOwned + JsonSchema,
        F: Fn(O, &mut BuildContext<'_>) -> Result<Arc<dyn Middleware>, OptionError> + Send + Sync + 'static,
    {
        let build = move |options: Json, context: &mut BuildContext<'_>| {
            let options = serde_json::from_value(options).map_err(|error| OptionError::new(error.to_string()))?;
            build(options, context)
        };
        let made = Made::From {
            options: SchemaGenerator::subschema_for::<O>,
            build: Arc::new(build),
        };
        Self::made(name, priority, summary, made)
    }

    /// A middleware that this build of catena does not have, and why: it can be named in an error and in a chain's report.
    pub fn unavailable(name: &'static str, priority: Priority, summary: &'static str, reason: &'static str) -> Self {
        Self::made(name, priority, summary, Made::Unavailable(reason))
    }

    fn made(name: &'static str, priority: Priority, summary: &'static str, made: Made) -> Self {
        Self {
            name,
            aliases: &[],
            priority,
            summary,
            in_base: false,
            safety: false,
            made,
        }
    }

    /// With other names that a file may use for it.
    #[must_use]
    pub fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// It is in every agent that does not say `base = false`, with its default options.
    #[must_use]
    pub fn in_base(mut self) -> Self {
        self.in_base = true;
        self
    }

    /// It keeps the agent safe: switching it off needs `allow_unsafe = true`.
    #[must_use]
    pub fn safety(mut self) -> Self {
        self.safety = true;
        self
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its name, then its aliases.
    pub fn all_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Where it stands in a chain unless told otherwise.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// What it does, in a sentence.
    pub fn summary(&self) -> &'static str {
        self.summary
    }

    /// Whether it is in the base.
    pub fn is_in_base(&self) -> bool {
        self.in_base
    }

    /// Whether it keeps the agent safe.
    pub fn is_safety(&self) -> bool {
        self.safety
    }

    /// Why this build of catena does not have it.
    pub fn unavailable_because(&self) -> Option<&'static str> {
        match self.made {
            Made::From { .. } => None,
            Made::Unavailable(reason) => Some(reason),
        }
    }

    /// The JSON Schema of its options, complete in itself. Of one that is not available, anything.
    pub fn schema(&self) -> Json {
        let mut generator = SchemaGenerator::default();
        let Some(mut schema) = self.subschema(&mut generator) else {
            return json!({});
        };
        schema["$defs"] = generator.take_definitions(true).into();
        tidy(&mut schema);
        schema
    }

    /// The schema of its options, whose parts are left with the generator.
    pub(crate) fn subschema(&self, generator: &mut SchemaGenerator) -> Option<Json> {
        match &self.made {
            Made::From { options, .. } => Some(options(generator).to_value()),
            Made::Unavailable(_) => None,
        }
    }

    pub(crate) fn build(
        &self,
        options: Json,
        context: &mut BuildContext<'_>,
    ) -> Result<Arc<dyn Middleware>, OptionError> {
        match &self.made {
            Made::From { build, .. } => build(options, context),
            Made::Unavailable(reason) => Err(OptionError::new(format!("it is not available: {reason}"))),
        }
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.name)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}
