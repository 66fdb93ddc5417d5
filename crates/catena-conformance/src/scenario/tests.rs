//! Reading scenarios: what is accepted, and the path of what is not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use super::*;
use crate::load;

fn base() -> Value {
    json!({
        "name": "group/case",
        "about": "A case.",
        "tools": [{"name": "search", "description": "Search", "behavior": [{"return": "found {q}"}]}],
        "models": {"main": [{"text": "done"}]},
        "middleware": [{"use": "probe", "options": {"name": "A"}}],
        "turns": [{"user": "go"}],
        "expect": {"outcome": "done"},
        "source": "by hand"
    })
}

fn with(key: &str, value: Value) -> Result<Scenario, ReadError> {
    let mut scenario = base();
    scenario[key] = value;
    Scenario::parse(&scenario.to_string())
}

fn problem(key: &str, value: Value) -> String {
    with(key, value).unwrap_err().to_string()
}

#[test]
fn every_scenario_of_the_project_parses() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance");
    let files = load::find(dir.as_ref()).unwrap();
    assert!(files.len() >= 197, "only {} scenario files found", files.len());
    let mut names = BTreeSet::new();
    for file in files {
        let scenario = load::scenario(&file).unwrap();
        let group = file
            .parent()
            .and_then(|parent| parent.file_name())
            .unwrap()
            .to_str()
            .unwrap();
        assert_eq!(scenario.name.split('/').next(), Some(group), "{}", file.display());
        assert!(
            names.insert(scenario.name.clone()),
            "{} is the name of two scenarios",
            scenario.name
        );
    }
}

#[test]
fn a_minimal_scenario_needs_name_models_turns_and_expect() {
    let minimal = json!({"name": "a/b", "models": {}, "turns": [{"user": "go"}], "expect": {}});
    let scenario = Scenario::parse(&minimal.to_string()).unwrap();
    assert!(scenario.tools.is_empty() && scenario.middleware.is_empty() && scenario.system_prompt.is_none());
    for key in ["name", "models", "turns", "expect"] {
        let mut lacking = minimal.clone();
        lacking.as_object_mut().unwrap().remove(key);
        assert!(Scenario::parse(&lacking.to_string()).unwrap_err().problem.contains(key));
    }
}

#[test]
fn unknown_keys_are_errors_at_every_level() {
    let cases = [
        ("model", json!("main"), "model"),
        (
            "tools",
            json!([{"name": "a", "description": "", "schema": {}}]),
            "tools[0].schema",
        ),
        (
            "tools",
            json!([{"name": "a", "behavior": [{"return": "x", "delay": 1}]}]),
            "tools[0].behavior[0].delay",
        ),
        (
            "models",
            json!({"main": [{"text": "x", "reasoning": "y"}]}),
            "models.main[0].reasoning",
        ),
        (
            "models",
            json!({"main": [{"tool_calls": [{"id": "1", "name": "a", "args": {}, "arguments": ""}]}]}),
            "models.main[0].tool_calls[0].arguments",
        ),
        (
            "models",
            json!({"main": [{"error": {"status": 500, "reason": ""}}]}),
            "models.main[0].error.reason",
        ),
        (
            "models",
            json!({"main": [{"text": "x", "usage": {"input": 1, "output": 1, "total": 2}}]}),
            "models.main[0].usage.total",
        ),
        (
            "model_profiles",
            json!({"main": {"max_input_tokens": 1, "x": 1}}),
            "model_profiles.main.x",
        ),
        ("middleware", json!([{"use": "pii", "name": "x"}]), "middleware[0].name"),
        ("turns", json!([{"user": "go", "input": "x"}]), "turns[0].input"),
        (
            "turns",
            json!([{"messages": [{"role": "user", "content": "x"}]}]),
            "turns[0].messages[0].content",
        ),
        (
            "files",
            json!({"/a": {"repeat": "x", "times": 1, "y": 1}}),
            "files./a.y",
        ),
        ("expect", json!({"result": "done"}), "expect.result"),
        (
            "expect",
            json!({"model_calls": [{"model": "main", "prompt": ""}]}),
            "expect.model_calls[0].prompt",
        ),
        (
            "expect",
            json!({"final_messages": [{"role": "user", "name": ""}]}),
            "expect.final_messages[0].name",
        ),
        (
            "expect",
            json!({"error": {"kind": "config", "code": ""}}),
            "expect.error.code",
        ),
        ("expect", json!({"state": {"notes": []}}), "expect.state.notes"),
    ];
    for (key, value, path) in cases {
        let error = with(key, value).unwrap_err();
        assert_eq!(error.path, path);
        assert!(error.problem.starts_with("unknown key"), "{error}");
    }
}

