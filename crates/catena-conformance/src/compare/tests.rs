//! Each rule of the format's table of expectations, with a record that keeps it and one that breaks it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::observed::{ErrorRecord, Message, Outcome, Role};
use crate::pattern::MessagePattern;
use crate::read::{Node, Read};

fn read<T: Read>(value: &Value) -> T {
    Node::root(value).read().unwrap()
}

fn check(expect: Value, observed: &Observed) -> Result<(), String> {
    compare(&read(&expect), observed).map_err(|mismatch| mismatch.path())
}

fn turn(outcome: Outcome) -> TurnRecord {
    TurnRecord {
        outcome,
        ..TurnRecord::default()
    }
}

fn observed() -> Observed {
    Observed {
        turns: vec![turn(Outcome::Done)],
        ..Observed::default()
    }
}

fn message(role: Role, text: &str) -> Message {
    Message {
        role,
        text: text.into(),
        ..Message::default()
    }
}

fn result(id: &str, text: &str) -> Message {
    Message {
        tool_call_id: Some(id.into()),
        ..message(Role::Tool, text)
    }
}

fn request(model: &str, text: &str) -> ModelCall {
    ModelCall {
        model: model.into(),
        messages: vec![message(Role::User, text)],
        ..ModelCall::default()
    }
}

fn fails_at(expected: &str) -> Result<(), String> {
    Err(expected.into())
}

#[test]
fn nothing_is_judged_that_is_not_given() {
    let mut observed = observed();
    observed.model_calls = vec![request("main", "hi")];
    observed.hooks = vec!["A.before_agent".into()];
    assert_eq!(check(json!({}), &observed), Ok(()));
}

#[test]
fn a_violation_fails_whatever_is_expected() {
    let mut observed = observed();
    observed.violations = vec!["main was asked with nothing left in its queue".into()];
    assert_eq!(check(json!({}), &observed), fails_at("scenario"));
}

#[test]
fn a_run_without_a_turn_fails() {
    assert_eq!(check(json!({}), &Observed::default()), fails_at("expect"));
}

#[test]
fn outcome_error_and_interrupt_are_those_of_the_last_turn() {
    let failed = TurnRecord {
        error: Some(ErrorRecord {
            kind: "config".into(),
            ..ErrorRecord::default()
        }),
        ..turn(Outcome::Error)
    };
    let paused = TurnRecord {
        interrupt: Some(json!({"action_requests": []})),
        ..turn(Outcome::Interrupted)
    };
    let ending = |turns: &[&TurnRecord]| Observed {
        turns: turns.iter().map(|&turn| turn.clone()).collect(),
        ..Observed::default()
    };
    let error_last = ending(&[&paused, &failed]);
    assert_eq!(
        check(json!({"outcome": "error", "error": {"kind": "config"}}), &error_last),
        Ok(())
    );
    assert_eq!(
        check(json!({"outcome": "interrupted"}), &error_last),
        fails_at("expect.outcome")
    );
    assert_eq!(
        check(json!({"error": {"kind": "model_error"}}), &error_last),
        fails_at("expect.error.kind")
    );
    assert_eq!(
        check(json!({"interrupt": {}}), &error_last),
        fails_at("expect.interrupt")
    );
    let pause_last = ending(&[&failed, &paused]);
    assert_eq!(
        check(
            json!({"outcome": "interrupted", "interrupt": {"action_requests": []}}),
            &pause_last
        ),
        Ok(())
    );
    assert_eq!(check(json!({"error": {}}), &pause_last), fails_at("expect.error"));
}

#[test]
fn turns_have_one_entry_each_with_outcome_calls_and_least_time() {
    let record = TurnRecord {
        model_calls: 2,
        elapsed: Duration::from_millis(999),
        ..turn(Outcome::Done)
    };
    let observed = Observed {
        turns: vec![record.clone(), record],
        ..Observed::default()
    };
    assert_eq!(
        check(
            json!({"turns": [{"outcome": "done", "model_calls": 2, "min_elapsed_ms": 999}, {}]}),
            &observed
        ),
        Ok(())
    );
    assert_eq!(
        check(json!({"turns": [{}, {"outcome": "error"}]}), &observed),
        fails_at("expect.turns[1].outcome")
    );
    assert_eq!(
        check(json!({"turns": [{"model_calls": 1}, {}]}), &observed),
        fails_at("expect.turns[0].model_calls")
    );
    assert_eq!(
        check(json!({"turns": [{}, {"min_elapsed_ms": 1000}]}), &observed),
        fails_at("expect.turns[1].min_elapsed_ms")
    );
    assert_eq!(
        check(json!({"turns": [{}, {"error": {}}]}), &observed),
        fails_at("expect.turns[1].error")
    );
    assert_eq!(
        check(json!({"turns": [{"interrupt": {}}, {}]}), &observed),
        fails_at("expect.turns[0].interrupt")
    );
    assert_eq!(check(json!({"turns": [{}]}), &observed), fails_at("expect.turns[1]"));
    assert_eq!(
        check(json!({"turns": [{}, {}, {}]}), &observed),
        fails_at("expect.turns[2]")
    );
}

