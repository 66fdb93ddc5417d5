//! What runs look like.

use std::sync::Arc;
use std::time::Duration;

use catena_core::event::Decided;
use catena_core::interrupt::{Asker, InterruptRequest, Pause};
use catena_core::message::{AssistantMessage, Part, ToolMessage, ToolStatus};
use catena_core::middleware::Hook;
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

const VIEW: View = View {
    stream: true,
    reasoning: true,
    verbose: 0,
    width: 60,
    paint: Paint { on: false },
};

/// Shows events and marks where each piece goes: `|` before answers, `#` before notes, `~` for what is waited for.
fn check(view: View, kinds: Vec<EventKind>, expected: Expect) {
    let mut renderer = Renderer::new(view);
    let mut text = String::new();
    for (seq, kind) in kinds.into_iter().enumerate() {
        let event = RunEvent {
            v: 1,
            seq: seq as u64,
            run: "r".into(),
            thread: "t".into(),
            path: Arc::new(["a".to_owned()]),
            kind,
        };
        for piece in renderer.show(&event) {
            text.push_str(&match piece {
                Piece::Answer(words) => format!("| {words:?}\n"),
                Piece::Note(note) => format!("# {note:?}\n"),
                Piece::Busy(what) => format!("~ {what}\n"),
            });
        }
    }
    expected.assert_eq(&text);
}

fn started() -> EventKind {
    EventKind::ModelStarted {
        turn: 1,
        attempt: 1,
        model: "m:x".into(),
    }
}

fn text(text: &str) -> EventKind {
    EventKind::Text { text: text.into() }
}

fn says(parts: Vec<Part>) -> EventKind {
    EventKind::Message {
        message: Arc::new(Message::Assistant(AssistantMessage::new(parts))),
    }
}

fn call(id: &str, tool: &str) -> Part {
    Part::ToolCall(ToolCall::new(id, tool, json!({"q": "rust"})))
}

fn begins(id: &str, tool: &str) -> EventKind {
    EventKind::ToolStarted {
        call: id.into(),
        tool: tool.into(),
        input: json!({"q": "rust"}),
    }
}

fn ends(id: &str, tool: &str, status: CallStatus, result: &str) -> [EventKind; 2] {
    let message = Message::Tool(ToolMessage {
        id: "m".into(),
        call: id.into(),
        name: tool.into(),
        parts: vec![Part::text(result)],
        status: ToolStatus::Success,
        artifact: None,
    });
    let duration_us = status.executed().then_some(Duration::from_millis(1_200));
    [
        EventKind::ToolEnded {
            call: id.into(),
            tool: tool.into(),
            status,
            duration_us,
        },
        EventKind::Message {
            message: Arc::new(message),
        },
    ]
}

