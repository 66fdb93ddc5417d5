//! Files that are none, or not where they should be.

use std::path::Path;

use catena_config::{Config, ConfigErrors};
use expect_test::{Expect, expect};

fn check(directory: &Path, errors: &ConfigErrors, expected: &Expect) {
    expected.assert_eq(&errors.to_string().replace(directory.to_str().unwrap(), "DIR"));
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let here = tempfile::tempdir().unwrap();
    let missing = Config::load(&here.path().join("catena.toml")).unwrap_err();
    check(
        here.path(),
        &missing,
        &expect![[r#"
        error: there is no such file
         --> DIR/catena.toml
          = help: check the path, or do without a configuration"#]],
    );
    let directory = Config::load(here.path()).unwrap_err();
    check(
        here.path(),
        &directory,
        &expect![[r#"
        error: this is a directory, not a file
         --> DIR
          = help: name the file in it"#]],
    );
}

#[test]
fn a_file_that_is_not_utf_8_says_where() {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("catena.toml");
    std::fs::write(&path, b"# caf\xe9\n").unwrap();
    check(
        here.path(),
        &Config::load(&path).unwrap_err(),
        &expect![[r#"
        error: the file is not valid UTF-8
         --> DIR/catena.toml:1:6
          |
        1 | # caf�
          |      ^
          = help: save it as UTF-8"#]],
    );
    std::fs::write(&path, vec![b'#'; 2 << 20]).unwrap();
    check(
        here.path(),
        &Config::load(&path).unwrap_err(),
        &expect![[r#"
        error: the file has more than 1048576 bytes, so it is no configuration
         --> DIR/catena.toml"#]],
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("catena.toml");
    std::fs::write(&path, "\u{feff}[agents.a]\r\nprompt = \"Hi.\"\r\n").unwrap();
    assert_eq!(Config::load(&path).unwrap().agents["a"].prompt.as_deref(), Some("Hi."));
}

#[test]
fn a_schema_is_looked_for_beside_the_file() {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("catena.toml");
    std::fs::write(&path, "[agents.a]\noutput = \"answer.json\"").unwrap();
    std::fs::write(here.path().join("answer.json"), "{\"type\": \"object\"").unwrap();
    check(
        here.path(),
        &Config::load(&path).unwrap_err(),
        &expect![[r#"
        error: the schema `DIR/answer.json` is not JSON: EOF while parsing an object at line 1 column 17
         --> DIR/catena.toml:2:10
          |
        2 | output = "answer.json"
          |          ^^^^^^^^^^^^^
          = key: agents.a.output"#]],
    );
    std::fs::write(here.path().join("answer.json"), "{\"type\": \"object\"}").unwrap();
    Config::load(&path).unwrap();
}

#[test]
fn a_file_without_agents_has_the_one_that_is_always_there() {
    let config = Config::parse("[models.default]\nmodel = \"ollama:x\"", Path::new("x")).unwrap();
    assert_eq!(config.agent_name(None).unwrap(), "assistant");
}

#[test]
fn an_agent_is_found_by_what_is_asked_for_and_by_what_the_file_says() {
    let parse = |text: &str| Config::parse(text, Path::new("catena.toml")).unwrap();
    let two = "[agents.writer]\n[agents.reader]\n";
    let config = parse(two);
    assert_eq!(config.agent_name(Some("reader")).unwrap(), "reader");
    expect![[r#"
        error: there is no agent `raeder`
         --> catena.toml
          = help: did you mean `reader`?"#]]
    .assert_eq(&config.agent_name(Some("raeder")).unwrap_err().to_string());
    expect![[r#"
        error: several agents could be meant: `reader`, `writer`
         --> catena.toml
          = help: name one, or write `default_agent` into the file"#]]
    .assert_eq(&config.agent_name(None).unwrap_err().to_string());
    assert_eq!(
        parse(&format!("default_agent = \"writer\"\n{two}"))
            .agent_name(None)
            .unwrap(),
        "writer"
    );
    assert_eq!(
        parse(&format!("{two}[agents.assistant]")).agent_name(None).unwrap(),
        "assistant"
    );
    assert_eq!(parse("[agents.only]").agent_name(None).unwrap(), "only");
}