#[test]
fn model_calls_are_complete_and_in_order() {
    let mut observed = observed();
    observed.model_calls = vec![request("main", "a"), request("sub", "b")];
    let call = |model: &str, text: &str| json!({"model": model, "messages": [{"role": "user", "text": text}]});
    assert_eq!(
        check(json!({"model_calls": [call("main", "a"), call("sub", "b")]}), &observed),
        Ok(())
    );
    assert_eq!(
        check(json!({"model_calls": [call("sub", "b"), call("main", "a")]}), &observed),
        fails_at("expect.model_calls[0].model")
    );
    assert_eq!(
        check(json!({"model_calls": [call("main", "a")]}), &observed),
        fails_at("expect.model_calls[1]")
    );
    assert_eq!(
        check(json!({"model_calls": []}), &observed),
        fails_at("expect.model_calls[0]")
    );
    let three = json!({"model_calls": [call("main", "a"), call("sub", "b"), call("main", "c")]});
    assert_eq!(check(three, &observed), fails_at("expect.model_calls[2]"));
}

#[test]
fn per_model_judges_the_order_within_each_model_only() {
    let mut observed = observed();
    observed.model_calls = vec![request("red", "1"), request("blue", "1"), request("red", "2")];
    let expect = |calls: &[(&str, &str)]| {
        let calls: Vec<_> = calls
            .iter()
            .map(|(model, text)| json!({"model": model, "messages": [{"role": "user", "text": text}]}))
            .collect();
        json!({"model_calls": calls, "model_calls_order": "per_model"})
    };
    assert_eq!(
        check(expect(&[("blue", "1"), ("red", "1"), ("red", "2")]), &observed),
        Ok(())
    );
    assert_eq!(
        check(expect(&[("blue", "1"), ("red", "2"), ("red", "1")]), &observed),
        fails_at("expect.model_calls[1].messages[0].text")
    );
    assert_eq!(
        check(expect(&[("red", "1"), ("red", "2")]), &observed),
        fails_at("expect.model_calls[0]")
    );
    assert_eq!(
        check(
            expect(&[("red", "1"), ("blue", "1"), ("red", "2"), ("blue", "2")]),
            &observed
        ),
        fails_at("expect.model_calls[3]")
    );
}

#[test]
fn tool_executions_are_complete_and_in_order() {
    let mut observed = observed();
    observed.tool_executions = ["a", "b"]
        .map(|q| Execution {
            name: "search".into(),
            args: json!({"q": q}),
        })
        .to_vec();
    let run = |q: &str| json!({"name": "search", "args": {"q": q}});
    assert_eq!(
        check(json!({"tool_executions": [run("a"), run("b")]}), &observed),
        Ok(())
    );
    assert_eq!(
        check(json!({"tool_executions": [run("b"), run("a")]}), &observed),
        fails_at("expect.tool_executions[0].args.q")
    );
    assert_eq!(
        check(json!({"tool_executions": [run("a")]}), &observed),
        fails_at("expect.tool_executions[1]")
    );
    assert_eq!(
        check(json!({"tool_executions": [run("a"), run("b"), run("c")]}), &observed),
        fails_at("expect.tool_executions[2]")
    );
    let other = json!({"tool_executions": [{"name": "read", "args": {"q": "a"}}, run("b")]});
    assert_eq!(check(other, &observed), fails_at("expect.tool_executions[0].name"));
}

#[test]
fn executions_in_any_order_are_still_complete() {
    let mut observed = observed();
    observed.tool_executions = ["a", "b"]
        .map(|q| Execution {
            name: "search".into(),
            args: json!({"q": q}),
        })
        .to_vec();
    let expect = |queries: &[&str]| {
        let runs: Vec<_> = queries
            .iter()
            .map(|q| json!({"name": "search", "args": {"q": q}}))
            .collect();
        json!({"tool_executions": runs, "tool_executions_order": "any"})
    };
    assert_eq!(check(expect(&["b", "a"]), &observed), Ok(()));
    assert_eq!(
        check(expect(&["b", "c"]), &observed),
        fails_at("expect.tool_executions[1].args.q")
    );
    assert_eq!(
        check(expect(&["b", "a", "a"]), &observed),
        fails_at("expect.tool_executions[2]")
    );
    assert_eq!(check(expect(&["b"]), &observed), fails_at("expect.tool_executions[1]"));
}

