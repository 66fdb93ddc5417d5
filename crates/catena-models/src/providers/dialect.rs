//! The table of known providers: one row each.

use catena_core::model::ReasoningReplay;
use rig_core::providers::openai::wire as openai;
use rig_core::providers::xai;

use super::ProviderError;

/// A provider that is known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name in `provider:model`.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Where it is reached; absent if that must be said.
    pub base_url: Option<&'static str>,
    /// The environment variables that may hold its key, the first one that is set wins.
    pub keys: &'static [&'static str],
    /// Whether it can be reached without a key.
    pub key_optional: bool,
    pub(super) format: Format,
    pub(super) quirks: Quirks,
}

/// The wire format it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// OpenAI's chat completions, in rig's dialect of that vendor or in the plain one.
    Chat(Option<&'static openai::Dialect>),
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// Gemini's GenerateContent.
    Gemini,
    /// Ollama's own chat.
    Ollama,
}

/// How it differs from what most do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quirks {
    /// Which reasoning it wants back.
    pub(super) replay: ReasoningReplay,
    /// Takes a JSON Schema for its answer, beside tools too.
    pub(super) schema: bool,
    /// Reads images, unless the model is known not to.
    pub(super) images: bool,
    /// Can be told to call one named tool.
    pub(super) forces_one_tool: bool,
    /// Whose models the catalogue lists it under.
    pub(super) catalogue: Option<&'static str>,
}

const PLAIN: Quirks = Quirks {
    replay: ReasoningReplay::Never,
    schema: false,
    images: true,
    forces_one_tool: true,
    catalogue: None,
};
const TEXT: Quirks = Quirks {
    replay: ReasoningReplay::TextWithCalls,
    ..PLAIN
};
const SIGNED: Quirks = Quirks {
    replay: ReasoningReplay::Signed,
    ..PLAIN
};

const fn row(
    name: &'static str,
    base_url: &'static str,
    keys: &'static [&'static str],
    format: Format,
    quirks: Quirks,
) -> Known {
    Known {
        name,
        aliases: &[],
        base_url: Some(base_url),
        keys,
        key_optional: false,
        format,
        quirks,
    }
}

impl Known {
    const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn local(mut self) -> Self {
        self.key_optional = true;
        self
    }
}

const fn listed(catalogue: &'static str, quirks: Quirks) -> Quirks {
    Quirks {
        catalogue: Some(catalogue),
        ..quirks
    }
}

const DIALECT: Format = Format::Chat(None);

