//! What is known about a model before it is called.
//!
//! Facts come from rig's catalogue of models; what the operator wrote wins over it, and what neither knows stays unknown.

use catena_core::model::{ModelProfile, NativeOutput};
use rig_core::catalog::{Catalog, ModelSpec};
use rig_core::providers::registry::ProviderId;
use serde_json::Value;

use super::ProviderSpec;
use super::dialect::{Format, Known};

/// Native descriptors that Anthropic understands.
const ANTHROPIC_TOOLS: &[&str] = &[
    "bash_20250124",
    "code_execution_20250522",
    "code_execution_20250825",
    "computer_20250124",
    "memory_20250818",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
    "tool_search_tool_bm25_20251119",
    "tool_search_tool_regex_20251119",
    "web_fetch_20250910",
    "web_search_20250305",
];

/// Native descriptors that OpenAI's Responses understands and runs by itself.
const RESPONSES_TOOLS: &[&str] = &[
    "code_interpreter",
    "file_search",
    "image_generation",
    "mcp",
    "web_search",
    "web_search_preview",
];

/// The profile of a model.
pub(super) fn of(row: &'static Known, spec: &ProviderSpec, model: &str) -> ModelProfile {
    let listed = listed(row, model);
    let native_tools = match row.format {
        Format::Messages => ANTHROPIC_TOOLS,
        Format::Responses => RESPONSES_TOOLS,
        Format::Chat(_) | Format::Gemini | Format::Ollama => &[],
    };
    let images = listed.map_or(row.quirks.images, |known| known.input.image && row.quirks.images);
    ModelProfile {
        provider: row.name.to_owned(),
        context_window: spec
            .context_window
            .or_else(|| window(row, spec))
            .or(listed.and_then(|known| known.context_window).map(u64::from)),
        max_output: spec
            .max_output
            .or(listed.and_then(|known| known.max_output_tokens).map(u64::from)),
        structured_output: match row.quirks.schema && listed.is_none_or(|known| known.structured_output) {
            true => NativeOutput::Schema,
            false => NativeOutput::Tool,
        },
        images: spec.images.unwrap_or(images),
        files: match row.format {
            Format::Messages | Format::Gemini | Format::Responses => listed.is_none_or(|known| known.input.pdf),
            Format::Chat(_) => listed.is_some_and(|known| known.input.pdf),
            Format::Ollama => false,
        },
        tools: listed.is_none_or(|known| known.tools),
        native_tools: native_tools.iter().map(|name| (*name).to_owned()).collect(),
        reasoning_replay: row.quirks.replay,
    }
}

/// The catalogue's entry.
pub(super) fn listed(row: &Known, model: &str) -> Option<&'static ModelSpec> {
    Catalog::builtin().find(ProviderId::catalog(row.quirks.catalogue?)?, model)
}

/// Ollama's window is what it is told to load, whatever the model could do.
fn window(row: &Known, spec: &ProviderSpec) -> Option<u64> {
    if row.format != Format::Ollama {
        return None;
    }
    let options = spec.extra.get("options").and_then(|options| options.get("num_ctx"));
    options.or_else(|| spec.extra.get("num_ctx")).and_then(Value::as_u64)
}
