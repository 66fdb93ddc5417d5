//! One of rig's wires, behind one type.

mod faithful;

use catena_core::model::ModelError;
use rig_core::completion::{CompletionRequest, ReplayTarget};
use rig_core::driver;
use rig_core::message::Origin;
use rig_core::operation::Completion;
use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::anthropic::wire::{Messages, ToolInputStreaming};
use rig_core::providers::gemini::GeminiConfig;
use rig_core::providers::gemini::completion::GenerateContent;
use rig_core::providers::ollama::{self, OllamaConfig};
use rig_core::providers::openai::responses_api::wire::Responses;
use rig_core::providers::openai::wire::{Auth, Chat, Dialect, OPENAI, OpenAIConfig};
use rig_core::streaming::Streamed;
use rig_core::wire::Secret;

use self::faithful::Faithful;
use super::dialect::{Format, Known};
use super::failure;
use super::http::Http;

/// Anthropic wants an output limit on every call. For models that the catalogue does not list this one is taken: all of them can do it.
const ANTHROPIC_MAX_TOKENS: u64 = 8_192;

#[derive(Clone)]
pub(super) enum Wire {
    Chat(Faithful<Chat>),
    Responses(Faithful<Responses>),
    Messages(Faithful<Messages>),
    Gemini(Faithful<GenerateContent>),
    Ollama(Faithful<ollama::Chat>),
}

impl Wire {
    pub(super) fn new(row: &'static Known, model: &str, base_url: &str, key: Secret, http: &Http) -> Self {
        match row.format {
            Format::Chat(dialect) => Self::Chat(Faithful(chat(row, dialect, base_url, key).chat(model))),
            Format::Responses => {
                let base = ends_without(base_url, "/responses");
                Self::Responses(Faithful(Responses::new(
                    OpenAIConfig::with_key(&OPENAI, key).with_base_url(base),
                    model,
                )))
            }
            Format::Messages => {
                let config = AnthropicConfig::new(key).with_base_url(base_url);
                let mut wire = config.connect(http.clone()).completion(model).wire;
                if wire.default_max_tokens.is_none() {
                    wire = wire.with_default_max_tokens(ANTHROPIC_MAX_TOKENS);
                }
                // A field that Anthropic knows and servers that imitate it may refuse.
                if Some(base_url.trim_end_matches('/')) != row.base_url {
                    wire = wire.with_tool_input_streaming(ToolInputStreaming::Off);
                }
                Self::Messages(Faithful(wire))
            }
            Format::Gemini => {
                let base = ends_without(base_url, "/v1beta");
                Self::Gemini(Faithful(
                    GeminiConfig::new(key)
                        .with_base_url(base)
                        .connect(http.clone())
                        .completion(model)
                        .wire,
                ))
            }
            Format::Ollama => {
                let base = ends_without(&ends_without(base_url, "/v1"), "/api");
                Self::Ollama(Faithful(ollama::Chat::new(
                    OllamaConfig::new().with_base_url(base).with_api_key(key),
                    model,
                )))
            }
        }
    }

    pub(super) fn target(&self) -> &dyn ReplayTarget {
        match self {
            Self::Chat(wire) => wire,
            Self::Responses(wire) => wire,
            Self::Messages(wire) => wire,
            Self::Gemini(wire) => wire,
            Self::Ollama(wire) => wire,
        }
    }

    /// Who this wire believes wrote a message that it may send back with all its blocks.
    pub(super) fn origin(&self) -> Origin {
        let target = self.target();
        Origin::new(target.api(), target.provider(), target.model())
    }

    /// Opens a stream. Nothing is sent until it is polled.
    pub(super) fn stream(
        &self,
        http: Http,
        request: CompletionRequest,
        key: &Secret,
    ) -> Result<Streamed<Completion>, ModelError> {
        let opened = match self {
            Self::Chat(wire) => driver::Model::new(wire.clone(), http).stream(request),
            Self::Responses(wire) => driver::Model::new(wire.clone(), http).stream(request),
            Self::Messages(wire) => driver::Model::new(wire.clone(), http).stream(request),
            Self::Gemini(wire) => driver::Model::new(wire.clone(), http).stream(request),
            Self::Ollama(wire) => driver::Model::new(wire.clone(), http).stream(request),
        };
        opened.map_err(|error| failure::model_error(&error, key))
    }
}

fn chat(row: &'static Known, known: Option<&'static Dialect>, base_url: &str, key: Secret) -> OpenAIConfig {
    let mut dialect = match known {
        Some(dialect) => *dialect,
        None => Dialect::gateway(row.name, "", ""),
    };
    // Some servers end with `[DONE]` and never give a reason.
    dialect.quirks.done_without_finish_reason = true;
    // Held back until a tool has answered, the schema would miss every answer that needs no tool.
    dialect.quirks.response_format_with_tools = true;
    let mut base = ends_without(base_url, "/chat/completions");
    if dialect.quirks.completion_path.starts_with("/v1/") {
        base = ends_without(&base, "/v1");
    }
    let mut config = OpenAIConfig::with_key(&dialect, key).with_base_url(base);
    if row.key_optional {
        config.auth = Auth::OptionalBearer;
    }
    config
}

/// An address without a path that people like to copy with it.
fn ends_without(base_url: &str, path: &str) -> String {
    let base = base_url.trim_end_matches('/');
    base.strip_suffix(path).unwrap_or(base).trim_end_matches('/').to_owned()
}
