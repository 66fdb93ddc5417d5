//! What comes of a call: its result, its error, and the end of the run.

use catena::message::{Part, ToolCall};
use catena::middleware::{gate_fn, wrap_tool_fn};
use catena::prelude::*;
use catena::record::CallStatus;
use catena::testing::{call, calls, say, scripted};
use catena::tool::{FnTool, Json};
use serde_json::json;

use crate::kit::{echo, lines, text, tool, view};

/// LC-TOOL-05, LC-TOOL-06, FC-193: a tool's error is a result that the model can act on, and the run goes on; a wrap that passes everything
/// on changes nothing about that; a failed tool is visible to the model as a failure, before its next call.
#[tokio::test]
async fn a_tools_error_is_a_result() {
    let pass = || wrap_tool_fn("pass", |call, next| Box::pin(async move { next.call(call).await }));
    let fails = || {
        tool("create_dir", |_, _| async {
            let cause = std::io::Error::other("/srv/host/path is read-only");
            Err::<(), _>(ToolError::new("the folder exists").kind("exists").with_source(cause))
        })
    };
    for wrapped in [false, true] {
        let model = scripted([call("create_dir", json!({})), say("I see.")]);
        let builder = Agent::builder(model.clone()).tool(fails());
        let builder = if wrapped { builder.with(pass()) } else { builder };
        let result = builder.build().unwrap().run("go").await.unwrap();
        assert_eq!(result.text(), "I see.");
        assert_eq!(lines(&model.last_messages())[2], "create_dir! error: the folder exists");
    }
}

/// LC-TOOL-07: an input that the schema lets pass and the type does not is a typed error without a stack trace.
#[tokio::test]
async fn an_input_that_only_the_type_refuses_is_an_error_result() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Page {
        /// A number that JSON Schema calls an integer and the type does not hold.
        #[schemars(with = "i64")]
        number: u8,
    }
    let read = tool_fn("read", "Reads a page.", |page: Page, _| async move {
        page.number.to_string()
    });
    let agent = Agent::builder(scripted([call("read", json!({"number": 300})), say("sorry")]))
        .tool(read)
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    let told = &lines(&result.messages)[2];
    assert!(
        told.starts_with("read! error: the input does not fit: invalid value: integer `300`"),
        "{told}"
    );
    assert!(!told.contains(".rs"), "{told}");
}

/// LC-TOOL-10: a text is the result as it is, anything else is its JSON.
#[tokio::test]
async fn results_are_texts_or_json() {
    #[derive(serde::Serialize)]
    struct Found {
        hits: u32,
    }
    let agent = Agent::builder(scripted([
        calls(["text", "json", "typed", "nothing", "parts"].map(|name| (name, json!({})))),
        say("done"),
    ]))
    .tool(tool("text", |_, _| async { "plain \"words\"" }))
    .tool(tool("json", |_, _| async { json!({"a": [1, 2]}) }))
    .tool(tool("typed", |_, _| async { Json(Found { hits: 3 }) }))
    .tool(tool("nothing", |_, _| async {}))
    .tool(tool("parts", |_, _| async {
        ToolOutput::parts(vec![Part::text("a"), Part::text("b")]).with_artifact(json!(7))
    }))
    .build()
    .unwrap();
    let result = agent.run("go").await.unwrap();
    let told = lines(&result.messages);
    assert_eq!(
        told[2..7],
        [
            "text: plain \"words\"",
            r#"json: {"a":[1,2]}"#,
            r#"typed: {"hits":3}"#,
            "nothing:",
            "parts: ab"
        ]
    );
    assert_eq!(result.messages[6].as_tool().unwrap().artifact, Some(json!(7)));
}

/// A tool whose result ends the run; it fails when its text is `fail`.
fn submit(name: &str) -> FnTool {
    tool_fn(name, "Hands it in.", |input: crate::kit::Text, _| async move {
        if input.text == "fail" {
            Err("the office is closed")
        } else {
            Ok(input.text)
        }
    })
    .configure(|spec| spec.ends_run())
}

async fn submitted(batch: catena::testing::Reply) -> (Vec<String>, Outcome) {
    let agent = Agent::builder(scripted([batch, say("and on")]))
        .tool(submit("submit"))
        .tool(echo())
        .build()
        .unwrap();
    let result = agent.run(Input::new("go").thread("t")).await.unwrap();
    (lines(&view(&agent, "t").await)[2..].to_vec(), result.outcome)
}

/// LC-TOOL-13: the result of a tool that ends the run is the end of it: the model is not asked again.
#[tokio::test]
async fn a_tool_may_end_the_run() {
    let (said, outcome) = submitted(call("submit", text("x"))).await;
    assert_eq!((said, outcome), (vec!["submit: x".to_owned()], Outcome::Done));
}

