#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use super::*;
use crate::interrupt::DecisionKind;

fn question(name: &str, payload: Value, schema: Option<Value>) -> (String, InterruptRequest) {
    let mut request = InterruptRequest::question(name).payload(payload);
    request.answer_schema = schema;
    (name.to_owned(), request)
}

fn asked(questions: Vec<(String, InterruptRequest)>) -> Pause {
    let (by, request) = merged(questions).unwrap();
    pause(ToolCall::new("c", "send", json!({})), Asker::Gates(by), request)
}

fn fits(pause: &Pause, value: Value) -> bool {
    pause.check(&Decision::Respond { value }).is_ok()
}

#[test]
fn an_answer_to_a_merged_question_fits_all_its_schemas() {
    let at_least =
        |n: u32| Some(json!({"$ref": "#/$defs/number", "$defs": {"number": {"type": "integer", "minimum": n}}}));
    let below = Some(json!({"maximum": 9}));
    let one = asked(vec![
        question("a", Value::Null, at_least(1)),
        question("b", Value::Null, None),
        question("c", Value::Null, at_least(5)),
        question("d", Value::Null, below.clone()),
    ]);
    let fitting: Vec<bool> = [0, 3, 7, 12].into_iter().map(|n| fits(&one, json!(n))).collect();
    assert_eq!(fitting, [false, false, true, false]);
    assert!(!fits(&one, json!("seven")));
    let same = asked(vec![
        question("a", Value::Null, below.clone()),
        question("b", Value::Null, below.clone()),
    ]);
    assert_eq!(same.request.answer_schema, below, "one schema stays as it is");
}

#[test]
fn a_merged_question_keeps_the_payloads_of_all_askers() {
    let payload = |payloads: &[Value]| {
        let questions = payloads.iter().map(|payload| question("q", payload.clone(), None));
        asked(questions.collect()).request.payload
    };
    assert_eq!(payload(&[Value::Null, Value::Null]), Value::Null);
    assert_eq!(payload(&[Value::Null, json!({"a": 1})]), json!({"a": 1}));
    assert_eq!(
        payload(&[json!({"a": 1}), Value::Null, json!([2])]),
        json!([{"a": 1}, [2]])
    );
}

#[test]
fn questions_without_a_common_decision_can_be_rejected() {
    let approval = ("b".to_owned(), InterruptRequest::approval("b"));
    let one = asked(vec![question("a", Value::Null, None), approval]);
    assert_eq!(one.request.allowed, [DecisionKind::Reject]);
    assert_eq!(one.asked_by, Asker::Gates(vec!["a".into(), "b".into()]));
}
