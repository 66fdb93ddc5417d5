//! Which model answers.
//!
//! What was typed wins, then what is configured. Where neither names a model: a provider whose key is in the environment; a local model that
//! is provisioned already; otherwise the scripted tour model, which says what it is. Standard error tells which one it is and why.

use std::sync::Arc;

use catena_config::{Config, ModelConfig, Setup};
use catena_models::local::LocalServer;
use catena_models::providers;

use super::{local, tour_model};
use crate::app::App;
use crate::args::Choice;
use crate::environment::Environment;
use crate::error::Result;

/// The name under which a model that was not configured stands beside those that were.
const CHOSEN: &str = "chosen-at-the-command-line";

/// A small, quick model of each provider whose key may be there, in the order in which they are looked for.
const SMALL: [(&str, &str); 12] = [
    ("openai", "gpt-5-mini"),
    ("anthropic", "claude-haiku-4-5"),
    ("gemini", "gemini-2.5-flash"),
    ("deepseek", "deepseek-v4-flash"),
    ("mistral", "mistral-small-latest"),
    ("dashscope", "qwen-plus"),
    ("zhipu", "glm-4.5-air"),
    ("zai", "glm-4.5-air"),
    ("moonshot", "kimi-k2.6"),
    ("groq", "openai/gpt-oss-20b"),
    ("xai", "grok-4.5"),
    ("openrouter", "openai/gpt-5-mini"),
];

/// A model that was chosen beside the configuration.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// Its server, if this process started one.
    pub(crate) server: Option<LocalServer>,
}

/// Where the model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was typed.
    Typed(String),
    /// The local one was asked for.
    Local,
    /// The configuration names one.
    Configured,
    /// A key is in the environment.
    Key {
        /// `provider:model`.
        model: String,
        /// The variable.
        variable: &'static str,
    },
    /// Nothing says.
    Unsaid,
}

/// Decides where the model of an agent comes from; touches nothing.
pub(crate) fn origin(choice: &Choice, config: &Config, agent: &str, environment: &Environment) -> Origin {
    if let Some(model) = &choice.model {
        return Origin::Typed(model.clone());
    }
    if choice.local || choice.gguf.is_some() {
        return Origin::Local;
    }
    let named = config.agents.get(agent).is_some_and(|agent| agent.model.is_some());
    if named || !config.models.is_empty() {
        return Origin::Configured;
    }
    match key(environment) {
        Some((model, variable)) => Origin::Key { model, variable },
        None => Origin::Unsaid,
    }
}

/// The first provider whose key is there.
fn key(environment: &Environment) -> Option<(String, &'static str)> {
    SMALL.iter().find_map(|(provider, model)| {
        let row = providers::known().iter().find(|row| row.name == *provider)?;
        let variable = row.keys.iter().find(|variable| environment.is_filled(variable))?;
        Some((format!("{provider}:{model}"), *variable))
    })
}

/// Chooses the model of an agent and puts it where the configuration or the setup will be read.
///
/// # Errors
/// If the local model is asked for and cannot be provisioned or started.
pub(crate) async fn choose(
    app: &App,
    choice: &Choice,
    config: &mut Config,
    agent: &str,
    setup: &mut Setup,
) -> Result<Chosen> {
    let output = &app.output;
    match origin(choice, config, agent, &app.environment) {
        Origin::Configured => {}
        Origin::Typed(model) => {
            if let Some(entry) = typed(config, agent, model, choice.base_url.clone()) {
                // What is wrong with it is told as what it is: something typed, not something in a file.
                providers::connect(&entry.spec(), &**app.environment.reader())?;
                put(config, agent, entry);
            }
        }
        Origin::Key { model, variable } => {
            output.hint(&format!(
                "using {model}, because {variable} is set; choose another with `--model provider:model`"
            ));
            put(config, agent, ModelConfig::new(model));
        }
        Origin::Local => {
            let started = local::provisioned(app, choice.gguf.as_deref()).await?;
            return Ok(use_local(app, config, agent, started));
        }
        Origin::Unsaid => match local::if_provisioned(app).await {
            Some(started) => return Ok(use_local(app, config, agent, started)),
            None => {
                output.prose(tour_model::ANNOUNCEMENT);
                output.hint(tour_model::HINT);
                setup.default_model = Some(Arc::new(tour_model::TourModel::new()));
            }
        },
    }
    Ok(Chosen::default())
}

