#![allow(clippy::unwrap_used, dead_code)]

use std::collections::BTreeMap;
use std::path::Path;

use expect_test::{Expect, expect};
use schemars::JsonSchema;

use super::*;
use crate::node::parse;

#[derive(JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Options {
    /// How often.
    times: Option<u8>,
    ratio: Option<Ratio>,
    #[schemars(extend("x-aliases" = ["tool"]))]
    tool_name: Option<String>,
    mode: Option<Mode>,
    trigger: Option<Trigger>,
    step: Option<Tagged>,
    names: Vec<String>,
    any: BTreeMap<String, bool>,
}

#[derive(JsonSchema)]
struct Ratio(#[schemars(range(min = 0, max = 1))] f64);

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// Goes on.
    Continue,
    /// Ends.
    End,
}

#[derive(JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
enum Trigger {
    Tokens { tokens: u32 },
    Messages { messages: u32 },
    Never(bool),
}

#[derive(JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Tagged {
    Wait { seconds: u32 },
    Ask { whom: String },
}

/// Every misfit as `key: message (help)`, then what is left as JSON.
fn check(text: &str, expected: &Expect) {
    let source = Source::new(Path::new("x"), text);
    let mut root = parse(&source).unwrap();
    let schema = schemars::schema_for!(Options).to_value();
    let shape = Shape {
        source: &source,
        root: &schema,
    };
    let mut problems = Vec::new();
    shape.check(&mut root, &schema, &mut problems);
    let mut lines: Vec<String> = problems
        .iter()
        .map(|problem| {
            let help = problem
                .help
                .as_ref()
                .map(|help| format!(" ({help})"))
                .unwrap_or_default();
            format!("{}: {}{help}", problem.key, problem.message)
        })
        .collect();
    lines.push(root.to_json().to_string());
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn what_fits_stays_as_it_is() {
    check(
        "times = 3\nratio = 0.5\ntool = \"x\"\nmode = \"end\"\ntrigger = { messages = 1 }\nstep = { kind = \"ask\", whom = \"me\" }",
        &expect![[
            r#"{"times":3,"ratio":0.5,"tool":"x","mode":"end","trigger":{"messages":1},"step":{"kind":"ask","whom":"me"}}"#
        ]],
    );
}

#[test]
fn every_misfit_is_found_and_the_rest_stays() {
    check(
        "times = 300\nratio = 1.5\ntimse = 1\nmode = \"ended\"\nnames = [\"a\", 2, \"b\", true]\nany = { a = true, b = 1 }",
        &expect![[r#"
            times: must be at most 255, is 300
            ratio: must be at most 1, is 1.5
            timse: unknown key `timse` (did you mean `times`?)
            mode: expected `continue` or `end`, found `ended` (did you mean `end`?)
            names[1]: expected a string, found an integer
            names[3]: expected a string, found true or false
            any.b: expected `true` or `false`, found an integer
            {"names":["a","b"],"any":{"a":true}}"#]],
    );
}

#[test]
fn of_several_shapes_the_nearest_is_meant() {
    check(
        "trigger = { tokens = \"many\" }\nstep = { kind = \"wait\", second = 1 }",
        &expect![[r#"
            trigger.tokens: expected an integer, found a string
            step: `seconds` is missing
            step.second: unknown key `second` (did you mean `seconds`?)
            {"trigger":{},"step":{"kind":"wait"}}"#]],
    );
    check(
        "trigger = \"never\"\nmode = 1\ntimes = 2000-01-01",
        &expect![[r#"
        trigger: expected a table or `true` or `false`, found a string
        mode: expected `continue` or `end`, found an integer
        times: expected an integer, found a date or time
        {}"#]],
    );
}
