//! Runs that ask, and the answers.

use serde_json::{Value, json};

use crate::support::{Home, Ran};

/// A run on thread `t` that asks before it calls `send`.
fn asked(home: &Home) -> (String, Ran) {
    let script = home.script(
        "s.json",
        json!({
            "replies": [{"calls": [{"tool": "send", "input": {"to": "all"}}]}, {"say": "done"}],
            "tools": [{"name": "send", "approve": true}],
        }),
    );
    let ran = home.run(&["run", "send it", "--thread", "t", "--json", "--script", &script]);
    (script, ran.exits(3))
}

fn pause(ran: &Ran) -> Value {
    let events = ran.events();
    events.iter().find(|event| event["event"] == "interrupted").unwrap()["pauses"][0].clone()
}

fn result(ran: &Ran) -> String {
    let events = ran.events();
    let message = events
        .iter()
        .find(|event| event["event"] == "message" && event["message"]["role"] == "tool")
        .unwrap();
    message["message"]["parts"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_that_asks_ends_with_its_questions_and_its_own_code() {
    let home = Home::new();
    let (script, ran) = asked(&home);
    assert_eq!(pause(&ran)["tool"], "send");
    let again = home
        .run(&["run", "send it", "--thread", "u", "--script", &script])
        .exits(3);
    let again = again
        .says("May `send` run?")
        .says("\"to\": \"all\"")
        .says("catena resume --thread u");
    assert_eq!(again.stdout, "");
}

#[test]
fn approving_everything_lets_the_run_end() {
    let home = Home::new();
    let (script, _) = asked(&home);
    let ran = home
        .run(&["resume", "--thread", "t", "--approve-all", "--script", &script])
        .exits(0);
    assert_eq!(ran.stdout, "done\n");
}

#[test]
fn decisions_come_from_a_file_in_either_dialect() {
    for (decisions, expected) in [
        (
            json!({"decisions": [{"type": "edit", "input": {"to": "me"}}]}),
            r#"{"to":"me"}"#,
        ),
        (
            json!({"decisions": [{"type": "edit", "edited_action": {"name": "send", "args": {"to": "you"}}}]}),
            r#"{"to":"you"}"#,
        ),
        (
            json!({"decisions": [{"type": "reject", "message": "not today"}]}),
            "not today",
        ),
        (
            json!({"decisions": [{"type": "respond", "value": "sent by hand"}]}),
            "sent by hand",
        ),
    ] {
        let home = Home::new();
        let (script, _) = asked(&home);
        home.file("d.json", decisions.to_string());
        let ran = home
            .run(&[
                "resume",
                "--thread",
                "t",
                "--decisions",
                "d.json",
                "--json",
                "--script",
                &script,
            ])
            .exits(0);
        assert_eq!(result(&ran), expected, "{decisions}");
    }
}

#[test]
fn an_answer_may_name_its_question_and_come_from_standard_input() {
    let home = Home::new();
    let (script, ran) = asked(&home);
    let answer = json!([{"pause": pause(&ran)["id"], "type": "approve"}]).to_string();
    let ran = home
        .run_with(
            &[
                "resume",
                "--thread",
                "t",
                "--decisions",
                "-",
                "--json",
                "--script",
                &script,
            ],
            &answer,
        )
        .exits(0);
    assert_eq!(result(&ran), r#"{"to":"all"}"#);
}

#[test]
fn a_wrong_answer_is_refused_and_the_question_stays() {
    let home = Home::new();
    let (script, _) = asked(&home);
    for (decisions, problem) in [
        (r#"{"decisions": []}"#, "0 decision(s) were given for 1 question(s)"),
        (r#"{"decisions": [{"type": "maybe"}]}"#, "`maybe`"),
        (r#"[{"pause": "nope", "type": "approve"}]"#, "no open question"),
        ("approve", "not JSON"),
    ] {
        let ran = home.run_with(
            &["resume", "--thread", "t", "--decisions", "-", "--script", &script],
            decisions,
        );
        ran.exits(2).says(problem);
    }
    // Without any answer it asks again.
    home.run(&["resume", "--thread", "t", "--script", &script])
        .exits(3)
        .says("May `send` run?");
    home.run(&["resume", "--thread", "t", "--approve-all", "--script", &script])
        .exits(0);
}

#[test]
fn a_new_message_does_not_slip_past_an_open_question() {
    let home = Home::new();
    let (script, _) = asked(&home);
    home.run(&["run", "well?", "--thread", "t", "--script", &script])
        .exits(3)
        .says("catena resume --thread t");
}

#[test]
fn a_question_of_a_tool_is_answered_with_words() {
    let home = Home::new();
    let script = home.script(
        "s.json",
        json!({
            "replies": [{"calls": [{"tool": "ask"}]}, {"say": "Thank you."}],
            "tools": [{"name": "ask", "ask": "Which town?"}],
        }),
    );
    home.run(&["run", "go", "--thread", "t", "--script", &script])
        .exits(3)
        .says("Which town?")
        .says("respond");
    let answer = json!({"decisions": [{"type": "respond", "value": "Lima"}]}).to_string();
    let ran = home
        .run_with(
            &[
                "resume",
                "--thread",
                "t",
                "--decisions",
                "-",
                "--json",
                "--script",
                &script,
            ],
            &answer,
        )
        .exits(0);
    assert_eq!(result(&ran), "Lima");
}

#[test]
fn there_must_be_something_to_resume() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "hi"}]}));
    home.run(&["resume", "--thread", "nope", "--script", &script])
        .exits(2)
        .says("no thread `nope`")
        .says("threads list");
    home.run(&["run", "hi", "--thread", "t", "--script", &script]).exits(0);
    home.run(&["resume", "--thread", "t", "--script", &script])
        .exits(2)
        .says("catena chat --thread t");
}