/// A model of its own; none if the name is one of the configuration's, which then is the agent's.
fn typed(config: &mut Config, agent: &str, model: String, base_url: Option<String>) -> Option<ModelConfig> {
    if base_url.is_none() && config.models.contains_key(&model) {
        config.agents.get_mut(agent)?.model = Some(model);
        return None;
    }
    // With an address of its own, a model needs no known provider.
    let full = if base_url.is_some() && !model.contains(':') {
        format!("compatible:{model}")
    } else {
        model
    };
    let mut entry = ModelConfig::new(full);
    entry.base_url = base_url;
    Some(entry)
}

fn use_local(app: &App, config: &mut Config, agent: &str, started: local::Started) -> Chosen {
    let local::Started {
        base_url,
        model,
        very_small,
        server,
    } = started;
    let mut entry = ModelConfig::new(format!("llamacpp:{model}"));
    entry.base_url = Some(base_url);
    if very_small {
        app.output.hint(local::VERY_SMALL);
        // It repeats itself if nobody stops it, and is at its best where it does not guess.
        entry.max_tokens = Some(local::MAX_TOKENS);
        entry.temperature = Some(0.0);
    }
    entry.context_window = Some(local::CONTEXT.into());
    put(config, agent, entry);
    Chosen { server }
}

fn put(config: &mut Config, agent: &str, entry: ModelConfig) {
    config.models.insert(CHOSEN.to_owned(), entry);
    if let Some(agent) = config.agents.get_mut(agent) {
        agent.model = Some(CHOSEN.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(choice: &Choice, config: &Config, variables: &[(&str, &str)]) -> Origin {
        origin(choice, config, "assistant", &Environment::fixed(variables))
    }

    #[test]
    fn what_is_typed_wins_over_what_is_configured_and_that_over_keys() {
        let mut configured = Config::sensible();
        configured
            .models
            .insert("default".into(), ModelConfig::new("ollama:qwen3:4b"));
        let key = [("OPENAI_API_KEY", "sk")];
        let typed = Choice {
            model: Some("groq:x".into()),
            ..Choice::default()
        };
        assert_eq!(of(&typed, &configured, &key), Origin::Typed("groq:x".into()));
        assert_eq!(
            of(
                &Choice {
                    local: true,
                    ..Choice::default()
                },
                &configured,
                &key
            ),
            Origin::Local
        );
        assert_eq!(of(&Choice::default(), &configured, &key), Origin::Configured);
        let model = "openai:gpt-5-mini".to_owned();
        assert_eq!(
            of(&Choice::default(), &Config::sensible(), &key),
            Origin::Key {
                model,
                variable: "OPENAI_API_KEY"
            }
        );
        assert_eq!(
            of(&Choice::default(), &Config::sensible(), &[("OPENAI_API_KEY", " ")]),
            Origin::Unsaid
        );
    }

    #[test]
    fn the_second_name_of_a_key_counts_too() {
        let found = of(&Choice::default(), &Config::sensible(), &[("GOOGLE_API_KEY", "k")]);
        assert_eq!(
            found,
            Origin::Key {
                model: "gemini:gemini-2.5-flash".into(),
                variable: "GOOGLE_API_KEY"
            }
        );
    }

    #[test]
    fn every_small_model_belongs_to_a_known_provider() {
        for (provider, _) in SMALL {
            assert!(
                providers::known()
                    .iter()
                    .any(|row| row.name == provider && !row.keys.is_empty()),
                "{provider}"
            );
        }
    }

    #[test]
    fn a_bare_model_name_with_an_address_needs_no_provider() {
        let mut config = Config::sensible();
        let url = Some("http://127.0.0.1:1/v1".to_owned());
        let entry = typed(&mut config, "assistant", "my-model".into(), url);
        assert_eq!(entry.map(|entry| entry.model).as_deref(), Some("compatible:my-model"));
    }

    #[test]
    fn a_typed_name_may_be_one_of_the_configuration() {
        let mut config = Config::sensible();
        config.models.insert("fast".into(), ModelConfig::new("ollama:qwen3:4b"));
        assert!(typed(&mut config, "assistant", "fast".into(), None).is_none());
        assert_eq!(config.agents["assistant"].model.as_deref(), Some("fast"));
    }
}
