//! `catena run`.

use catena_core::event::RunEvent;
use serde_json::json;

use crate::support::Home;

#[test]
fn the_answer_alone_is_on_standard_output() {
    let home = Home::new();
    let script = home.script("s.json", json!({
        "replies": [{"think": "Hm.", "say": "Let me look.", "calls": [{"tool": "search"}]}, {"say": "It is blue.", "usage": [10, 3]}],
        "tools": [{"name": "search", "result": "blue"}],
    }));
    let ran = home
        .run(&["run", "Which colour?", "--script", &script])
        .exits(0)
        .says("● search")
        .says("ok");
    assert_eq!(ran.stdout, "It is blue.\n");
}

#[test]
fn words_need_no_quotes_and_standard_input_needs_no_words() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "ok"}]}));
    home.run(&["run", "--script", &script, "--thread", "a", "two", "words"])
        .exits(0);
    home.run_with(&["run", "--script", &script, "--thread", "b"], "from a pipe\n")
        .exits(0);
    home.run_with(&["run", "--script", &script, "--thread", "c", "-"], "from a dash\n")
        .exits(0);
    for (thread, words) in [("a", "two words"), ("b", "from a pipe"), ("c", "from a dash")] {
        let shown = home.run(&["threads", "show", thread]).exits(0);
        assert!(shown.stdout.contains(words), "{}", shown.stdout);
    }
}

#[test]
fn json_prints_every_event_as_a_line_and_nothing_else() {
    let home = Home::new();
    let script = home.script(
        "s.json",
        json!({
            "replies": [{"say": "one moment", "calls": [{"tool": "f", "input": {"n": 1}}]}, {"say": "done"}],
            "tools": [{"name": "f"}],
        }),
    );
    let ran = home.run(&["run", "go", "--json", "--script", &script]).exits(0);
    for (seq, line) in ran.stdout.lines().enumerate() {
        let event: RunEvent = serde_json::from_str(line).unwrap();
        assert_eq!((event.v, event.seq), (RunEvent::VERSION, seq as u64));
    }
    let kinds = ran.kinds();
    assert_eq!(kinds.first().map(String::as_str), Some("run_started"));
    assert_eq!(kinds.last().map(String::as_str), Some("run_ended"));
    assert!(kinds.iter().any(|kind| kind == "tool_started") && kinds.iter().any(|kind| kind == "text"));
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_thread_goes_on_where_it_was() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "first"}, {"say": "second"}]}));
    assert_eq!(
        home.run(&["run", "a", "--thread", "t", "--script", &script])
            .exits(0)
            .stdout,
        "first\n"
    );
    assert_eq!(
        home.run(&["run", "b", "--thread", "last", "--script", &script])
            .exits(0)
            .stdout,
        "second\n"
    );
}

#[test]
fn a_text_file_reaches_the_model_before_the_question() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "read"}]}));
    home.file("notes.txt", "the secret is 42");
    let ran = home
        .run(&[
            "run",
            "what is it?",
            "--file",
            "notes.txt",
            "--json",
            "--script",
            &script,
        ])
        .exits(0);
    let events = ran.events();
    let input = events
        .iter()
        .find(|event| event["event"] == "message" && event["message"]["role"] == "user")
        .unwrap();
    assert_eq!(input["message"]["parts"][0]["name"], "notes.txt");
    assert_eq!(input["message"]["parts"][0]["data"]["text"], "the secret is 42");
    assert_eq!(input["message"]["parts"][1]["text"], "what is it?");
}

#[test]
fn a_pipe_can_be_a_file() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "read"}]}));
    let ran = home
        .run_with(
            &["run", "sum it up", "--file", "-", "--json", "--script", &script],
            "from a pipe\n",
        )
        .exits(0);
    assert!(
        ran.stdout.contains(r#""name":"stdin""#)
            && ran.stdout.contains("from a pipe")
            && ran.stdout.contains("sum it up")
    );
    home.run_with(&["run", "-", "--file", "-", "--script", &script], "x")
        .exits(2)
        .says("both the prompt and a file");
}

#[test]
fn a_picture_is_sent_as_one_whatever_its_name() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "seen"}]}));
    home.file("picture.txt", b"\x89PNG\r\n\x1a\nrest");
    let ran = home
        .run(&["run", "--file", "picture.txt", "--json", "--script", &script])
        .exits(0);
    assert!(ran.stdout.contains(r#""media_type":"image/png""#), "{}", ran.stdout);
}

#[test]
fn a_run_for_somebody_names_nobody_else() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "hi"}]}));
    home.run(&["run", "a", "--as", "mara", "--script", &script]).exits(0);
}

#[test]
fn a_model_that_fails_is_a_failed_run_with_its_reason() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"fail": 401, "say": "no such key"}]}));
    let ran = home
        .run(&["run", "a", "--script", &script])
        .exits(1)
        .says("no such key")
        .says("hint: check the key");
    assert_eq!(ran.stdout, "");
    let ran = home.run(&["run", "a", "--json", "--script", &script]).exits(1);
    let last = ran.events().pop().unwrap();
    assert_eq!(
        (last["event"].as_str(), last["outcome"]["outcome"].as_str()),
        (Some("run_ended"), Some("failed"))
    );
}

#[test]
fn a_tool_that_panics_is_a_result_the_model_reads() {
    let home = Home::new();
    let script = home.script(
        "s.json",
        json!({
            "replies": [{"calls": [{"tool": "f"}]}, {"say": "It broke."}],
            "tools": [{"name": "f", "panic": true}],
        }),
    );
    let ran = home.run(&["run", "a", "--script", &script]).exits(0).says("failed");
    assert_eq!(ran.stdout, "It broke.\n");
}

#[test]
fn a_limit_ends_the_run_gracefully_and_says_so() {
    let home = Home::new();
    let script = home.script(
        "s.json",
        json!({
            "replies": [{"calls": [{"tool": "f"}]}, {"say": "That is all I know."}],
            "tools": [{"name": "f"}],
            "max_turns": 1,
        }),
    );
    let ran = home
        .run(&["run", "a", "--script", &script])
        .exits(0)
        .says("stopped by catena");
    assert_eq!(ran.stdout, "That is all I know.\n");
}

#[test]
fn without_any_model_the_tour_model_answers_and_says_what_it_is() {
    let home = Home::new();
    let ran = home
        .run(&["run", "hello"])
        .exits(0)
        .says("scripted tour model")
        .says("--local");
    assert!(ran.stdout.contains("I am the scripted tour model"), "{}", ran.stdout);
}
