//! Closed, piped and plain streams.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::support::{Home, Ran};

#[test]
fn a_reader_that_has_seen_enough_ends_the_command_quietly() {
    let home = Home::new();
    let script = home.script(
        "s.json",
        json!({
            "replies": [{"calls": [{"tool": "slow"}]}, {"say": "done"}],
            "tools": [{"name": "slow", "delay_ms": 600_000}],
            "pace_ms": 5,
        }),
    );
    let mut child = home
        .command(&["run", "go", "--thread", "t", "--json", "--script", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    // The reader is dropped: nobody will read the rest, and nobody waits ten minutes for the tool.
    let ran = Ran::from(child.wait_with_output().unwrap()).exits(130);
    assert_eq!(ran.stderr, "");
    // The thread is kept.
    home.run(&["threads", "show", "t"]).exits(0);
}

#[test]
fn reading_commands_survive_a_closed_pipe() {
    let home = Home::new();
    let mut child = home
        .command(&["schema"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = Ran::from(child.wait_with_output().unwrap()).exits(0);
    assert_eq!(ran.stderr, "");
}

#[test]
fn without_a_terminal_nothing_is_painted() {
    let home = Home::new();
    let script = home.script(
        "s.json",
        json!({
            "replies": [{"think": "Hm", "calls": [{"tool": "f"}]}, {"say": "an escape: \u{1b}[31m and a bell \u{7}"}],
            "tools": [{"name": "f", "result": "\u{1b}[2J"}],
        }),
    );
    let ran = home.run(&["run", "go", "--script", &script]).exits(0);
    assert!(
        !ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'),
        "{ran:?}"
    );
    assert_eq!(ran.stdout, "an escape: ␛[31m and a bell ␇\n");
    // Programs get the words as they are.
    let ran = home.run(&["run", "go", "--json", "--script", &script]).exits(0);
    assert!(ran.stdout.contains(r"\u001b[31m"));
}

#[test]
fn more_is_said_on_request_and_keys_are_not_in_it() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "hi"}]}));
    let ran = home
        .command(&["-vvv", "run", "go", "--script", &script])
        .env("OPENAI_API_KEY", "sk-very-secret")
        .output()
        .unwrap();
    let ran = Ran::from(ran).exits(0);
    assert!(
        !ran.stderr.is_empty() && !ran.stderr.contains("sk-very-secret"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stdout, "hi\n");
}
