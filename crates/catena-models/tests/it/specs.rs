//! Specifications: names, keys, addresses.

use catena_core::model::{NativeOutput, ReasoningReplay};
use catena_models::providers::{ProviderSpec, connect, known};

use crate::support::KEY;

fn error(spec: ProviderSpec, env: &dyn Fn(&str) -> Option<String>) -> String {
    connect(&spec, env).map(|_| ()).unwrap_err().to_string()
}

fn any(_: &str) -> Option<String> {
    Some(KEY.to_owned())
}

#[test]
fn aliases_are_another_name_for_the_same_provider() {
    for (alias, name) in [
        ("qwen", "dashscope"),
        ("glm", "zhipu"),
        ("kimi", "moonshot"),
        ("google", "gemini"),
        ("OpenAI", "openai"),
    ] {
        let model = connect(&ProviderSpec::new(format!("{alias}:m")), &any).unwrap();
        assert_eq!(model.name(), format!("{name}:m"));
        assert_eq!(model.profile().provider, name);
    }
}

#[test]
fn a_model_may_have_colons_in_its_name() {
    assert_eq!(
        connect(&ProviderSpec::new("ollama:qwen3:4b"), &any).unwrap().name(),
        "ollama:qwen3:4b"
    );
}

#[test]
fn every_known_provider_connects() {
    for provider in known().iter().filter(|provider| provider.base_url.is_some()) {
        connect(&ProviderSpec::new(format!("{}:m", provider.name)), &any).unwrap();
    }
}

#[test]
fn what_is_missing_is_named() {
    let none = |_: &str| None;
    assert!(error(ProviderSpec::new("gpt-5"), &any).contains("provider:model"));
    assert!(error(ProviderSpec::new("openai:"), &any).contains("provider:model"));
    assert!(error(ProviderSpec::new("opnai:gpt-5"), &any).contains("did you mean `openai`?"));
    assert!(error(ProviderSpec::new("openai:m"), &none).contains("OPENAI_API_KEY"));
    assert!(error(ProviderSpec::new("gemini:m"), &none).contains("GEMINI_API_KEY or GOOGLE_API_KEY"));
    assert!(error(ProviderSpec::new("openai:m").api_key_env("MY_KEY"), &none).contains("MY_KEY"));
    assert!(error(ProviderSpec::new("vllm:m").api_key_env("MY_KEY"), &none).contains("MY_KEY"));
    assert!(error(ProviderSpec::new("compatible:m"), &any).contains("base_url"));
    let blank = |_: &str| Some("  ".to_owned());
    assert!(error(ProviderSpec::new("openai:m"), &blank).contains("OPENAI_API_KEY"));
}

#[test]
fn local_servers_need_no_key() {
    for name in ["ollama:m", "vllm:m", "llamacpp:m", "lmstudio:m"] {
        connect(&ProviderSpec::new(name), &|_| None).unwrap();
    }
}

#[test]
fn addresses_that_cannot_work_are_refused_without_being_repeated() {
    for url in [
        "localhost:8000",
        "ftp://example.org",
        "https://user:secret@example.org",
        "https://example.org?key=secret",
        "",
        "http://",
    ] {
        let text = error(ProviderSpec::new("openai:m").base_url(url), &any);
        assert!(text.contains("base_url"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn a_key_is_in_no_error() {
    let text = error(ProviderSpec::new("openai:m").header("x y", "z"), &any);
    assert!(text.contains("`x y`") && !text.contains(KEY), "{text}");
}

#[test]
fn the_operators_number_wins_and_the_unknown_stays_unknown() {
    let profile = |spec: ProviderSpec| connect(&spec, &any).unwrap().profile().clone();
    let listed = profile(ProviderSpec::new("anthropic:claude-haiku-4-5"));
    assert_eq!(listed.context_window, Some(200_000));
    assert!(listed.max_output.is_some() && listed.images && listed.files && listed.tools);
    assert_eq!(listed.reasoning_replay, ReasoningReplay::Signed);
    assert!(listed.native_tools.iter().any(|tool| tool == "bash_20250124"));
    assert_eq!(
        profile(ProviderSpec::new("anthropic:claude-haiku-4-5").context_window(8_192)).context_window,
        Some(8_192)
    );
    let unknown = profile(ProviderSpec::new("dashscope:qwen-max"));
    assert_eq!((unknown.context_window, unknown.max_output), (None, None));
    assert_eq!(unknown.structured_output, NativeOutput::Tool);
}

#[test]
fn ollamas_window_is_what_it_is_told_to_load() {
    let window = |spec: ProviderSpec| connect(&spec, &any).unwrap().profile().context_window;
    assert_eq!(window(ProviderSpec::new("ollama:qwen3:4b")), None);
    assert_eq!(
        window(ProviderSpec::new("ollama:qwen3:4b").extra("num_ctx", 16_384.into())),
        Some(16_384)
    );
}

#[test]
fn a_specification_is_read_from_a_file_and_knows_its_keys() {
    let spec: ProviderSpec = serde_json::from_value(serde_json::json!({
        "model": "openai:m", "base_url": "https://example.org/v1", "context_window": 1000, "extra": {"seed": 1}, "limits": {"idle_ms": 5},
    }))
    .unwrap();
    assert_eq!(
        (spec.context_window, spec.limits.idle_ms, spec.limits.connect_ms),
        (Some(1000), 5, 10_000)
    );
    assert!(serde_json::from_value::<ProviderSpec>(serde_json::json!({"model": "openai:m", "base_uri": "x"})).is_err());
}
