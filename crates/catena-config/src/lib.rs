//! From one TOML file to agents: parse, check, build.
//!
//! [`Config::load`] reads a file and reports everything that is wrong with it at once, each problem with its line, its column, its key and,
//! where there is one, the nearest name. [`build`] makes an agent of it. Nothing is connected, opened or read from the environment before
//! that, so a file can be checked on a machine that has no keys.
//!
//! ```
//! use std::path::Path;
//! use catena_config::Config;
//!
//! let text = r#"
//! [models.default]
//! model = "ollama:qwen3:4b"
//! [agents.assistant]
//! prompt = "You help the people of this team."
//! "#;
//! let config = Config::parse(text, Path::new("catena.toml"))?;
//! assert_eq!(config.agent_name(None)?, "assistant");
//!
//! let errors = Config::parse("[agents.assistant]\nmodle = \"default\"", Path::new("catena.toml")).unwrap_err();
//! assert!(errors.to_string().contains("did you mean `model`?"));
//! # Ok::<(), catena_config::ConfigErrors>(())
//! ```

mod build;
mod check;
mod config;
mod environment;
mod nearest;
mod node;
mod origin;
mod problem;
mod registry;
mod schema;
mod secret;
mod shape;
mod source;

pub use build::{BuildError, Built, Setup, build, open_store};
pub use config::{AgentConfig, Compat, Config, MiddlewareConfig, ModelConfig, OutputConfig, StoreConfig, discover};
pub use environment::{Environment, environment};
pub use problem::{ConfigErrors, Problem};
pub use registry::{BuildContext, Entry, OptionError, Registry};
pub use schema::schema;
