//! Hosted and self-hosted models, by `provider:model` names.
//!
//! [`connect`] turns a [`ProviderSpec`] into a [`Model`](catena_core::model::Model). The wire formats are rig-core's, which nothing outside
//! this module sees: messages, deltas and errors are catena's own, because they are stored and rig's change. What rig leaves open is closed
//! here: server-sent events are re-framed before it reads them, errors are sorted by what they say and not only by their status, and blocks
//! that only one provider understands are kept so that they can be sent back to it.
//!
//! ```
//! use catena_models::providers::{ProviderSpec, connect};
//! use catena_core::model::Model;
//!
//! let model = connect(&ProviderSpec::new("openai:gpt-5-mini"), &|name| (name == "OPENAI_API_KEY").then(|| "sk-test".to_owned()))?;
//! assert_eq!(model.name(), "openai:gpt-5-mini");
//!
//! let error = connect(&ProviderSpec::new("openai:gpt-5-mini"), &|_| None).map(|_| ()).unwrap_err();
//! assert!(error.to_string().contains("OPENAI_API_KEY"));
//! # Ok::<(), catena_models::providers::ProviderError>(())
//! ```
//!
//! Known providers are rows of one table ([`known`]). Any other server that speaks OpenAI's chat format is `compatible:MODEL` with a
//! `base_url`.

mod connect;
mod decode;
mod dialect;
mod encode;
mod error;
mod failure;
mod http;
mod model;
mod native;
mod profile;
mod spec;
mod wire;

pub use connect::connect;
pub use dialect::{Known, known};
pub use error::ProviderError;
pub use spec::{ProviderSpec, TimeLimits};
