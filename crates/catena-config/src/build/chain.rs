//! Which middlewares an agent has, and why the others are off.

use std::sync::Arc;

use catena_core::middleware::Middleware;
use serde_json::{Map, Value as Json};

use crate::config::{AgentConfig, Config};
use crate::node::Step;
use crate::problem::Problem;
use crate::registry::{BuildContext, Entry, OptionError, Registry};

/// What goes into a chain, and what does not.
#[derive(Default)]
pub(super) struct Links {
    /// The base first, by priority; then what is listed, as listed.
    pub(super) on: Vec<Arc<dyn Middleware>>,
    /// Name and reason, by priority.
    pub(super) off: Vec<(&'static str, String)>,
    pub(super) problems: Vec<Problem>,
}

/// Makes the middlewares of an agent.
pub(super) fn links(config: &Config, agent: &AgentConfig, context: &mut BuildContext<'_>) -> Links {
    let mut links = Links::default();
    let registry = &config.origin.registry;
    let name = context.agent;
    let base = agent.resolved().base;
    for entry in by_priority(registry) {
        let is_listed = |off: bool| {
            let mut listed = agent.middleware.iter().filter(|listed| listed.off == off);
            listed.any(|listed| entry.all_names().any(|name| name == listed.kind))
        };
        match (is_listed(false), is_listed(true), entry.unavailable_because()) {
            (true, _, None) => {}
            (_, _, Some(reason)) => links.off.push((entry.name(), format!("not available: {reason}"))),
            (false, true, None) => links.off.push((entry.name(), "`off = true`".to_owned())),
            (false, false, None) if base && entry.is_in_base() => {
                let place = ["agents".into(), name.into()];
                match entry.build(Json::Object(Map::new()), context) {
                    Ok(middleware) => links.on.push(middleware),
                    Err(error) => links.refuse(config, entry.name(), &place, error),
                }
            }
            (false, false, None) if entry.is_in_base() => {
                links
                    .off
                    .push((entry.name(), "not listed, and the base is left out".to_owned()));
            }
            (false, false, None) => links.off.push((entry.name(), "not listed".to_owned())),
        }
    }
    for (index, listed) in agent.middleware.iter().enumerate().filter(|(_, listed)| !listed.off) {
        let place = ["agents".into(), name.into(), "middleware".into(), index.into()];
        let Some(entry) = registry.find(&listed.kind) else {
            let error = OptionError::new("there is none of that name").key("use");
            links.refuse(config, &listed.kind, &place, error);
            continue;
        };
        let options = Json::Object(listed.options.clone().into_iter().collect());
        match entry.build(options, context) {
            Ok(middleware) => links.on.push(middleware),
            Err(error) => links.refuse(config, entry.name(), &place, error),
        }
    }
    links
}

impl Links {
    fn refuse(&mut self, config: &Config, name: &str, place: &[Step<'_>], error: OptionError) {
        if error.reported {
            return;
        }
        let place = place.iter().copied().chain(error.key.as_deref().map(Step::Key));
        self.problems.push(
            config
                .problem(place, format!("middleware `{name}`: {}", error.message))
                .help(error.help),
        );
    }
}

fn by_priority(registry: &Registry) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = registry.entries().iter().collect();
    entries.sort_by_key(|entry| (entry.priority(), entry.name()));
    entries
}
