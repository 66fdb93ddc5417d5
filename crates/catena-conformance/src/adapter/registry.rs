//! The middlewares of the format by their names.

use std::collections::BTreeSet;
use std::sync::Arc;

use catena_core::{Error, Middleware};
use serde_json::{Map, Value};

use super::probe;
use super::stage::Stage;
use crate::scenario::MiddlewareUse;

/// A middleware from its options. What is wrong with them is an error of the agent, since a scenario may expect just that.
type Build = fn(&Map<String, Value>, &Stage) -> Result<Arc<dyn Middleware>, BuildError>;

/// One line a middleware.
const REGISTRY: &[(&str, Build)] = &[("probe", probe::build)];

/// Why an agent could not be built.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    /// From such options it cannot be built.
    #[error(transparent)]
    Agent(#[from] Error),
    /// The scenario is at fault, or it needs something that this runner does not do.
    #[error("{0}")]
    Scenario(String),
}

/// Builds an entry of a middleware list.
///
/// # Errors
/// [`BuildError`]. A name that is [missing](missing) is one, so ask that first.
pub(super) fn middleware(entry: &MiddlewareUse, stage: &Stage) -> Result<Arc<dyn Middleware>, BuildError> {
    match builder(&entry.name) {
        Some(build) => build(&entry.options, stage),
        None => Err(BuildError::Scenario(format!("there is no middleware `{}`", entry.name))),
    }
}

/// The names in a middleware list, and in the lists of its subagents, that are not in the registry.
pub(super) fn missing(list: &[MiddlewareUse]) -> BTreeSet<String> {
    let own = list.iter().map(|entry| entry.name.as_str());
    let nested = list.iter().flat_map(|entry| subagents_uses(&entry.options));
    own.chain(nested)
        .filter(|name| builder(name).is_none())
        .map(str::to_owned)
        .collect()
}

fn builder(name: &str) -> Option<Build> {
    REGISTRY
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, build)| *build)
}

fn subagents_uses(options: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let subagents = options.get("subagents").and_then(Value::as_array).into_iter().flatten();
    let lists = subagents.filter_map(|subagent| subagent.get("middleware")?.as_array());
    lists.flatten().filter_map(|entry| entry.get("use")?.as_str())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::json;

    use super::*;

    fn entry(name: &str, options: Value) -> MiddlewareUse {
        MiddlewareUse {
            name: name.to_owned(),
            options: options.as_object().unwrap().clone(),
        }
    }

    #[test]
    fn every_name_that_cannot_be_built_is_missing_those_of_subagents_too() {
        let inner = json!([{"use": "no_such_inner"}, {"use": "probe", "options": {"name": "B"}}]);
        let list = [
            entry("probe", json!({"name": "A"})),
            entry(
                "no_such",
                json!({"subagents": [{"name": "x", "middleware": inner}, {"name": "y"}]}),
            ),
        ];
        assert_eq!(
            missing(&list),
            ["no_such".to_owned(), "no_such_inner".to_owned()].into()
        );
    }

    #[test]
    fn every_name_is_in_the_registry_once() {
        let names: BTreeSet<&str> = REGISTRY.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), REGISTRY.len());
    }
}