/// LC-TOOL-14: the run ends only if all calls of the message are of such tools; beside another call it goes on, in whatever order.
#[tokio::test]
async fn a_run_ends_by_tools_only_if_all_of_them_end_it() {
    let both = submitted(calls([("submit", text("a")), ("submit", text("b"))])).await.0;
    assert_eq!(both, ["submit: a", "submit: b"]);
    let first = submitted(calls([("submit", text("a")), ("echo", text("b"))])).await.0;
    assert_eq!(first, ["submit: a", "echo: b", "agent: and on"]);
    let last = submitted(calls([("echo", text("a")), ("submit", text("b"))])).await.0;
    assert_eq!(last, ["echo: a", "submit: b", "agent: and on"]);
}

/// LC-TOOL-15: a failed call of a tool that ends the run does not end it.
#[tokio::test]
async fn a_failed_call_does_not_end_the_run() {
    let said = submitted(call("submit", text("fail"))).await.0;
    assert_eq!(said, ["submit! error: the office is closed", "agent: and on"]);
    let said = submitted(calls([("submit", text("a")), ("submit", text("fail"))]))
        .await
        .0;
    assert_eq!(said.last().unwrap(), "agent: and on");
}

/// CORE-TOOL-07: a result that after_tool_call turns into an error does not end the run either.
#[tokio::test]
async fn a_result_that_is_turned_into_an_error_does_not_end_the_run() {
    struct Refuses;
    #[middleware]
    impl Middleware for Refuses {
        fn name(&self) -> &str {
            "refuses"
        }
        async fn after_tool_call(&self, _: &mut Turn, _: &ToolCall, output: &mut ToolOutput) -> Result<()> {
            *output = ToolOutput::error("not like this");
            Ok(())
        }
    }
    let agent = Agent::builder(scripted([call("submit", text("x")), say("and on")]))
        .tool(submit("submit"))
        .with(Refuses)
        .build()
        .unwrap();
    assert_eq!(agent.run("go").await.unwrap().text(), "and on");
}

/// ZC-TOOL-21: the digest is that of what the tool gave: equal for equal outputs, whatever middlewares make of them.
#[tokio::test]
async fn the_digest_is_that_of_the_raw_output() {
    struct Rewrites;
    #[middleware]
    impl Middleware for Rewrites {
        fn name(&self) -> &str {
            "rewrites"
        }
        async fn after_tool_call(&self, turn: &mut Turn, _: &ToolCall, output: &mut ToolOutput) -> Result<()> {
            let nth = turn.run().calls().len();
            *output = ToolOutput::text(format!("{} ({nth})", output.to_text()));
            Ok(())
        }
    }
    let block = gate_fn("block", |_, call| {
        Ok(if call.input["text"] == "no" {
            ToolDecision::block("no")
        } else {
            ToolDecision::Allow
        })
    });
    let batch = calls([
        ("echo", text("a")),
        ("echo", text("a")),
        ("echo", text("b")),
        ("echo", text("no")),
    ]);
    let agent = Agent::builder(scripted([batch, say("done")]))
        .tool(echo())
        .with(Rewrites)
        .with(block)
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    let thread = agent.thread(&"t".into()).await.unwrap();
    let records = thread.run().unwrap().calls().clone();
    let digest = |text: &str| {
        let record = records
            .iter()
            .find(|record| record.input == crate::kit::text(text))
            .unwrap();
        record.digest.clone()
    };
    let of_a: Vec<_> = records
        .iter()
        .filter(|r| r.input == text("a"))
        .map(|r| r.digest.clone().unwrap())
        .collect();
    assert_eq!(of_a[0], of_a[1]);
    assert_eq!(of_a[0].len(), 64);
    assert_ne!(Some(of_a[0].clone()), digest("b"));
    assert_eq!(digest("no"), None, "what did not run has none");
    assert!(records.iter().all(|record| record.turn == 1 && record.tool == "echo"));
    assert_eq!(
        records.iter().filter(|record| record.status == CallStatus::Ok).count(),
        3
    );
}

/// FC-029, CORE-TOOL-08: a call without an id gets one, and its result carries it; an id that was used before in the thread, or twice in a
/// message, is replaced: results cannot be mixed up.
#[tokio::test]
async fn every_call_has_an_id_of_its_own() {
    let twice = say("")
        .and_call_id("same", "echo", text("a"))
        .and_call_id("same", "echo", text("b"));
    let model = scripted([
        say("").and_call_id("", "echo", text("42")),
        twice,
        say("").and_call_id("same", "echo", text("c")),
        say("done"),
    ]);
    let agent = Agent::builder(model.clone()).tool(echo()).build().unwrap();
    let result = agent.run("go").await.unwrap();
    crate::kit::assert_paired(&model.last_messages());
    let results: Vec<_> = result
        .messages
        .iter()
        .filter_map(|m| m.as_tool())
        .map(|t| (t.call.clone(), lines_of(t)))
        .collect();
    assert_eq!(
        results.iter().map(|(_, said)| said.as_str()).collect::<Vec<_>>(),
        ["42", "a", "b", "c"]
    );
    assert!(results.iter().all(|(id, _)| !id.is_empty()));
}

fn lines_of(result: &catena::message::ToolMessage) -> String {
    result.parts.iter().filter_map(Part::as_text).collect()
}