#[test]
fn words_go_to_the_answer_as_they_come() {
    let kinds = vec![started(), text("Hel"), text("lo."), says(vec![Part::text("Hello.")])];
    check(
        VIEW,
        kinds,
        expect![[r#"
        ~ thinking
        | "Hel"
        | "lo."
        | "\n"
    "#]],
    );
}

#[test]
fn thoughts_stand_before_the_answer_and_beside_it() {
    let kinds = vec![
        started(),
        EventKind::Reasoning { text: "Hm.".into() },
        text("Yes."),
        says(vec![Part::text("Yes.")]),
    ];
    check(
        VIEW,
        kinds,
        expect![[r##"
        ~ thinking
        # "Hm."
        # "\n"
        | "Yes."
        | "\n"
    "##]],
    );
}

#[test]
fn a_call_is_a_line_and_its_result_another() {
    let mut kinds = vec![
        started(),
        text("Let me look."),
        says(vec![Part::text("Let me look."), call("c", "search")]),
        begins("c", "search"),
    ];
    kinds.extend(ends("c", "search", CallStatus::Ok, "first hit\nsecond hit"));
    check(
        VIEW,
        kinds,
        expect![[r##"
        ~ thinking
        | "Let me look."
        | "\n"
        # "● search q: \"rust\"\n"
        ~ running search
        # "  └ ok 1.2 s first hit (+1 line)\n"
    "##]],
    );
}

#[test]
fn calls_side_by_side_are_numbered() {
    let mut kinds = vec![
        says(vec![call("c", "search"), call("d", "search")]),
        begins("c", "search"),
        begins("d", "search"),
    ];
    kinds.extend(ends("d", "search", CallStatus::Error, "error: no network"));
    kinds.extend(ends("c", "search", CallStatus::Ok, "a hit"));
    check(
        VIEW,
        kinds,
        expect![[r##"
        # "● [1] search q: \"rust\"\n"
        ~ running search
        # "● [2] search q: \"rust\"\n"
        ~ running search
        # "  └ [2] failed 1.2 s error: no network\n"
        # "  └ [1] ok 1.2 s a hit\n"
    "##]],
    );
}

#[test]
fn a_refused_call_is_shown_with_the_reason() {
    let mut kinds = vec![says(vec![call("c", "delete")])];
    kinds.extend(ends("c", "delete", CallStatus::Blocked, "never"));
    check(
        VIEW,
        kinds,
        expect![[r##"
        # "● delete q: \"rust\"\n"
        # "  └ blocked never\n"
    "##]],
    );
}

#[test]
fn an_answer_that_starts_over_is_said_to() {
    let kinds = vec![
        started(),
        text("Wro"),
        EventKind::ModelReset,
        started(),
        text("Right."),
        says(vec![Part::text("Right.")]),
    ];
    check(
        VIEW,
        kinds,
        expect![[r##"
        ~ thinking
        | "Wro"
        | "\n"
        # "  (not the answer after all; it starts over)\n"
        ~ thinking
        | "Right."
        | "\n"
    "##]],
    );
}

#[test]
fn words_that_never_streamed_are_shown_with_their_message() {
    check(
        VIEW,
        vec![says(vec![Part::text("The limit is reached.")])],
        expect![[r#"
        | "The limit is reached."
        | "\n"
    "#]],
    );
}

#[test]
fn control_characters_of_models_and_tools_reach_no_terminal() {
    let mut kinds = vec![
        text("a\x1b[2Jb"),
        says(vec![call("c", "se\x1b[2Jarch")]),
        begins("c", "se\x1b[2Jarch"),
    ];
    kinds.extend(ends("c", "search", CallStatus::Ok, "\x1b]0;owned\x07"));
    check(
        VIEW,
        kinds,
        expect![[r##"
        | "a␛[2Jb"
        | "\n"
        # "● se␛[2Jarch q: \"rust\"\n"
        ~ running se␛[2Jarch
        # "  └ ok 1.2 s ␛]0;owned␇\n"
    "##]],
    );
}

#[test]
fn middleware_is_shown_when_it_decides_something_or_when_one_asks() {
    let hook = |decision: Decided| EventKind::Middleware {
        name: "loop_guard".into(),
        hook: Hook::BeforeToolCall,
        decision,
        changed: vec!["state".into()],
        duration_us: Duration::from_micros(30),
        call: None,
        detail: Some("the third time".into()),
    };
    check(
        VIEW,
        vec![hook(Decided::Continue), hook(Decided::AbortLoop)],
        expect![[r##"
        # "  ‖ loop_guard before_tool_call: ends the run for a call, the third time\n"
    "##]],
    );
    check(
        View { verbose: 1, ..VIEW },
        vec![hook(Decided::Continue)],
        expect![[r##"
        # "  ‖ loop_guard before_tool_call, the third time [state] <1 ms\n"
    "##]],
    );
}

#[test]
fn a_whole_answer_is_left_to_the_caller() {
    let view = View {
        stream: false,
        reasoning: false,
        ..VIEW
    };
    check(
        view,
        vec![started(), text("Hello."), says(vec![Part::text("Hello.")])],
        expect![[r#"
        ~ thinking
    "#]],
    );
}

#[test]
fn a_question_shows_the_whole_input() {
    let pause = Pause {
        id: "p".into(),
        call: "c".into(),
        tool: "send".into(),
        input: json!({"text": "x".repeat(30)}),
        asked_by: Asker::Gates(vec!["human".into()]),
        request: InterruptRequest::approval("Send it?\x1b[2J"),
    };
    expect![[r#"
        ? Send it?␛[2J
          send {
            "text": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
          }
    "#]]
    .assert_eq(&question::question(&pause, Paint::default()));
}
