//! What is typed wrong, and what is missing.

use serde_json::json;

use crate::support::Home;

#[test]
fn an_unknown_command_or_option_is_named_with_a_near_one() {
    let home = Home::new();
    home.run(&["cht"]).exits(2).says("cht").says("chat");
    home.run(&["run", "--jsn", "x"]).exits(2).says("--json");
    home.run(&["resume"]).exits(2).says("--thread");
    home.run(&[]).exits(2).says("Usage:");
}

#[test]
fn help_and_version_go_to_standard_output() {
    let home = Home::new();
    let help = home.run(&["--help"]).exits(0);
    assert!(help.stdout.contains("Exit codes: 0 done") && help.stderr.is_empty());
    assert!(!home.run(&["run", "--help"]).exits(0).stdout.contains("--script"));
    assert!(home.run(&["--version"]).exits(0).stdout.starts_with("catena "));
}

#[test]
fn nothing_to_ask_is_said() {
    let home = Home::new();
    home.run(&["run"]).exits(2).says("nothing to ask");
    home.run_with(&["run"], "  \n").exits(2).says("nothing to ask");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let home = Home::new();
    home.run(&["run", "x", "--local", "--model", "openai:gpt-5-mini"])
        .exits(2)
        .says("--local");
    home.run(&["run", "x", "--base-url", "http://127.0.0.1:1"])
        .exits(2)
        .says("--model");
    home.run(&["resume", "--thread", "t", "--approve-all", "--decisions", "f"])
        .exits(2)
        .says("--decisions");
}

#[test]
fn a_missing_key_is_named_and_no_other_is_shown() {
    let home = Home::new();
    let ran = home
        .command(&["run", "x", "--model", "anthropic:claude-haiku-4-5"])
        .env("OPENAI_API_KEY", "sk-very-secret")
        .output()
        .unwrap();
    let ran = crate::support::Ran::from(ran).exits(2).says("ANTHROPIC_API_KEY");
    assert!(!ran.stderr.contains("sk-very-secret"));
}

#[test]
fn an_unknown_provider_is_named_with_a_near_one() {
    let home = Home::new();
    home.run(&["run", "x", "--model", "antropic:claude"])
        .exits(2)
        .says("antropic")
        .says("anthropic");
}

#[test]
fn files_that_cannot_be_attached_are_named() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "hi"}]}));
    home.run(&["run", "x", "--file", "nowhere.txt", "--script", &script])
        .exits(2)
        .says("nowhere.txt");
    home.run(&["run", "x", "--file", ".", "--script", &script])
        .exits(2)
        .says("is not a file");
    home.file("blob.bin", [0xff, 0xfe, 0x00]);
    home.run(&["run", "x", "--file", "blob.bin", "--script", &script])
        .exits(2)
        .says("neither text");
    home.run(&["run", "x", "--script", "nowhere.json"])
        .exits(2)
        .says("nowhere.json");
}

#[test]
fn weights_that_are_not_there_are_named_before_anything_is_fetched() {
    let home = Home::new();
    home.run(&["run", "x", "--gguf", "nowhere.gguf"])
        .exits(2)
        .says("nowhere.gguf");
    assert!(!home.data().join("local").exists());
}

#[test]
fn without_a_place_for_data_the_variable_to_set_is_named() {
    let home = Home::new();
    let ran = home
        .command(&["threads", "list"])
        .env_remove("HOME")
        .env_remove("CATENA_HOME")
        .output()
        .unwrap();
    crate::support::Ran::from(ran).exits(2).says("CATENA_HOME");
}

#[test]
fn a_server_that_cannot_be_reached_is_a_failed_run_with_a_hint() {
    let home = Home::new();
    // A port that nobody listens on: it was free a moment ago and is closed again.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}/v1");
    home.run(&["run", "x", "--model", "mine", "--base-url", &url])
        .exits(1)
        .says("hint: check the network");
}

#[test]
fn a_data_directory_that_cannot_be_made_is_named() {
    let home = Home::new();
    home.file("in-the-way", "");
    home.run(&["run", "x", "--data-dir", "in-the-way/data"])
        .exits(2)
        .says("in-the-way");
}
