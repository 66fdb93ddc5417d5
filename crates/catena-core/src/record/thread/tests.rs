use serde_json::json;

use super::*;
use crate::message::{AssistantMessage, Part, Reasoning, ToolCall, ToolMessage, ToolStatus};
use crate::record::{CallStatus, ModelStep};

fn step(calls: &[(&str, &str)]) -> Arc<Entry> {
    step_with(
        calls
            .iter()
            .map(|(id, tool)| Part::ToolCall(ToolCall::new(*id, *tool, json!({"n": 1}))))
            .collect(),
    )
}

fn step_with(parts: Vec<Part>) -> Arc<Entry> {
    Arc::new(Entry::Model(ModelStep {
        message: Arc::new(Message::Assistant(AssistantMessage::new(parts))),
        offer: Arc::default(),
        attempts: 1,
        wasted: Default::default(),
        structured: None,
        last_word: false,
        ask_again: false,
    }))
}

fn result(call: &str) -> Arc<Entry> {
    let message = ToolMessage {
        id: MessageId::fresh(),
        call: call.into(),
        name: "f".into(),
        parts: vec![format!("result of {call}").into()],
        status: ToolStatus::Success,
        artifact: None,
    };
    Arc::new(Entry::CallEnded {
        message: Arc::new(Message::Tool(message)),
        status: CallStatus::Ok,
        digest: None,
        by: None,
        ends_run: false,
    })
}

fn user(text: &str) -> (MessageId, Arc<Entry>) {
    let message = Message::user(text);
    (
        message.id().clone(),
        Arc::new(Entry::Message {
            message: Arc::new(message),
        }),
    )
}

fn shown(thread: &Thread) -> Vec<String> {
    assert_eq!(
        *thread.view(),
        thread.compute_view(),
        "what is kept up to date equals what is computed from nothing"
    );
    let name = |m: &Arc<Message>| match &**m {
        Message::Tool(result) => format!("T({})", result.call),
        Message::Assistant(a) if a.calls().next().is_some() => {
            format!("A({})", a.calls().map(|c| c.id.as_str()).collect::<Vec<_>>().join(","))
        }
        other => other.text(),
    };
    thread.view().iter().map(name).collect()
}

#[test]
fn results_stand_behind_their_calls_in_call_order() {
    let (_, ask) = user("go");
    let thread = Thread::replay(
        "t".into(),
        &[
            ask,
            step(&[("a", "f"), ("b", "f"), ("c", "f")]),
            result("c"),
            result("a"),
            result("b"),
        ],
    );
    assert_eq!(shown(&thread), ["go", "A(a,b,c)", "T(a)", "T(b)", "T(c)"]);
}

/// FC-028: a result is inserted directly after its assistant message.
#[test]
fn a_late_result_stands_before_a_later_question() {
    let (_, ask) = user("go");
    let (_, next) = user("and?");
    let thread = Thread::replay("t".into(), &[ask, step(&[("a", "f")]), next, result("a")]);
    assert_eq!(shown(&thread), ["go", "A(a)", "T(a)", "and?"]);
}

#[test]
fn a_second_result_for_a_call_is_not_shown() {
    let thread = Thread::replay("t".into(), &[step(&[("a", "f")]), result("a"), result("a")]);
    assert_eq!(shown(&thread), ["A(a)", "T(a)"]);
}

#[test]
fn a_fold_hides_what_it_stands_for_and_the_record_keeps_it() {
    let (first, ask) = user("one");
    let (_, more) = user("two");
    let fold = Entry::Folded {
        up_to: first,
        summary: Arc::new(Message::user("summary")),
        by: "s".into(),
    };
    let thread = Thread::replay("t".into(), &[ask, more, Arc::new(fold)]);
    assert_eq!(shown(&thread), ["summary", "two"]);
    assert_eq!(thread.messages().len(), 2);
}

#[test]
fn a_fold_of_less_than_what_is_folded_changes_nothing() {
    let (first, ask) = user("one");
    let (second, more) = user("two");
    let fold = |up_to, text: &str| {
        Arc::new(Entry::Folded {
            up_to,
            summary: Arc::new(Message::user(text)),
            by: "s".into(),
        })
    };
    let thread = Thread::replay("t".into(), &[ask, more, fold(second, "both"), fold(first, "the first")]);
    assert_eq!(shown(&thread), ["both"]);
}

#[test]
fn results_of_folded_calls_are_folded_with_them() {
    let call = step(&[("a", "f"), ("b", "f")]);
    let Entry::Model(model) = &*call else { unreachable!() };
    let fold = Entry::Folded {
        up_to: model.message.id().clone(),
        summary: Arc::new(Message::user("sum")),
        by: "s".into(),
    };
    let thread = Thread::replay("t".into(), &[call.clone(), result("a"), Arc::new(fold), result("b")]);
    assert_eq!(shown(&thread), ["sum"]);
}

#[test]
fn superseded_messages_are_left_out() {
    let (_, ask) = user("one");
    let (second, more) = user("two");
    let thread = Thread::replay(
        "t".into(),
        &[ask, more, Arc::new(Entry::Superseded { messages: vec![second] })],
    );
    assert_eq!(shown(&thread), ["one"]);
}

#[test]
fn calls_are_shown_as_they_ran_unless_a_provider_signed_them() {
    let replaced = Arc::new(Entry::CallInput {
        call: "a".into(),
        tool: "g".into(),
        input: json!({"n": 2}),
        by: "x".into(),
    });
    let input = |thread: &Thread| thread.view()[0].calls().next().unwrap().input.clone();

    let thread = Thread::replay("t".into(), &[step(&[("a", "f")]), replaced.clone()]);
    assert_eq!(input(&thread), json!({"n": 2}));
    assert_eq!(
        thread.messages()[0].calls().next().unwrap().input,
        json!({"n": 1}),
        "the record keeps what was asked"
    );
    shown(&thread);

    let signature = Reasoning {
        signature: Some("s".into()),
        ..Reasoning::default()
    };
    let call = ToolCall::new("a", "f", json!({"n": 1}));
    let thread = Thread::replay(
        "t".into(),
        &[
            step_with(vec![Part::Reasoning(signature), Part::ToolCall(call)]),
            replaced,
        ],
    );
    assert_eq!(input(&thread), json!({"n": 1}));
}

#[test]
fn counts_follow_from_the_entries() {
    let thread = Thread::replay("t".into(), &[step(&[("a", "f")]), result("a")]);
    assert_eq!(thread.totals().turns, 1);
    assert_eq!(thread.totals().executed("f"), 1);
}
