//! Agents as they are built.

use std::path::Path;

use catena_config::{Config, Registry, build, open_store};
use catena_core::tool::{FnTool, tool_fn};
use catena_models::{ScriptedModel, call, say};
use expect_test::expect;
use serde_json::json;

use crate::support::{parse, parse_with, setup};

#[tokio::test]
async fn threads_are_kept_in_the_data_directory_which_is_made() {
    let here = tempfile::tempdir().unwrap();
    let data = here.path().join("new/data");
    let (setup, _) = setup(&data);
    let config = Config::sensible();
    let built = build(&config, "assistant", &setup).await.unwrap();
    let done = built.agent.run("hi").await.unwrap();
    assert!(data.join("catena.db").exists());
    let store = open_store(&config, &setup).await.unwrap();
    assert_eq!(store.list(10).await.unwrap()[0].thread, done.thread);
}

#[tokio::test]
async fn a_store_is_relative_to_the_file_that_names_it() {
    let here = tempfile::tempdir().unwrap();
    let (setup, _) = setup(&here.path().join("data"));
    for (url, file) in [("sqlite://a.db", "a.db"), ("b.db", "b.db"), ("sqlite:c.db", "c.db")] {
        let config = Config::parse(&format!("[store]\nurl = \"{url}\""), &here.path().join("catena.toml")).unwrap();
        open_store(&config, &setup).await.unwrap();
        assert!(here.path().join(file).exists(), "{url}");
    }
    let config = Config::parse(
        "[store]\nurl = \"sqlite://no/such/a.db\"",
        &here.path().join("catena.toml"),
    )
    .unwrap();
    let error = open_store(&config, &setup).await.err().unwrap();
    assert_eq!(error.kind(), "store");
    assert!(error.to_string().contains("does not exist; create it"), "{error}");
    assert!(!here.path().join("data").exists());
}

#[tokio::test]
async fn subagents_are_built_with_the_agent_that_delegates_to_them() {
    let here = tempfile::tempdir().unwrap();
    let (setup, _) = setup(here.path());
    let text = "[agents.a]\nsubagents = [\"b\", \"c\"]\n[agents.b]\nsubagents = [\"c\"]\n[agents.c]\nmax_turns = 3\n[agents.d]";
    let built = build(&parse(text).unwrap(), "a", &setup).await.unwrap();
    assert_eq!(built.agent.name(), "a");
    let error = build(&parse(text).unwrap(), "e", &setup).await.unwrap_err();
    expect![[r#"
        error: there is no agent `e`
         --> catena.toml
          = help: there is `a`, `b`, `c`, `d`"#]]
    .assert_eq(&error.to_string());
}

#[tokio::test]
async fn a_circle_made_in_code_is_refused_as_one_in_a_file_is() {
    let here = tempfile::tempdir().unwrap();
    let (setup, _) = setup(here.path());
    let mut config = parse("[agents.a]\n[agents.b]\nsubagents = [\"a\"]").unwrap();
    config.agents.get_mut("a").unwrap().subagents = vec!["b".into()];
    let error = build(&config, "a", &setup).await.unwrap_err();
    expect![[r#"
        error: agent `a` delegates to itself through its subagents
         --> catena.toml:1:1
          |
        1 | [agents.a]
          | ^^^^^^^^^^
          = key: agents.a"#]]
    .assert_eq(&error.to_string());
}

#[tokio::test]
async fn tools_are_found_by_name_and_limits_hold() {
    let here = tempfile::tempdir().unwrap();
    let (mut setup, _) = setup(here.path());
    let model = std::sync::Arc::new(ScriptedModel::new(
        "scripted:test",
        [call("now", json!({})), say("never asked")],
    ));
    setup.default_model = Some(model.clone());
    let registry = || Registry::builtin().with_tool(std::sync::Arc::new(tool()));
    let text = "[agents.a]\ntools = [\"now\"]\nmax_turns = 1\non_max_turns = \"error\"\norder = \"listed\"";
    let built = build(&parse_with(text, registry()).unwrap(), "a", &setup)
        .await
        .unwrap();
    assert_eq!(built.agent.tools().len(), 1);
    assert!(built.agent.run("hi").await.is_err());
    assert_eq!(model.requests().len(), 1);

    let errors = parse_with("[agents.a]\ntools = [\"nwo\"]", registry()).unwrap_err();
    assert_eq!(errors.problems()[0].help.as_deref(), Some("did you mean `now`?"));
}

#[tokio::test]
async fn an_answer_has_the_form_that_the_file_asks_for() {
    let here = tempfile::tempdir().unwrap();
    let (mut setup, _) = setup(here.path());
    setup.default_model = Some(std::sync::Arc::new(ScriptedModel::new(
        "scripted:test",
        [call("a_number", json!({"n": 3}))],
    )));
    let path = here.path().join("catena.toml");
    let schema =
        r#"{"title": "A number", "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;
    std::fs::write(here.path().join("n.json"), schema).unwrap();
    let config = Config::parse("[agents.a]\noutput = \"n.json\"", &path).unwrap();
    let built = build(&config, "a", &setup).await.unwrap();
    assert_eq!(
        built.agent.run("how many?").await.unwrap().structured,
        Some(json!({"n": 3}))
    );
}

#[test]
fn principals_are_read_as_they_are_written() {
    let config = Config::parse("[principals.me]\nuser = \"m\"\nroles = [\"admin\"]", Path::new("x")).unwrap();
    assert_eq!(
        (
            config.principals["me"].user.as_str(),
            config.principals["me"].roles.as_slice()
        ),
        ("m", &["admin".to_owned()][..])
    );
}

fn tool() -> FnTool {
    tool_fn("now", "Tells the time.", |_: serde_json::Value, _| async { "noon" })
}
