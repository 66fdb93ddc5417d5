//! The models of a configuration, connected when something asks for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use catena_core::chain_text;
use catena_core::model::Model;
use catena_models::providers::{ProviderError, connect};

use super::Setup;
use super::settings::with_settings;
use crate::config::{Config, ModelChoice, ModelConfig};
use crate::nearest::instead;
use crate::node::Step;
use crate::problem::Problem;
use crate::registry::OptionError;

/// Connects each model once. One that nothing asks for needs no key.
pub(crate) struct Models {
    config: Config,
    setup: Setup,
    /// `None` for one that cannot be connected, which is among the problems.
    connected: BTreeMap<String, Option<Arc<dyn Model>>>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<String>,
}

impl Models {
    pub(super) fn new(config: Config, setup: Setup) -> Self {
        Self {
            config,
            setup,
            connected: BTreeMap::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The model of an agent. What is wrong is among the problems.
    pub(super) fn of_agent(&mut self, agent: &str) -> Option<Arc<dyn Model>> {
        let config = self.config.clone();
        let place = ["agents".into(), agent.into(), "model".into()];
        match config.model_choice(agent) {
            ModelChoice::Named(name) => self.named(name),
            ModelChoice::Direct(name) => self.connect(name, &ModelConfig::new(name), &place),
            ModelChoice::Program => {
                let model = self.setup.default_model.clone();
                if model.is_none() {
                    let problem = config.problem([place[0], place[1]], format!("agent `{agent}` has no model"));
                    let help = "write `model = \"provider:model\"`, such as `openai:gpt-5-mini` or `ollama:qwen3:4b`";
                    self.problems.push(problem.help(help.to_owned()));
                }
                model
            }
            // A configuration that was read from a file has neither.
            ModelChoice::Unknown(name) => {
                let names = config.models.keys().map(String::as_str);
                let problem = config.problem(place, format!("there is no model `{name}`"));
                self.problems.push(problem.help(instead(name, names)));
                None
            }
            ModelChoice::Several => {
                let message = format!("agent `{agent}` does not say which of several models it has");
                self.problems.push(config.problem([place[0], place[1]], message));
                None
            }
        }
    }

    /// A model that a middleware names.
    pub(crate) fn by_name(&mut self, name: &str) -> Result<Arc<dyn Model>, OptionError> {
        if let Some(model) = self.connected.get(name).cloned().flatten() {
            return Ok(model);
        }
        if self.config.models.contains_key(name) {
            let reported = || OptionError {
                reported: true,
                ..OptionError::new(format!("model `{name}` cannot be connected"))
            };
            return self.named(name).ok_or_else(reported);
        }
        let unknown = OptionError::new(format!("there is no model `{name}`"));
        if !name.contains(':') {
            let help = instead(name, self.config.models.keys().map(String::as_str));
            return Err(OptionError { help, ..unknown });
        }
        // The middleware's own entry is the place to show what is wrong with it.
        match connect(&ModelConfig::new(name).spec(), &*self.setup.env) {
            Ok(model) => {
                self.connected.insert(name.to_owned(), Some(model.clone()));
                Ok(model)
            }
            Err(error) => Err(OptionError::new(chain_text(&error))),
        }
    }

    fn named(&mut self, name: &str) -> Option<Arc<dyn Model>> {
        if let Some(known) = self.connected.get(name) {
            return known.clone();
        }
        let model = self.config.models.get(name)?.clone();
        let connected = self.connect(name, &model, &["models".into(), name.into()]);
        self.connected.insert(name.to_owned(), connected.clone());
        connected
    }

    fn connect(&mut self, name: &str, model: &ModelConfig, place: &[Step<'_>]) -> Option<Arc<dyn Model>> {
        match connect(&model.spec(), &*self.setup.env) {
            Ok(connected) => {
                self.warn(name, model);
                Some(with_settings(connected, model.settings()))
            }
            Err(error) => {
                let key = key_of(&error, model).filter(|_| place.len() == 2);
                let place = place.iter().copied().chain(key.map(Step::Key));
                let problem = self.config.problem(place, chain_text(&error));
                self.problems.push(problem.help(help(&error)));
                None
            }
        }
    }

    /// A key that is sent in the clear can be read on its way.
    fn warn(&mut self, name: &str, model: &ModelConfig) {
        let Some(rest) = model
            .base_url
            .as_deref()
            .and_then(|url| url.trim().strip_prefix("http://"))
        else {
            return;
        };
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host
            .rsplit_once(':')
            .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
            .map_or(host, |(host, _)| host);
        let loopback = host == "localhost" || host == "[::1]" || host.starts_with("127.");
        if !loopback && model.api_key_env.is_some() {
            self.warnings.push(format!(
                "the key of model `{name}` is sent to `{host}` without encryption; use `https://`"
            ));
        }
    }
}

/// The key of a model that an error is about.
fn key_of(error: &ProviderError, model: &ModelConfig) -> Option<&'static str> {
    match error {
        ProviderError::MissingKey { .. } if model.api_key_env.is_some() => Some("api_key_env"),
        ProviderError::BaseUrl { .. } => Some("base_url"),
        ProviderError::Header { .. } => Some("headers"),
        ProviderError::Client(_) => None,
        _ => Some("model"),
    }
}

fn help(error: &ProviderError) -> Option<String> {
    match error {
        ProviderError::MissingKey { variables, .. } => {
            let variable = variables.first()?;
            Some(format!(
                "run `export {variable}=…` before catena, or name another variable with `api_key_env`"
            ))
        }
        _ => None,
    }
}
