//! `catena threads`.

use catena_core::record::Entry;
use serde_json::{Value, json};

use crate::support::Home;

fn talked(home: &Home) -> String {
    let script = home.script(
        "s.json",
        json!({
            "replies": [{"calls": [{"tool": "f", "input": {"n": 1}}]}, {"say": "The answer is 42."}, {"say": "Yes."}],
            "tools": [{"name": "f", "result": "forty-two"}],
        }),
    );
    home.run(&["run", "What is it?", "--thread", "t", "--script", &script])
        .exits(0);
    script
}

#[test]
fn a_thread_is_listed_shown_and_exported() {
    let home = Home::new();
    talked(&home);
    let list = home.run(&["threads", "list"]).exits(0).stdout;
    assert!(list.starts_with("t ") && list.contains("What is it?"), "{list}");
    let row: Value = serde_json::from_str(&home.run(&["threads", "list", "--json"]).exits(0).stdout).unwrap();
    assert_eq!(
        (row["thread"].as_str(), row["state"].as_str()),
        (Some("t"), Some("idle"))
    );
    let shown = home.run(&["threads", "show", "t"]).exits(0).stdout;
    for words in ["What is it?", "● f n: 1", "forty-two", "The answer is 42."] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    let record = home.run(&["threads", "show", "last", "--record"]).exits(0).stdout;
    for words in ["run started", "call started", "call ended", "run ended"] {
        assert!(record.contains(words), "{words} in {record}");
    }
    let exported = home.run(&["threads", "export", "t"]).exits(0).stdout;
    let entries: Vec<Entry> = exported
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(matches!(entries.first(), Some(Entry::RunStarted(_))));
    assert!(matches!(entries.last(), Some(Entry::RunEnded { .. })));
    home.run(&["threads", "export", "t", "-o", "out.jsonl"]).exits(0);
    assert_eq!(
        std::fs::read_to_string(home.path().join("out.jsonl")).unwrap(),
        exported
    );
}

#[test]
fn a_fork_goes_its_own_way() {
    let home = Home::new();
    let script = talked(&home);
    let fork = home.run(&["threads", "fork", "t"]).exits(0).stdout.trim().to_owned();
    home.run(&["run", "Really?", "--thread", &fork, "--script", &script])
        .exits(0);
    assert!(
        home.run(&["threads", "show", &fork])
            .exits(0)
            .stdout
            .contains("Really?")
    );
    assert!(!home.run(&["threads", "show", "t"]).exits(0).stdout.contains("Really?"));
    home.run(&["threads", "fork", "t", "--at", "nope"])
        .exits(2)
        .says("no message `nope`");
}

#[test]
fn a_part_of_an_id_names_a_thread() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "hi"}]}));
    home.run(&["run", "x", "--script", &script]).exits(0);
    let row: Value = serde_json::from_str(&home.run(&["threads", "list", "--json"]).exits(0).stdout).unwrap();
    let id = row["thread"].as_str().unwrap();
    assert!(
        home.run(&["threads", "show", &id[id.len() - 8..]])
            .exits(0)
            .stdout
            .contains(id)
    );
}

#[test]
fn deleted_is_deleted_and_what_is_not_there_is_said() {
    let home = Home::new();
    talked(&home);
    home.run(&["threads", "delete", "t"]).exits(2);
    home.run(&["threads", "delete", "t", "--yes"]).exits(0);
    home.run(&["threads", "show", "t"]).exits(2).says("no thread `t`");
    home.run(&["threads", "delete", "t", "--yes"]).exits(2);
    home.run(&["threads", "list"]).exits(0).says("no threads yet");
}

#[test]
fn looking_at_a_thread_that_is_not_there_makes_none() {
    let home = Home::new();
    home.run(&["threads", "show", "ghost"]).exits(2);
    home.run(&["resume", "--thread", "ghost"]).exits(2);
    assert_eq!(home.run(&["threads", "list", "--json"]).exits(0).stdout, "");
}
