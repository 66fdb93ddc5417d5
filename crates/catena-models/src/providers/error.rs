//! What can be wrong with a model's specification.

/// A model cannot be connected as it is specified. Keys never appear in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The name has no provider.
    #[error("model `{0}` must be named `provider:model`, such as `openai:gpt-5-mini`")]
    Name(String),
    /// There is no such provider.
    #[error(
        "there is no provider `{provider}`{}; known are {}",
        suggestion.map(|s| format!("; did you mean `{s}`?")).unwrap_or_default(),
        known.join(", ")
    )]
    Unknown {
        /// The name asked for.
        provider: String,
        /// The nearest name that exists.
        suggestion: Option<&'static str>,
        /// All names, without aliases.
        known: Vec<&'static str>,
    },
    /// The provider needs a key and none is set.
    #[error("provider `{provider}` needs a key: set the environment variable {}", variables.join(" or "))]
    MissingKey {
        /// The provider.
        provider: &'static str,
        /// The variables that were looked at, in this order.
        variables: Vec<String>,
    },
    /// The provider has no address of its own.
    #[error("provider `{0}` has no default address: set `base_url`")]
    MissingBaseUrl(&'static str),
    /// The address is none.
    #[error("`base_url` of model `{model}` is not usable: {reason}")]
    BaseUrl {
        /// The model.
        model: String,
        /// What is wrong with it; the address itself may hold a secret and is not repeated.
        reason: String,
    },
    /// A header cannot be sent.
    #[error("header `{name}` of model `{model}` is not a valid HTTP header")]
    Header {
        /// The model.
        model: String,
        /// The header's name.
        name: String,
    },
    /// The HTTP client cannot be built on this machine.
    #[error("the HTTP client cannot be built")]
    Client(#[source] rig_reqwest::reqwest::Error),
}

impl ProviderError {
    /// A stable, snake_case word for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Name(_) | Self::BaseUrl { .. } | Self::MissingBaseUrl(_) | Self::Header { .. } => "config",
            Self::Unknown { .. } => "unknown_name",
            Self::MissingKey { .. } => "missing_key",
            Self::Client(_) => "http_client",
        }
    }
}
