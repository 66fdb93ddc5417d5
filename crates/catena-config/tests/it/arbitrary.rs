//! Text that nobody meant as a configuration.

use proptest::prelude::*;

use crate::support::parse;

fn keys() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "models",
        "agents",
        "store",
        "principals",
        "default_agent",
        "model",
        "prompt",
        "tools",
        "middleware",
        "use",
        "off",
        "output",
        "extra",
        "limits",
        "a",
        "\"\"",
        "\"a b\"",
        "sk-proj-abcdefghijklmnop",
    ])
}

fn values() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("true".to_owned()),
        Just("1979-05-27".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| format!("{number:?}")),
        "[a-z:.é值\\t]{0,12}".prop_map(|text| format!("{text:?}")),
        keys().prop_map(|key| format!("{key:?}")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
            proptest::collection::vec((keys(), inner), 0..3).prop_map(|members| {
                let members: Vec<String> = members
                    .into_iter()
                    .map(|(key, value)| format!("{key} = {value}"))
                    .collect();
                format!("{{ {} }}", members.join(", "))
            }),
        ]
    })
}

fn lines() -> impl Strategy<Value = String> {
    let header = (keys(), keys()).prop_map(|(table, name)| format!("[{table}.{name}]"));
    let member = (keys(), values()).prop_map(|(key, value)| format!("{key} = {value}"));
    proptest::collection::vec(prop_oneof![header, member], 0..8).prop_map(|lines| lines.join("\n"))
}

/// Every problem has a place in the text or none at all, and there is something to show.
fn survives(text: &str) {
    if let Err(errors) = parse(text) {
        assert!(!errors.problems().is_empty());
        for problem in errors.problems() {
            assert!(
                problem.line.unwrap_or(1) <= text.matches('\n').count() + 1,
                "{problem:?}"
            );
        }
        let shown = errors.to_string();
        assert!(!shown.contains("abcdefghijklmnop"), "{shown}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        survives(&text);
    }

    #[test]
    fn anything_that_looks_like_toml_is_read_or_refused(text in lines()) {
        survives(&text);
    }
}

#[test]
fn text_that_nests_without_end_is_refused() {
    for text in [
        "a = ".to_owned() + &"[".repeat(100_000),
        "a.".repeat(100_000) + "a = 1",
        "a = ".to_owned() + &"{a=".repeat(100_000),
    ] {
        assert!(parse(&text).is_err());
    }
}
