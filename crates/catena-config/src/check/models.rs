//! Whether the models are models.

use catena_models::providers::{Known, known};

use super::Check;
use super::names::has;
use crate::config::{ModelChoice, ModelConfig};
use crate::nearest::nearest;
use crate::node::Step;

impl Check<'_> {
    pub(super) fn models(&mut self) {
        for (name, model) in &self.config.models {
            let place = ["models".into(), name.into()];
            let key = |key: &'static str| [place[0], place[1], Step::Key(key)];
            // An empty one is missing, which the shape has said.
            if !model.model.is_empty() {
                self.provider(&model.model, model, &key("model"));
            }
            if let Some(variable) = model.api_key_env.as_ref().filter(|name| !is_variable(name)) {
                let message = format!("`{variable}` is not the name of an environment variable");
                let help = "write the name of the variable that holds the key, such as `OPENAI_API_KEY`, not the key";
                self.problems
                    .push(self.config.problem(key("api_key_env"), message).help(help.to_owned()));
            }
        }
    }

    /// Checks `provider:model`, wherever it stands.
    fn provider(&mut self, name: &str, model: &ModelConfig, place: &[Step<'_>]) {
        let problem = |message: String| self.config.problem(place.iter().copied(), message);
        let found = match name.split_once(':') {
            Some((provider, rest)) if !provider.trim().is_empty() && !rest.trim().is_empty() => find(provider.trim()),
            _ => {
                let message = format!("`{name}` does not say who provides the model");
                let help = "write `provider:model`, such as `openai:gpt-5-mini` or `ollama:qwen3:4b`".to_owned();
                return self.problems.push(problem(message).help(help));
            }
        };
        match found {
            Err(unknown) => self.problems.push(problem(unknown.0).help(unknown.1)),
            Ok(row) if row.base_url.is_none() && model.base_url.is_none() => {
                let message = format!("provider `{}` has no address of its own", row.name);
                let help = "write `base_url`, with `/v1` where the server's documentation has it".to_owned();
                self.problems.push(problem(message).help(help));
            }
            Ok(_) => {}
        }
    }

    /// Checks which model an agent has.
    pub(super) fn model_of(&mut self, agent: &str) {
        let place = ["agents".into(), agent.into()];
        let key = [place[0], place[1], Step::Key("model")];
        match self.config.model_choice(agent) {
            ModelChoice::Named(_) | ModelChoice::Program => {}
            ModelChoice::Direct(name) => self.provider(name, &ModelConfig::default(), &key),
            ModelChoice::Unknown(name) if has(&self.names.models, name) => {}
            ModelChoice::Unknown(name) => {
                let models = self.names.models.iter().map(String::as_str);
                let help = match nearest(name, models) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("add `[models.{name}]`, or write `provider:model`"),
                };
                self.problems.push(
                    self.config
                        .problem(key, format!("there is no model `{name}`"))
                        .help(help),
                );
            }
            ModelChoice::Several if self.names.models.len() > self.config.models.len() => {}
            ModelChoice::Several => {
                let message = format!("agent `{agent}` does not say which model it has, and there are several");
                let names: Vec<String> = self.names.models.iter().map(|name| format!("`{name}`")).collect();
                let help = format!(
                    "write `model`, one of {}; or name one of the models `default`",
                    names.join(", ")
                );
                self.problems.push(self.config.problem(place, message).help(help));
            }
        }
    }
}

/// The provider of that name, or what is wrong and what to do.
fn find(name: &str) -> Result<&'static Known, (String, String)> {
    let lower = name.to_ascii_lowercase();
    let names = |row: &'static Known| std::iter::once(row.name).chain(row.aliases.iter().copied());
    known().iter().find(|row| names(row).any(|known| known == lower)).ok_or_else(|| {
        let help = match nearest(name, known().iter().flat_map(names)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let all: Vec<&str> = known().iter().map(|row| row.name).collect();
                format!("use `compatible:MODEL` and `base_url` for any server that speaks OpenAI's format; known are {}", all.join(", "))
            }
        };
        (format!("there is no provider `{name}`"), help)
    })
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