#[test]
fn steps_repeat_the_last_one_and_default_to_ok() {
    let tools = json!([
        {"name": "a", "description": "", "behavior": [{"error": "down", "kind": "timeout"}, {"return": "up {q}"}]},
        {"name": "b", "description": ""}
    ]);
    let scenario = with("tools", tools).unwrap();
    let step = |n| scenario.tools[0].step(n, &json!({"q": 1}));
    assert_eq!(
        step(0),
        Step::Error {
            message: Text("down".into()),
            kind: Some("timeout".into())
        }
    );
    assert_eq!(step(1), Step::Return(Text("up 1".into())));
    assert_eq!(step(7), Step::Return(Text("up 1".into())));
    assert_eq!(scenario.tools[1].step(0, &Value::Null), Step::Return(Text("ok".into())));
}

#[test]
fn a_step_returns_or_fails_and_only_failures_have_a_kind() {
    let behavior = |steps: Value| with("tools", json!([{"name": "a", "description": "", "behavior": steps}]));
    assert!(behavior(json!([{"return": "x", "error": "y"}])).is_err());
    assert!(behavior(json!([{}])).is_err());
    assert!(behavior(json!([{"return": "x", "kind": "timeout"}])).is_err());
}

#[test]
fn a_tool_without_parameters_takes_any_object() {
    let scenario = with("tools", json!([{"name": "a", "description": ""}])).unwrap();
    assert_eq!(scenario.tools[0].schema(), json!({"type": "object"}));
}

#[test]
fn replies_of_all_kinds_are_read() {
    let replies = json!({"main": [
        {"text": {"repeat": "x", "times": 2}, "usage": {"input": 3, "output": 4}},
        {"text": "wait", "tool_calls": [{"id": "1", "name": "a", "args": {"b": {"repeat": "y", "times": 2}}}]},
        {"raw_tool_calls": [{"id": "2", "name": "a", "arguments": "{\"b"}]},
        {"structured": {"tools": []}},
        {"error": {"status": 429, "message": "slow down", "code": "rate", "retry_after": 1.5}}
    ]});
    let main = with("models", replies).unwrap().models.remove("main").unwrap();
    assert_eq!(main[0].usage, Some(Usage { input: 3, output: 4 }));
    assert_eq!(
        main[0].answer,
        Answer::Message {
            text: Text("xx".into()),
            calls: vec![]
        }
    );
    let Answer::Message { text, calls } = &main[1].answer else {
        panic!("not a message")
    };
    assert_eq!(
        (text.as_str(), &calls[0].arguments),
        ("wait", &Arguments::Parsed(json!({"b": "yy"})))
    );
    let Answer::Message { calls, .. } = &main[2].answer else {
        panic!("not a message")
    };
    assert_eq!(calls[0].arguments, Arguments::Raw("{\"b".into()));
    assert_eq!(main[3].answer, Answer::Structured(json!({"tools": []})));
    let failure = Failure {
        status: 429,
        message: Text("slow down".into()),
        code: Some("rate".into()),
        retry_after: Some(1.5),
    };
    assert_eq!(main[4].answer, Answer::Failure(failure));
}

