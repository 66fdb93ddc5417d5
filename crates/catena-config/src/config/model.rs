//! `[models.NAME]`

use std::collections::BTreeMap;

use catena_core::model::ModelSettings;
use catena_models::providers::{ProviderSpec, TimeLimits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A model: who provides it, how it is reached, how it is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("required" = ["model"]))]
#[non_exhaustive]
pub struct ModelConfig {
    /// `provider:model`, such as `openai:gpt-5-mini` or `ollama:qwen3:4b`. Required.
    pub model: String,
    /// Where the provider is reached, as its documentation gives it (for OpenAI-compatible servers with `/v1`). Default: the provider's own
    /// address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key, never the key itself. Default: the provider's own, such as `OPENAI_API_KEY`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Tokens that fit into one call, input and output together. Default: what is known about the model; unknown otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub context_window: Option<u64>,
    /// Tokens it can write at most. Default: what is known about the model; unknown otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_output: Option<u64>,
    /// Whether it reads images. Default: what is known about the model; for an unknown one, whether its provider takes any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether a request may end with an assistant message that the model continues. Default: no; most providers refuse it.
    pub prefill: bool,
    /// Randomness of its answers, usually from 0 to 2. Default: the provider's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub temperature: Option<f64>,
    /// Tokens of one answer at most. Default: the provider's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Provider parameters without a key of their own here, merged into the body of every request. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Value>,
    /// HTTP headers sent with every request, such as `anthropic-beta`. Not for keys: those come from the environment. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How long to wait for the provider.
    pub limits: TimeLimits,
}

impl ModelConfig {
    /// A model with its provider's defaults.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            ..Self::default()
        }
    }

    /// What is needed to connect it.
    pub fn spec(&self) -> ProviderSpec {
        let mut spec = ProviderSpec::new(&self.model).limits(self.limits);
        spec.base_url.clone_from(&self.base_url);
        spec.api_key_env.clone_from(&self.api_key_env);
        spec.context_window = self.context_window;
        spec.max_output = self.max_output;
        spec.images = self.images;
        spec.prefill = self.prefill;
        spec.extra.clone_from(&self.extra);
        spec.headers.clone_from(&self.headers);
        spec
    }

    /// What every call starts from.
    pub fn settings(&self) -> ModelSettings {
        let mut settings = ModelSettings::default();
        settings.temperature = self.temperature;
        settings.max_tokens = self.max_tokens;
        settings
    }
}
