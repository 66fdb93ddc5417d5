//! What a middleware can ask for while it is made.

use std::collections::BTreeMap;
use std::sync::Arc;

use catena_core::model::Model;

use super::OptionError;
use crate::build::Models;

/// What a middleware can ask for while it is made.
pub struct BuildContext<'a> {
    pub(crate) agent: &'a str,
    pub(crate) main: Option<Arc<dyn Model>>,
    pub(crate) models: &'a mut Models,
    /// The models that middlewares of this agent asked for.
    pub(crate) named: &'a mut BTreeMap<String, Arc<dyn Model>>,
}

impl BuildContext<'_> {
    /// The agent that it is made for.
    pub fn agent(&self) -> &str {
        self.agent
    }

    /// The agent's own model; absent if that cannot be connected, which is reported in its own place.
    pub fn main_model(&self) -> Option<&Arc<dyn Model>> {
        self.main.as_ref()
    }

    /// A model by its name in `[models]`, or by `provider:model`. During a run it can be asked under the same name.
    ///
    /// # Errors
    /// If there is no such model, shown at `key` of the options, or if it cannot be connected.
    pub fn model(&mut self, key: &str, name: &str) -> Result<Arc<dyn Model>, OptionError> {
        let model = self.models.by_name(name).map_err(|error| error.key(key))?;
        self.named.insert(name.to_owned(), model.clone());
        Ok(model)
    }
}