#[test]
fn a_reply_is_one_thing_and_a_failure_has_no_usage() {
    for reply in [
        json!({}),
        json!({"usage": {"input": 1, "output": 1}}),
        json!({"structured": {}, "text": "x"}),
        json!({"structured": []}),
        json!({"error": {"status": 500, "message": ""}, "text": "x"}),
        json!({"error": {"status": 500, "message": ""}, "usage": {"input": 1, "output": 1}}),
        json!({"error": {"status": 70000, "message": ""}}),
        json!({"error": {"status": 500, "message": "", "retry_after": -1}}),
        json!({"tool_calls": []}),
    ] {
        assert!(with("models", json!({"main": [reply]})).is_err(), "{reply}");
    }
}

#[test]
fn a_turn_is_a_user_text_or_messages_or_a_resume() {
    let turns = json!([
        {"user": "go"},
        {"messages": [{"role": "tool", "text": "x", "tool_call_id": "1", "name": "a", "status": "error"}], "thread": "other"},
        {"resume": {"decisions": [{"type": "approve"}]}}
    ]);
    let turns = with("turns", turns).unwrap().turns;
    assert_eq!((turns[0].thread.as_str(), turns[1].thread.as_str()), ("main", "other"));
    let TurnInput::Messages(messages) = &turns[1].input else {
        panic!("not messages")
    };
    assert!(messages[0].failed);
    assert_eq!(messages[0].name.as_deref(), Some("a"));
    assert_eq!(
        turns[2].input,
        TurnInput::Resume(json!({"decisions": [{"type": "approve"}]}))
    );
    assert!(with("turns", json!([{"user": "a", "resume": 1}])).is_err());
    assert!(with("turns", json!([{"thread": "a"}])).is_err());
    assert!(with("turns", json!([])).is_err());
}

#[test]
fn roles_outcomes_and_orders_are_words_of_the_format() {
    assert!(
        problem("turns", json!([{"messages": [{"role": "human", "text": ""}]}])).contains("turns[0].messages[0].role")
    );
    assert!(problem("turns", json!([{"messages": [{"role": "tool", "status": "ok"}]}])).contains("status"));
    assert!(problem("expect", json!({"outcome": "finished"})).contains("expect.outcome"));
    assert!(problem("expect", json!({"model_calls_order": "any"})).contains("expect.model_calls_order"));
    assert!(problem("expect", json!({"tool_executions_order": "per_model"})).contains("expect.tool_executions_order"));
    assert!(problem("expect", json!({"tool_results_order": "listed"})).contains("expect.tool_results_order"));
}

#[test]
fn private_tools_are_tools_that_the_agent_does_not_get() {
    let mut scenario = base();
    scenario["tools"] = json!([{"name": "a", "description": ""}, {"name": "b", "description": ""}]);
    scenario["private_tools"] = json!(["a"]);
    let parsed = Scenario::parse(&scenario.to_string()).unwrap();
    assert_eq!(
        parsed.agent_tools().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        ["b"]
    );
    scenario["private_tools"] = json!(["c"]);
    assert_eq!(
        Scenario::parse(&scenario.to_string()).unwrap_err().path,
        "private_tools"
    );
}

#[test]
fn two_tools_of_one_name_are_an_error() {
    assert!(
        problem(
            "tools",
            json!([{"name": "a", "description": ""}, {"name": "a", "description": ""}])
        )
        .contains("`a`")
    );
}

#[test]
fn expected_turns_have_one_entry_a_turn() {
    assert!(problem("expect", json!({"turns": [{}, {}]})).contains("1 turns, 2 entries"));
    assert!(with("expect", json!({"turns": [{}]})).is_ok());
}

#[test]
fn text_that_is_not_json_is_an_error() {
    assert!(
        Scenario::parse("{\"name\":")
            .unwrap_err()
            .problem
            .starts_with("not JSON")
    );
}
