//! Configuration: `check`, `chain`, `schema`, and what is wrong with a file.

use serde_json::{Value, json};

use crate::support::{Home, Ran};

#[test]
fn a_broken_file_is_told_with_its_place_by_every_command_that_reads_it() {
    let home = Home::new();
    home.file("catena.toml", "[agents.assistant]\nmodle = \"x\"\n");
    for args in [&["run", "x"][..], &["chain"], &["threads", "list"], &["chat"]] {
        home.run(args).exits(2).says("catena.toml").says("modle");
    }
    let ran = home.run(&["check"]).exits(2);
    assert!(
        ran.stdout.contains("modle") && ran.stdout.contains("catena.toml"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let home = Home::new();
    home.run(&["run", "x", "--config", "nowhere.toml"])
        .exits(2)
        .says("nowhere.toml");
}

#[test]
fn check_finds_every_problem_at_once() {
    let home = Home::new();
    home.file(
        "catena.toml",
        "[models.default]\nmodel = \"openai:gpt-5-mini\"\n[models.other]\nmodel = \"anthropic:claude-haiku-4-5\"\n[agents.assistant]\nprompt = \"Be brief.\"\n",
    );
    let ran = home.run(&["check"]).exits(2).says("2 problems");
    assert!(
        ran.stdout.contains("OPENAI_API_KEY") && ran.stdout.contains("ANTHROPIC_API_KEY"),
        "{}",
        ran.stdout
    );
    let ran = home
        .command(&["check"])
        .env("OPENAI_API_KEY", "sk-1")
        .env("ANTHROPIC_API_KEY", "sk-2")
        .output()
        .unwrap();
    let ran = Ran::from(ran).exits(0);
    assert!(!ran.stdout.contains("sk-1"), "{}", ran.stdout);
}

#[test]
fn check_says_what_would_answer_where_nothing_is_configured() {
    let home = Home::new();
    assert!(home.run(&["check"]).exits(0).stdout.contains("tour model"));
    let ran = Ran::from(
        home.command(&["check"])
            .env("DEEPSEEK_API_KEY", "sk-1")
            .output()
            .unwrap(),
    )
    .exits(0);
    assert!(
        ran.stdout.contains("deepseek:") && ran.stdout.contains("DEEPSEEK_API_KEY"),
        "{}",
        ran.stdout
    );
    let report: Value = serde_json::from_str(&home.run(&["check", "--json"]).exits(0).stdout).unwrap();
    assert_eq!(report[0]["what"], "configuration");
}

#[test]
fn the_chain_needs_neither_key_nor_network() {
    let home = Home::new();
    home.file(
        "catena.toml",
        "[models.default]\nmodel = \"openai:gpt-5-mini\"\n[agents.assistant]\n[agents.second]\n",
    );
    assert!(home.run(&["chain"]).exits(0).stdout.contains("assistant"));
    assert!(
        home.run(&["chain", "--agent", "second"])
            .exits(0)
            .stdout
            .contains("second")
    );
    home.run(&["chain", "--agent", "thrid"]).exits(2).says("thrid");
    let report: Value = serde_json::from_str(&home.run(&["chain", "--json"]).exits(0).stdout).unwrap();
    assert!(report["rows"].is_array());
    // Nothing was made for a look.
    assert!(!home.data().join("catena.db").exists());
}

#[test]
fn the_schema_is_one() {
    let home = Home::new();
    let schema: Value = serde_json::from_str(&home.run(&["schema"]).exits(0).stdout).unwrap();
    assert!(schema["properties"]["agents"].is_object());
}

#[test]
fn a_key_that_a_provider_can_do_without_chooses_nothing() {
    let home = Home::new();
    let ran = home
        .command(&["run", "x"])
        .env("OLLAMA_API_KEY", "sk-x")
        .output()
        .unwrap();
    let ran = Ran::from(ran).exits(0).says("tour model");
    assert!(!ran.stderr.contains("sk-x"));
}

#[test]
fn a_thread_goes_on_with_the_agent_that_worked_on_it() {
    let home = Home::new();
    home.file("catena.toml", "[agents.assistant]\n[agents.second]\n");
    let script = home.script("s.json", json!({"replies": [{"say": "one"}, {"say": "two"}]}));
    home.run(&["run", "a", "--agent", "second", "--thread", "t", "--script", &script])
        .exits(0);
    let ran = home
        .run(&["run", "b", "--thread", "t", "--json", "--script", &script])
        .exits(0);
    assert_eq!(ran.events()[0]["path"], json!(["second"]));
}