/// Every known provider; a new compatible one is one line here.
#[rustfmt::skip]
static TABLE: &[Known] = &[
    row("openai", "https://api.openai.com/v1", &["OPENAI_API_KEY"], Format::Chat(Some(&openai::OPENAI)), listed("openai", Quirks { schema: true, ..PLAIN })),
    row("openai-responses", "https://api.openai.com/v1", &["OPENAI_API_KEY"], Format::Responses, listed("openai", Quirks { schema: true, ..SIGNED })).or(&["responses"]),
    row("anthropic", "https://api.anthropic.com", &["ANTHROPIC_API_KEY"], Format::Messages, listed("anthropic", Quirks { schema: true, ..SIGNED })).or(&["claude"]),
    row("gemini", "https://generativelanguage.googleapis.com", &["GEMINI_API_KEY", "GOOGLE_API_KEY"], Format::Gemini, listed("gcp.gemini", SIGNED)).or(&["google"]),
    row("ollama", "http://localhost:11434", &["OLLAMA_API_KEY"], Format::Ollama, TEXT).local(),
    row("deepseek", "https://api.deepseek.com", &["DEEPSEEK_API_KEY"], Format::Chat(Some(&openai::DEEPSEEK)), listed("deepseek", Quirks { images: false, ..TEXT })),
    row("dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1", &["DASHSCOPE_API_KEY"], DIALECT, PLAIN).or(&["qwen", "aliyun"]),
    row("zhipu", "https://open.bigmodel.cn/api/paas/v4", &["ZHIPU_API_KEY", "ZHIPUAI_API_KEY"], Format::Chat(Some(&openai::ZAI)), listed("zai", PLAIN)).or(&["glm", "bigmodel"]),
    row("zai", "https://api.z.ai/api/paas/v4", &["ZAI_API_KEY"], Format::Chat(Some(&openai::ZAI)), listed("zai", PLAIN)),
    row("moonshot", "https://api.moonshot.ai/v1", &["MOONSHOT_API_KEY", "KIMI_API_KEY"], Format::Chat(Some(&openai::MOONSHOT)), listed("moonshot", Quirks { forces_one_tool: false, ..TEXT })).or(&["kimi"]),
    row("moonshot-cn", "https://api.moonshot.cn/v1", &["MOONSHOT_API_KEY", "KIMI_API_KEY"], Format::Chat(Some(&openai::MOONSHOT)), listed("moonshot", Quirks { forces_one_tool: false, ..TEXT })).or(&["kimi-cn"]),
    row("minimax", "https://api.minimax.io/v1", &["MINIMAX_API_KEY"], Format::Chat(Some(&openai::MINIMAX)), listed("minimax", PLAIN)),
    row("siliconflow", "https://api.siliconflow.cn/v1", &["SILICONFLOW_API_KEY"], DIALECT, PLAIN),
    row("volcengine", "https://ark.cn-beijing.volces.com/api/v3", &["ARK_API_KEY"], DIALECT, PLAIN).or(&["ark", "doubao"]),
    row("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"], Format::Chat(Some(&openai::OPENROUTER)), listed("openrouter", SIGNED)),
    row("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"], Format::Chat(Some(&openai::GROQ)), listed("groq", PLAIN)),
    row("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"], Format::Chat(Some(&openai::MISTRAL)), listed("mistral", PLAIN)),
    row("xai", "https://api.x.ai/v1", &["XAI_API_KEY"], Format::Chat(Some(&xai::DIALECT)), listed("xai", PLAIN)).or(&["grok"]),
    row("together", "https://api.together.xyz/v1", &["TOGETHER_API_KEY"], Format::Chat(Some(&openai::TOGETHER)), listed("together", PLAIN)).or(&["togetherai"]),
    row("fireworks", "https://api.fireworks.ai/inference/v1", &["FIREWORKS_API_KEY"], DIALECT, PLAIN),
    row("cerebras", "https://api.cerebras.ai/v1", &["CEREBRAS_API_KEY"], DIALECT, PLAIN),
    row("vllm", "http://localhost:8000/v1", &["VLLM_API_KEY"], DIALECT, PLAIN).local(),
    row("llamacpp", "http://localhost:8080/v1", &["LLAMACPP_API_KEY"], Format::Chat(Some(&openai::LLAMACPP)), Quirks { forces_one_tool: false, ..PLAIN }).local().or(&["llama.cpp", "llama-server"]),
    row("lmstudio", "http://localhost:1234/v1", &["LMSTUDIO_API_KEY"], DIALECT, PLAIN).local().or(&["lm-studio"]),
    Known { name: "compatible", aliases: &["openai-compatible"], base_url: None, keys: &[], key_optional: true, format: DIALECT, quirks: PLAIN },
];

/// Every provider that is known by name.
pub fn known() -> &'static [Known] {
    TABLE
}

/// The provider of that name or alias.
pub(super) fn find(name: &str) -> Result<&'static Known, ProviderError> {
    let lower = name.to_ascii_lowercase();
    if let Some(row) = TABLE
        .iter()
        .find(|row| row.name == lower || row.aliases.contains(&&*lower))
    {
        return Ok(row);
    }
    // Below this a suggestion is more confusing than none.
    const SIMILAR: f64 = 0.75;
    let names = || {
        TABLE
            .iter()
            .flat_map(|row| std::iter::once(&row.name).chain(row.aliases))
    };
    let suggestion = names()
        .map(|known| (strsim::jaro_winkler(&lower, known), *known))
        .filter(|(score, _)| *score >= SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known);
    Err(ProviderError::Unknown {
        provider: name.to_owned(),
        suggestion,
        known: TABLE.iter().map(|row| row.name).collect(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_name_or_alias_is_used_twice() {
        let mut seen = BTreeSet::new();
        for row in TABLE {
            for name in std::iter::once(&row.name).chain(row.aliases) {
                assert!(seen.insert(*name), "{name}");
                assert_eq!(find(name).unwrap().name, row.name);
            }
        }
    }

    #[test]
    fn every_row_but_the_generic_one_can_be_reached_as_it_stands() {
        for row in TABLE.iter().filter(|row| row.name != "compatible") {
            assert!(row.base_url.is_some(), "{}", row.name);
            assert!(!row.keys.is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn a_misspelt_provider_is_answered_with_the_nearest_and_with_all() {
        let text = find("antropic").unwrap_err().to_string();
        assert!(text.contains("did you mean `anthropic`?"), "{text}");
        assert!(text.contains("lmstudio"), "{text}");
        assert!(!find("zzz").unwrap_err().to_string().contains("did you mean"));
    }
}
