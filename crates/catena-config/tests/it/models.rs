//! Models when an agent is built.

use catena_config::{Config, Setup, build};
use expect_test::{Expect, expect};

use crate::support::{parse, setup, setup_with};

async fn check(text: &str, agent: &str, setup: &Setup, expected: &Expect) {
    let said = match build(&parse(text).unwrap(), agent, setup).await {
        Ok(built) => format!(
            "model: {}\nwarnings: {}",
            built.agent.model().name(),
            built.warnings.join("; ")
        ),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&said);
}

const TWO: &str = r#"
[models.default]
model = "openai:gpt-5-mini"
[models.other]
model = "anthropic:claude-sonnet-4-5"
api_key_env = "TEAM_KEY"
[agents.a]
[agents.b]
model = "other"
[agents.c]
model = "deepseek:deepseek-chat"
[agents.all]
model = "other"
subagents = ["a", "c"]
"#;

#[tokio::test]
async fn a_missing_key_names_the_variable_and_how_to_set_it() {
    let here = tempfile::tempdir().unwrap();
    let (setup, _) = setup(here.path());
    check(
        TWO,
        "all",
        &setup,
        &expect![[r#"
        error: provider `openai` needs a key: set the environment variable OPENAI_API_KEY
         --> catena.toml:3:9
          |
        3 | model = "openai:gpt-5-mini"
          |         ^^^^^^^^^^^^^^^^^^^
          = key: models.default.model
          = help: run `export OPENAI_API_KEY=…` before catena, or name another variable with `api_key_env`

        error: provider `anthropic` needs a key: set the environment variable TEAM_KEY
         --> catena.toml:6:15
          |
        6 | api_key_env = "TEAM_KEY"
          |               ^^^^^^^^^^
          = key: models.other.api_key_env
          = help: run `export TEAM_KEY=…` before catena, or name another variable with `api_key_env`

        error: provider `deepseek` needs a key: set the environment variable DEEPSEEK_API_KEY
          --> catena.toml:11:9
           |
        11 | model = "deepseek:deepseek-chat"
           |         ^^^^^^^^^^^^^^^^^^^^^^^^
           = key: agents.c.model
           = help: run `export DEEPSEEK_API_KEY=…` before catena, or name another variable with `api_key_env`"#]],
    )
    .await;
    assert!(
        !here.path().join("catena.db").exists(),
        "nothing is made for an agent that cannot be built"
    );
}

#[tokio::test]
async fn a_model_that_nobody_asks_for_needs_no_key() {
    let here = tempfile::tempdir().unwrap();
    let (setup, _) = setup_with(here.path(), &[("OPENAI_API_KEY", "key-of-a-test")]);
    check(
        TWO,
        "a",
        &setup,
        &expect![[r#"
        model: openai:gpt-5-mini
        warnings: "#]],
    )
    .await;
}

#[tokio::test]
async fn what_only_the_provider_can_tell_is_shown_at_its_key() {
    let here = tempfile::tempdir().unwrap();
    let (setup, _) = setup(here.path());
    let text = "[models.m]\nmodel = \"ollama:x\"\nbase_url = \"localhost:1\"\n[agents.a]";
    check(
        text,
        "a",
        &setup,
        &expect![[r#"
        error: `base_url` of model `ollama:x` is not usable: it must begin with `http://` or `https://` and name a host
         --> catena.toml:3:12
          |
        3 | base_url = "localhost:1"
          |            ^^^^^^^^^^^^^
          = key: models.m.base_url"#]],
    )
    .await;
    let text = "[models.m]\nmodel = \"ollama:x\"\nheaders = { \"a b\" = \"c\" }\n[agents.a]";
    check(
        text,
        "a",
        &setup,
        &expect![[r#"
        error: header `a b` of model `ollama:x` is not a valid HTTP header
         --> catena.toml:3:11
          |
        3 | headers = { "a b" = "c" }
          |           ^^^^^^^^^^^^^^^
          = key: models.m.headers"#]],
    )
    .await;
}

#[tokio::test]
async fn a_key_that_would_be_sent_in_the_clear_is_a_warning() {
    let here = tempfile::tempdir().unwrap();
    let (setup, _) = setup_with(here.path(), &[("K", "key-of-a-test")]);
    let text = |url: &str| {
        format!("[models.m]\nmodel = \"compatible:x\"\nbase_url = \"{url}\"\napi_key_env = \"K\"\n[agents.a]")
    };
    check(
        &text("http://models.example.org:8000/v1"),
        "a",
        &setup,
        &expect![[r#"
        model: compatible:x
        warnings: the key of model `m` is sent to `models.example.org` without encryption; use `https://`"#]],
    )
    .await;
    check(
        &text("http://127.0.0.1:8000/v1"),
        "a",
        &setup,
        &expect![[r#"
        model: compatible:x
        warnings: "#]],
    )
    .await;
}

#[tokio::test]
async fn without_a_model_in_the_file_the_program_chooses() {
    let here = tempfile::tempdir().unwrap();
    let (mut setup, model) = setup(here.path());
    let built = build(&Config::sensible(), "assistant", &setup).await.unwrap();
    assert_eq!(built.agent.run("hi").await.unwrap().text(), "hello");
    assert!(format!("{:?}", model.requests()[0].prompt).contains("You are a helpful assistant."));

    setup.default_model = None;
    let error = build(&Config::sensible(), "assistant", &setup).await.unwrap_err();
    assert_eq!(error.kind(), "config");
    expect![[r#"
        error: agent `assistant` has no model
          = key: agents.assistant
          = help: write `model = "provider:model"`, such as `openai:gpt-5-mini` or `ollama:qwen3:4b`"#]]
    .assert_eq(&error.to_string());
}