#[test]
fn hooks_are_the_exact_list() {
    let mut observed = observed();
    observed.hooks = vec!["A.before_agent".into(), "A.after_agent".into()];
    assert_eq!(
        check(json!({"hooks": ["A.before_agent", "A.after_agent"]}), &observed),
        Ok(())
    );
    assert_eq!(
        check(json!({"hooks": ["A.after_agent", "A.before_agent"]}), &observed),
        fails_at("expect.hooks[0]")
    );
    assert_eq!(
        check(json!({"hooks": ["A.before_agent"]}), &observed),
        fails_at("expect.hooks[1]")
    );
}

#[test]
fn final_messages_are_complete_and_in_order() {
    let mut observed = observed();
    observed.final_messages = vec![message(Role::User, "hi"), message(Role::Assistant, "ho")];
    let expect = |messages: Value| json!({ "final_messages": messages });
    assert_eq!(
        check(
            expect(json!([{"role": "user", "text": "hi"}, {"role": "assistant"}])),
            &observed
        ),
        Ok(())
    );
    assert_eq!(
        check(expect(json!([{"role": "user"}])), &observed),
        fails_at("expect.final_messages[1]")
    );
    assert_eq!(
        check(expect(json!([{"role": "assistant"}, {"role": "user"}])), &observed),
        fails_at("expect.final_messages[0].role")
    );
    assert_eq!(
        check(
            expect(json!([{"role": "user"}, {"role": "assistant"}, {"role": "user"}])),
            &observed
        ),
        fails_at("expect.final_messages[2]")
    );
}

#[test]
fn todos_and_files_are_judged_by_what_is_listed() {
    let mut observed = observed();
    observed.todos = vec![json!({"content": "dig", "status": "pending", "id": 1})];
    observed.files.insert("/a.txt".into(), "alpha".into());
    assert_eq!(
        check(
            json!({"state": {"todos": [{"content": "dig", "status": "pending"}], "files": {"/a.txt": "alpha"}}}),
            &observed
        ),
        Ok(())
    );
    assert_eq!(
        check(json!({"state": {"todos": [{"status": "completed"}]}}), &observed),
        fails_at("expect.state.todos[0].status")
    );
    assert_eq!(
        check(json!({"state": {"todos": []}}), &observed),
        fails_at("expect.state.todos[0]")
    );
    assert_eq!(
        check(json!({"state": {"files": {"/a.txt": "beta"}}}), &observed),
        fails_at("expect.state.files[\"/a.txt\"]")
    );
}

fn messages(patterns: Value, got: &[Message], order: ResultsOrder) -> Result<(), String> {
    check_messages(&read::<Vec<MessagePattern>>(&patterns), got, order).map_err(|mismatch| mismatch.path())
}

#[test]
fn an_optional_message_may_be_missing_but_not_be_another() {
    let patterns =
        json!([{"role": "system", "text": {"contains": ["x"]}, "optional": true}, {"role": "user", "text": "hi"}]);
    let listed = ResultsOrder::Listed;
    assert_eq!(messages(patterns.clone(), &[message(Role::User, "hi")], listed), Ok(()));
    assert_eq!(
        messages(
            patterns.clone(),
            &[message(Role::System, "x"), message(Role::User, "hi")],
            listed
        ),
        Ok(())
    );
    assert_eq!(
        messages(
            patterns.clone(),
            &[message(Role::System, "y"), message(Role::User, "hi")],
            listed
        ),
        fails_at("[0].text.contains[0]")
    );
    assert_eq!(
        messages(patterns.clone(), &[message(Role::User, "ho")], listed),
        fails_at("[1].text")
    );
    assert_eq!(messages(patterns, &[], listed), fails_at("[1]"));
    assert_eq!(
        messages(json!([{"role": "system", "optional": true}]), &[], listed),
        Ok(())
    );
}

#[test]
fn an_optional_message_gives_way_to_a_later_pattern_that_needs_the_message() {
    let patterns = json!([{"role": "user", "optional": true}, {"role": "user", "text": "hi"}]);
    assert_eq!(
        messages(patterns, &[message(Role::User, "hi")], ResultsOrder::Listed),
        Ok(())
    );
}

