use serde_json::json;

use super::*;

fn piece(index: impl Into<Option<u32>>, id: &str, name: &str, arguments: &str) -> ModelDelta {
    ModelDelta::ToolCall {
        index: index.into(),
        id: (!id.is_empty()).then(|| id.into()),
        name: (!name.is_empty()).then(|| name.to_owned()),
        arguments: arguments.to_owned(),
    }
}

fn fold(deltas: impl IntoIterator<Item = ModelDelta>, stop: StopReason) -> AssistantMessage {
    let mut fold = Fold::default();
    deltas.into_iter().for_each(|delta| fold.push(delta));
    fold.push(ModelDelta::End { stop });
    fold.finish("m".into(), "test:model").unwrap()
}

fn calls(deltas: impl IntoIterator<Item = ModelDelta>) -> Vec<(String, Value)> {
    fold(deltas, StopReason::ToolCalls)
        .calls()
        .map(|c| (c.name.clone(), c.input.clone()))
        .collect()
}

/// FC-122: a new id at a used index starts a new call.
#[test]
fn a_new_id_at_a_used_index_starts_a_new_call() {
    let got = calls([piece(0, "A", "f", r#"{"c":1}"#), piece(0, "B", "f", r#"{"c":2}"#)]);
    assert_eq!(
        got,
        [("f".to_owned(), json!({"c": 1})), ("f".to_owned(), json!({"c": 2}))]
    );
}

/// FC-124: without an index, fragments belong to the call that started last.
#[test]
fn a_piece_without_index_belongs_to_the_call_that_started_last() {
    let got = calls([
        piece(None, "A", "f", ""),
        piece(None, "", "", r#"{"a":1}"#),
        piece(None, "B", "g", ""),
        piece(None, "", "", r#"{"b":2}"#),
    ]);
    assert_eq!(
        got,
        [("f".to_owned(), json!({"a": 1})), ("g".to_owned(), json!({"b": 2}))]
    );
}

/// Some providers give every call of a name the same id; the loop renames the second one.
#[test]
fn a_used_id_with_a_name_at_another_index_starts_a_new_call() {
    let got = calls([
        piece(0, "A", "f", ""),
        piece(0, "", "", r#"{"a":1}"#),
        piece(1, "A", "f", ""),
        piece(1, "", "", r#"{"a":2}"#),
    ]);
    assert_eq!(
        got,
        [("f".to_owned(), json!({"a": 1})), ("f".to_owned(), json!({"a": 2}))]
    );
}

#[test]
fn pieces_of_parallel_calls_may_interleave() {
    let got = calls([
        piece(0, "A", "f", r#"{"a""#),
        piece(1, "B", "g", r#"{"b""#),
        piece(0, "", "", ":1}"),
        piece(1, "", "", ":2}"),
    ]);
    assert_eq!(
        got,
        [("f".to_owned(), json!({"a": 1})), ("g".to_owned(), json!({"b": 2}))]
    );
}

/// FC-127: empty argument text means an empty object.
#[test]
fn empty_arguments_are_an_empty_object() {
    assert_eq!(calls([piece(0, "A", "now", "")]), [("now".to_owned(), json!({}))]);
}

/// FC-128: complete calls in one chunk without an id are accepted and get ids of their own.
#[test]
fn whole_calls_without_id_or_index_are_separate_calls() {
    let message = fold(
        [piece(None, "", "f", r#"{"a":1}"#), piece(None, "", "f", r#"{"a":1}"#)],
        StopReason::End,
    );
    let ids: Vec<_> = message.calls().map(|call| call.id.clone()).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
    assert_eq!(message.stop, StopReason::ToolCalls);
}

/// FC-140: arguments must be a JSON object.
#[test]
fn arguments_that_are_no_object_make_the_call_invalid() {
    for text in ["[1]", "\"x\"", "null", "3", "{\"a\":", "garbage"] {
        let message = fold([piece(0, "A", "f", text)], StopReason::ToolCalls);
        let call = message.calls().next().unwrap();
        assert_eq!(call.input, json!({}), "{text}: what is replayed is an object");
        assert_eq!(call.invalid.as_ref().unwrap().text, text);
    }
}

/// FC-139: arguments cut by the output limit are an error that says so.
#[test]
fn arguments_cut_by_the_output_limit_say_so() {
    let message = fold(
        [piece(0, "A", "write", r#"{"path":"/a","content":"abc"#)],
        StopReason::Length,
    );
    let invalid = message.calls().next().unwrap().invalid.clone().unwrap();
    assert!(invalid.reason.contains("output limit"), "{}", invalid.reason);
}

#[test]
fn a_stream_without_an_end_is_truncated() {
    let mut fold = Fold::default();
    fold.push(ModelDelta::Text { text: "half".into() });
    assert_eq!(
        fold.finish("m".into(), "x").unwrap_err().kind,
        ModelErrorKind::Truncated
    );
}

#[test]
fn an_answer_of_nothing_is_an_error() {
    for (stop, kind) in [
        (StopReason::End, ModelErrorKind::Empty),
        (StopReason::Refusal, ModelErrorKind::Refused),
    ] {
        let mut fold = Fold::default();
        fold.push(ModelDelta::Reasoning { text: "hm".into() });
        fold.push(ModelDelta::End { stop });
        assert_eq!(fold.finish("m".into(), "x").unwrap_err().kind, kind);
    }
}

/// FC-146: a signed block with empty text survives.
#[test]
fn a_signed_thought_without_text_is_kept() {
    let end = Reasoning {
        signature: Some("s1".into()),
        provider: Some("anthropic".into()),
        ..Reasoning::default()
    };
    let message = fold(
        [
            ModelDelta::ReasoningEnd(end.clone()),
            ModelDelta::Text { text: "hi".into() },
        ],
        StopReason::End,
    );
    assert_eq!(message.parts, [Part::Reasoning(end), Part::text("hi")]);
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn delta() -> impl Strategy<Value = ModelDelta> {
        let text = prop_oneof![Just(String::new()), "[a-z{}\":,0-9\\[\\] ]{0,8}", ".{0,6}"];
        let call = (
            proptest::option::of(0_u32..3),
            proptest::option::of(prop_oneof![Just(""), Just("A"), Just("B")]),
            proptest::option::of(prop_oneof![Just(""), Just("f"), Just("g")]),
            text.clone(),
        );
        prop_oneof![
            text.clone().prop_map(|text| ModelDelta::Text { text }),
            text.clone().prop_map(|text| ModelDelta::Reasoning { text }),
            text.prop_map(|text| ModelDelta::ReasoningEnd(Reasoning {
                signature: Some(text),
                ..Reasoning::default()
            })),
            call.prop_map(|(index, id, name, arguments)| ModelDelta::ToolCall {
                index,
                id: id.map(Into::into),
                name: name.map(Into::into),
                arguments,
            }),
        ]
    }

    proptest! {
        /// Whatever a provider sends, a call that is kept can be replayed and answered.
        #[test]
        fn every_call_has_an_id_and_an_object(deltas in proptest::collection::vec(delta(), 0..20)) {
            let said: String = deltas.iter().filter_map(|delta| match delta {
                ModelDelta::Text { text } => Some(text.as_str()),
                _ => None,
            }).collect();
            let mut fold = Fold::default();
            deltas.into_iter().for_each(|delta| fold.push(delta));
            fold.push(ModelDelta::End { stop: StopReason::End });
            let Ok(message) = fold.finish("m".into(), "x") else { return Ok(()) };
            prop_assert_eq!(message.text(), said, "no word is lost");
            for call in message.calls() {
                prop_assert!(!call.id.is_empty());
                prop_assert!(call.input.is_object());
                prop_assert!(call.invalid.is_some() || !call.name.is_empty());
            }
        }
    }
}

#[test]
fn an_answer_has_a_size_that_it_cannot_pass() {
    let page = "x".repeat(Fold::MAX_BYTES / 4);
    let mut fold = Fold::default();
    for _ in 0..4 {
        fold.push(ModelDelta::Text { text: page.clone() });
    }
    // The part itself takes its place too.
    assert!(fold.is_full());
    let error = fold.finish(MessageId::fresh(), "m").unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Malformed);
}

#[test]
fn parts_without_content_fill_an_answer_too() {
    let mut fold = Fold::default();
    let mut pieces = 0;
    while !fold.is_full() && pieces < Fold::MAX_BYTES {
        fold.push(ModelDelta::Part(Part::text("")));
        pieces += 1;
    }
    assert!(fold.is_full() && pieces < Fold::MAX_BYTES / 50, "{pieces}");
}
