//! Processes that die, and runs that others finish.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::{Home, Ran};

/// Starts a run with `--json` and waits until an event of that kind comes.
fn until(home: &Home, args: &[&str], kind: &str) -> Child {
    let mut child = home
        .command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let seen = lines.any(|line| {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        event["event"] == kind
    });
    assert!(seen, "the run ended before `{kind}`");
    // Closing the pipe now would cancel the run.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

fn working(delay_ms: u64) -> Value {
    json!({
        "replies": [{"calls": [{"tool": "quick"}, {"tool": "slow"}]}, {"say": "All said."}],
        "tools": [{"name": "quick", "result": "done quickly"}, {"name": "slow", "delay_ms": delay_ms, "result": "done slowly"}],
    })
}

fn results(ran: &Ran) -> Vec<String> {
    let is_result = |event: &&Value| event["event"] == "message" && event["message"]["role"] == "tool";
    ran.events()
        .iter()
        .filter(is_result)
        .map(|event| event["message"]["parts"][0]["text"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_run_that_was_killed_in_a_tool_is_finished_by_another_process() {
    let home = Home::new();
    let slow = home.script("slow.json", working(600_000));
    let quick = home.script("quick.json", working(0));
    let mut child = until(
        &home,
        &["run", "go", "--thread", "t", "--json", "--script", &slow],
        "tool_ended",
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = home
        .run(&["resume", "--thread", "t", "--json", "--script", &quick])
        .exits(0);
    // What had ended is not run again; what had started is not repeated.
    let results = results(&ran);
    assert_eq!(results.len(), 1, "{results:?}");
    assert!(results[0].contains("not known"), "{results:?}");
    assert!(
        home.run(&["threads", "show", "t"])
            .exits(0)
            .stdout
            .contains("done quickly")
    );
}

#[test]
fn a_killed_run_is_seen_in_the_list_and_can_be_talked_over() {
    let home = Home::new();
    let slow = home.script("slow.json", working(600_000));
    let mut child = until(
        &home,
        &["run", "go", "--thread", "t", "--json", "--script", &slow],
        "tool_started",
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(home.run(&["threads", "list"]).exits(0).stdout.contains("(unfinished)"));
    home.run(&["run", "never mind", "--thread", "t", "--script", &slow])
        .exits(0);
}

#[test]
fn a_conversation_picks_up_a_run_that_was_cut_off() {
    let home = Home::new();
    let slow = home.script("slow.json", working(600_000));
    let quick = home.script("quick.json", working(0));
    let mut child = until(
        &home,
        &["run", "go", "--thread", "t", "--json", "--script", &slow],
        "tool_ended",
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = home
        .run(&["chat", "--thread", "t", "--script", &quick])
        .exits(0)
        .says("was cut off")
        .says("outcome unknown");
    assert_eq!(ran.stdout, "All said.\n");
}

#[cfg(unix)]
#[test]
fn an_interrupt_cancels_the_run_and_keeps_the_thread() {
    let home = Home::new();
    let slow = home.script("slow.json", working(600_000));
    let mut child = until(
        &home,
        &["run", "go", "--thread", "t", "--json", "--script", &slow],
        "tool_started",
    );
    let signalled = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(signalled.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let shown = home.run(&["threads", "show", "t"]).exits(0);
    assert!(shown.stdout.contains("cancelled"), "{}", shown.stdout);
    // No call is left open: the thread goes on.
    home.run(&["run", "and now?", "--thread", "t", "--script", &slow])
        .exits(0);
}

#[test]
fn two_processes_cannot_run_one_thread_at_once() {
    let home = Home::new();
    let slow = home.script("slow.json", working(600_000));
    let mut child = until(
        &home,
        &["run", "go", "--thread", "t", "--json", "--script", &slow],
        "tool_started",
    );
    home.run(&["run", "me too", "--thread", "t", "--script", &slow])
        .exits(1)
        .says("has an active run");
    home.run(&["threads", "delete", "t", "--yes"]).exits(1);
    child.kill().unwrap();
    child.wait().unwrap();
}