#[test]
fn the_order_of_adjacent_results_counts_only_if_listed() {
    let patterns = json!([
        {"role": "tool", "text": "one", "tool_call_id": "c1"}, {"role": "tool", "tool_call_id": "c2"}, {"role": "assistant"}
    ]);
    let got = [result("c2", "two"), result("c1", "one"), message(Role::Assistant, "")];
    assert_eq!(messages(patterns.clone(), &got, ResultsOrder::Any), Ok(()));
    assert_eq!(
        messages(patterns, &got, ResultsOrder::Listed),
        fails_at("[0].tool_call_id")
    );
}

#[test]
fn results_in_any_order_are_still_complete_and_stay_in_their_run() {
    let any = ResultsOrder::Any;
    let patterns = json!([{"role": "tool", "tool_call_id": "c1"}, {"role": "tool", "tool_call_id": "c2"}]);
    assert_eq!(messages(patterns.clone(), &[result("c2", "")], any), fails_at("[0]"));
    assert_eq!(
        messages(patterns.clone(), &[result("c2", ""), result("c3", "")], any),
        fails_at("[0].tool_call_id")
    );
    assert_eq!(
        messages(
            patterns.clone(),
            &[result("c2", ""), result("c1", ""), result("c3", "")],
            any
        ),
        fails_at("[2]")
    );
    assert_eq!(messages(patterns, &[message(Role::User, "")], any), fails_at("[0]"));
    let split =
        json!([{"role": "tool", "tool_call_id": "c1"}, {"role": "assistant"}, {"role": "tool", "tool_call_id": "c2"}]);
    let turned = [result("c2", ""), message(Role::Assistant, ""), result("c1", "")];
    assert!(messages(split, &turned, any).is_err());
}

#[test]
fn optional_results_may_be_missing_from_an_unordered_run() {
    let patterns = json!([{"role": "tool", "optional": true}, {"role": "tool", "tool_call_id": "c1"}]);
    assert_eq!(
        messages(patterns.clone(), &[result("c1", "")], ResultsOrder::Any),
        Ok(())
    );
    assert_eq!(
        messages(patterns, &[result("c1", ""), result("c9", "")], ResultsOrder::Any),
        Ok(())
    );
    let other = json!([{"role": "tool", "optional": true}, {"role": "tool", "tool_call_id": "c1"}]);
    assert_eq!(messages(other, &[result("c9", "")], ResultsOrder::Any), fails_at("[1]"));
}

#[test]
fn the_order_of_results_is_also_free_inside_requests() {
    let mut observed = observed();
    let results = vec![result("c2", ""), result("c1", "")];
    observed.model_calls = vec![ModelCall {
        model: "main".into(),
        messages: results,
        ..ModelCall::default()
    }];
    let calls = json!([{"model": "main", "messages": [{"role": "tool", "tool_call_id": "c1"}, {"role": "tool", "tool_call_id": "c2"}]}]);
    assert_eq!(
        check(json!({"model_calls": calls, "tool_results_order": "any"}), &observed),
        Ok(())
    );
    assert_eq!(
        check(json!({"model_calls": calls}), &observed),
        fails_at("expect.model_calls[0].messages[0].tool_call_id")
    );
}

#[test]
fn the_mismatch_that_got_furthest_is_reported() {
    let patterns = json!([{"role": "user"}, {"role": "assistant", "text": "a"}, {"role": "user", "text": "b"}]);
    let got = [
        message(Role::User, ""),
        message(Role::Assistant, "a"),
        message(Role::User, "c"),
    ];
    assert_eq!(messages(patterns, &got, ResultsOrder::Listed), fails_at("[2].text"));
}

proptest! {
    /// Many optional patterns that all fit must not make the search explode.
    #[test]
    fn optional_patterns_are_searched_in_reasonable_time(patterns in 0_usize..60, got in 0_usize..60) {
        let optional = json!({"role": "user", "optional": true});
        let got = vec![message(Role::User, ""); got];
        let fits = messages(Value::from(vec![optional; patterns]), &got, ResultsOrder::Listed).is_ok();
        prop_assert_eq!(fits, got.len() <= patterns);
    }

    #[test]
    fn a_shuffled_run_of_results_fits_its_own_patterns(order in Just((0..8).collect::<Vec<usize>>()).prop_shuffle()) {
        let patterns: Vec<_> = (0..8).map(|n| json!({"role": "tool", "tool_call_id": format!("c{n}")})).collect();
        let got: Vec<_> = order.iter().map(|n| result(&format!("c{n}"), "")).collect();
        prop_assert_eq!(messages(Value::from(patterns), &got, ResultsOrder::Any), Ok(()));
    }
}
