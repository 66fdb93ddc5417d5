//! `catena chat` without a terminal: lines in, answers out.

use serde_json::json;

use crate::support::Home;

#[test]
fn each_line_is_a_message_of_one_thread() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "one"}, {"say": "two"}]}));
    let ran = home.run_with(&["chat", "--script", &script], "a\n\nb\n").exits(0);
    assert_eq!(ran.stdout, "one\ntwo\n");
    assert_eq!(home.run(&["threads", "list", "--json"]).exits(0).events().len(), 1);
}

#[test]
fn slash_commands_work_without_a_terminal_too() {
    let home = Home::new();
    home.file("note.txt", "milk");
    let script = home.script("s.json", json!({"replies": [{"say": "one"}, {"say": "two"}]}));
    let lines = "a\n/new\nb\n/nwe\n/help\n/file note.txt\nwhat is in it?\n/undo\n/fork\n/thread\n/chain\n/tools\n/model\n/threads\n/quit\nnever read\n";
    let ran = home.run_with(&["chat", "--script", &script], lines).exits(0);
    assert_eq!(ran.stdout, "one\none\ntwo\n");
    let ran = ran
        .says("did you mean `/new`")
        .says("attached")
        .says("taken back: what is in it?")
        .says("a copy")
        .says("scripted:script");
    assert!(!ran.stderr.contains("error:"), "{}", ran.stderr);
}

#[test]
fn what_a_run_asks_is_asked_between_the_lines() {
    let home = Home::new();
    let script = home.script(
        "s.json",
        json!({
            "replies": [{"calls": [{"tool": "send", "input": {"to": "all"}}]}, {"say": "sent"}],
            "tools": [{"name": "send", "approve": true}],
        }),
    );
    let ran = home
        .run_with(&["chat", "--script", &script], "go\nwhat?\nedit\n{\"to\": \"me\"}\n")
        .exits(0);
    assert_eq!(ran.stdout, "sent\n");
    ran.says("May `send` run?")
        .says("type one of the words")
        .says("to: \"me\"");
}

#[test]
fn a_question_that_nobody_answers_stays_open() {
    let home = Home::new();
    let script = home.script(
        "s.json",
        json!({
            "replies": [{"calls": [{"tool": "send"}]}, {"say": "sent"}],
            "tools": [{"name": "send", "approve": true}],
        }),
    );
    home.run_with(&["chat", "--thread", "t", "--script", &script], "go\n")
        .exits(3)
        .says("left open");
    // The next conversation begins with it.
    let ran = home
        .run_with(&["chat", "--thread", "t", "--script", &script], "a\n")
        .exits(0);
    assert_eq!(ran.stdout, "sent\n");
}

#[test]
fn a_failed_run_does_not_end_the_conversation() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"fail": 400, "say": "bad request"}]}));
    home.run_with(&["chat", "--script", &script], "a\n/help\n")
        .exits(0)
        .says("bad request")
        .says("/quit");
}
