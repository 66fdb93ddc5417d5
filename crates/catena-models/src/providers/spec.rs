//! What a person writes about a model.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ProviderError;

/// A model as it stands in a configuration. [`connect`](super::connect) checks it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ProviderSpec {
    /// `provider:model`, such as `openai:gpt-5-mini` or `ollama:qwen3:4b`. Required.
    pub model: String,
    /// Where the provider is reached, as its documentation gives it (for OpenAI-compatible servers with `/v1`). Default: the provider's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key. Default: the provider's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Tokens that fit into one call. Default: what is known about the model; unknown otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Tokens it writes at most. Default: what is known about the model; unknown otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Whether it reads images. Default: what is known about the model; for an unknown one, whether the provider takes any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether a request may end with an assistant message that the model continues. Default: no; most providers refuse it.
    pub prefill: bool,
    /// Provider parameters without a name of their own, merged into every request's body. A call's own `extra` wins.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Value>,
    /// HTTP headers sent with every request, such as `anthropic-beta`. Not for keys: they would stand in the file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How long to wait.
    pub limits: TimeLimits,
}

impl ProviderSpec {
    /// A model with the provider's defaults.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            ..Self::default()
        }
    }

    /// With another address.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// With the key in another environment variable.
    #[must_use]
    pub fn api_key_env(mut self, variable: impl Into<String>) -> Self {
        self.api_key_env = Some(variable.into());
        self
    }

    /// With a window of this many tokens, whatever is known about the model.
    #[must_use]
    pub fn context_window(mut self, tokens: u64) -> Self {
        self.context_window = Some(tokens);
        self
    }

    /// With a parameter in every request's body.
    #[must_use]
    pub fn extra(mut self, name: impl Into<String>, value: Value) -> Self {
        self.extra.insert(name.into(), value);
        self
    }

    /// With a header on every request.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// With other time limits.
    #[must_use]
    pub fn limits(mut self, limits: TimeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The provider's name as written, and the model's.
    pub(super) fn parts(&self) -> Result<(&str, &str), ProviderError> {
        match self.model.split_once(':') {
            Some((provider, model)) if !provider.trim().is_empty() && !model.trim().is_empty() => {
                Ok((provider.trim(), model.trim()))
            }
            _ => Err(ProviderError::Name(self.model.clone())),
        }
    }
}

/// How long to wait for a provider, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TimeLimits {
    /// To open a connection. Default: [`TimeLimits::CONNECT`].
    pub connect_ms: u64,
    /// From the request to the head of the answer. Default: [`TimeLimits::FIRST_BYTE`].
    pub first_byte_ms: u64,
    /// Between two pieces of a streamed answer. Default: [`TimeLimits::IDLE`].
    pub idle_ms: u64,
}

impl TimeLimits {
    /// Ten seconds: a server that is up answers a handshake in one.
    pub const CONNECT: Duration = Duration::from_secs(10);
    /// Two minutes: a reasoning model behind a queue may be silent that long, a dead one is silent for ever.
    pub const FIRST_BYTE: Duration = Duration::from_secs(120);
    /// Two minutes, for the same reason; providers send comments or empty pieces in between.
    pub const IDLE: Duration = Duration::from_secs(120);

    /// Limits in place of the defaults.
    pub fn new(connect: Duration, first_byte: Duration, idle: Duration) -> Self {
        let millis = |limit: Duration| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        Self {
            connect_ms: millis(connect),
            first_byte_ms: millis(first_byte),
            idle_ms: millis(idle),
        }
    }

    pub(super) fn connect(self) -> Duration {
        Duration::from_millis(self.connect_ms)
    }

    pub(super) fn first_byte(self) -> Duration {
        Duration::from_millis(self.first_byte_ms)
    }

    pub(super) fn idle(self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self::new(Self::CONNECT, Self::FIRST_BYTE, Self::IDLE)
    }
}
