//! Wraps around model calls and tool calls: nesting, retries, answers in place of the wrapped.

use std::sync::Arc;

use catena::message::Part;
use catena::middleware::{wrap_model_fn, wrap_tool_fn};
use catena::model::ModelErrorKind;
use catena::prelude::*;
use catena::prompt::Trusted;
use catena::state::Slot;
use catena::testing::{Reply, call, calls, say, scripted};
use catena::tool::Tool;
use serde_json::json;
use tokio::sync::Barrier;

use crate::kit::{Log, at, echo, lines, noting, text, tool, watch};

/// A wrap that adds its name to the prompt after noting what was there.
fn adds(name: &'static str, priority: u16, log: &Log) -> impl Middleware + use<> {
    let log = log.clone();
    at(
        priority,
        wrap_model_fn(name, move |mut request, next| {
            log.add(format!("{name} sees {}", request.prompt.render().replace("\n\n", "+")));
            request.prompt.push(name, Stability::PerTurn, Trusted(name.to_owned()));
            Box::pin(async move { next.call(request).await })
        }),
    )
}

/// A wrap that passes everything on.
fn passes(name: &'static str) -> impl Middleware {
    wrap_model_fn(name, |request, next| Box::pin(async move { next.call(request).await }))
}

/// LC-WRAP-02: what layers add to the prompt accumulates, and each sees it as it was before its own addition.
#[tokio::test]
async fn additions_to_the_prompt_accumulate_inwards() {
    let log = Log::default();
    let model = scripted([say("done")]);
    let builder = Agent::builder(model.clone()).prompt("base");
    let agent = builder
        .with(adds("c", 3, &log))
        .with(adds("a", 1, &log))
        .with(adds("b", 2, &log))
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(log.take(), ["a sees base", "b sees base+a", "c sees base+a+b"]);
    assert_eq!(model.requests()[0].prompt.render(), "base\n\na\n\nb\n\nc");
}

/// LC-WRAP-04: a layer that calls the rest twice does not double what inner layers add.
#[tokio::test]
async fn a_retry_does_not_double_what_inner_layers_add() {
    let log = Log::default();
    let model = scripted([Reply::error(503, "overloaded"), say("done").usage(4, 2)]);
    let retry = at(
        1,
        wrap_model_fn("retry", |request, next| {
            Box::pin(async move {
                match next.call(request.clone()).await {
                    Err(error) if error.as_model().is_some_and(|e| e.is_retryable()) => next.call(request).await,
                    other => other,
                }
            })
        }),
    );
    let agent = Agent::builder(model.clone())
        .with(adds("inner", 2, &log))
        .with(retry)
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    let prompts: Vec<_> = model.requests().iter().map(|request| request.prompt.render()).collect();
    assert_eq!(prompts, ["inner", "inner"]);
    assert_eq!((result.totals.turns, result.totals.attempts), (1, 2));
}

/// LC-WRAP-07: a layer may clear the prompt; then there is none.
#[tokio::test]
async fn a_cleared_prompt_is_empty() {
    let model = scripted([say("done")]);
    let clear = wrap_model_fn("clear", |mut request, next| {
        request.prompt.retain(|_| false);
        Box::pin(async move { next.call(request).await })
    });
    Agent::builder(model.clone())
        .prompt("base")
        .with(clear)
        .build()
        .unwrap()
        .run("go")
        .await
        .unwrap();
    assert!(model.requests()[0].prompt.is_empty());
}

/// LC-WRAP-08: another model in the request answers that call only, and its message says so.
#[tokio::test]
async fn another_model_answers_one_call_only() {
    let usual = scripted([say("usual")]);
    let other = Arc::new(catena::testing::ScriptedModel::new(
        "other:model",
        [call("echo", text("x"))],
    ));
    let swap = {
        let other = other.clone();
        wrap_model_fn("swap", move |mut request, next| {
            if next.run().turn() == 0 {
                request.model = other.clone();
            }
            Box::pin(async move { next.call(request).await })
        })
    };
    let agent = Agent::builder(usual.clone()).tool(echo()).with(swap).build().unwrap();
    let result = agent.run("go").await.unwrap();
    let models: Vec<_> = result
        .messages
        .iter()
        .filter_map(|m| m.as_assistant()?.model.clone())
        .collect();
    assert_eq!(models, ["other:model", "scripted:test"]);
    assert_eq!((usual.requests().len(), other.requests().len()), (1, 1));
}

/// LC-WRAP-12, LC-WRAP-17: an outer layer gets the message as inner layers changed it; the calls of the message that comes out of the chain
/// are the ones that are run.
#[tokio::test]
async fn what_comes_out_of_the_chain_is_what_counts() {
    let log = Log::default();
    let edit = |name: &'static str, from: &'static str, to: &'static str| {
        let log = log.clone();
        wrap_model_fn(name, move |request, next| {
            let log = log.clone();
            Box::pin(async move {
                let mut response = next.call(request).await?;
                for call in response.message.calls_mut() {
                    log.add(format!("{name} gets {}", call.input["text"]));
                    if call.input["text"] == from {
                        call.input = text(to);
                    }
                }
                Ok(response)
            })
        })
    };
    let agent = Agent::builder(scripted([call("note", text("one")), say("done")]))
        .tool(noting("note", &log))
        .with(at(1, edit("outer", "two", "three")))
        .with(at(2, edit("inner", "one", "two")))
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(log.take(), [r#"inner gets "one""#, r#"outer gets "two""#, "note three"]);
    assert_eq!(lines(&result.messages)[1], r#"agent: [note {"text":"three"}]"#);
}

/// LC-WRAP-14: an error keeps its type through any number of layers.
#[tokio::test]
async fn an_error_keeps_its_type_through_every_layer() {
    let log = Log::default();
    let looks = {
        let log = log.clone();
        at(
            1,
            wrap_model_fn("looks", move |request, next| {
                let log = log.clone();
                Box::pin(async move {
                    let result = next.call(request).await;
                    if let Err(Error::Model(error)) = &result {
                        log.add(format!("{:?} {}", error.kind, error.is_retryable()));
                    }
                    result
                })
            }),
        )
    };
    let builder = Agent::builder(scripted([Reply::error(429, "slow down")])).with(looks);
    let builder = builder.with(passes("a")).with(passes("b")).with(passes("c"));
    let error = builder.build().unwrap().run("go").await.unwrap_err();
    assert_eq!(log.take(), ["RateLimited true"]);
    assert!(
        matches!(error, Error::Model(model) if model.kind == ModelErrorKind::RateLimited && model.status == Some(429))
    );
}

/// LC-WRAP-15: a tool's question passes through all layers unchanged.
#[tokio::test]
async fn a_question_passes_through_all_layers() {
    let ask = tool("ask", |_, context| async move {
        match context.answer() {
            None => ToolOutcome::Interrupt(catena::interrupt::InterruptRequest::question("how many?")),
            Some(answer) => ToolOutput::text(format!("{answer:?}")).into(),
        }
    });
    let pass = |name: &'static str| wrap_tool_fn(name, |call, next| Box::pin(async move { next.call(call).await }));
    let agent = Agent::builder(scripted([call("ask", json!({}))]))
        .tool(ask)
        .with(pass("a"))
        .with(pass("b"))
        .build()
        .unwrap();
    let paused = agent.run("go").await.unwrap();
    assert_eq!(paused.pauses()[0].request.description, "how many?");
    assert_eq!(paused.pauses()[0].asked_by, catena::interrupt::Asker::Tool);
}

/// LC-WRAP-16: runs beside each other do not see each other's prompts.
#[tokio::test]
async fn concurrent_runs_have_prompts_of_their_own() {
    let meet = Arc::new(Barrier::new(2));
    let model = scripted([say("one"), say("two")]);
    let sign = wrap_model_fn("sign", move |mut request, next| {
        let meet = meet.clone();
        Box::pin(async move {
            let thread = next.run().thread_id().to_string();
            request.prompt.push("sign", Stability::PerTurn, Trusted(thread));
            meet.wait().await;
            next.call(request).await
        })
    });
    let agent = Agent::builder(model.clone()).with(sign).build().unwrap();
    let (a, b) = tokio::join!(
        agent.run(Input::new("a").thread("a")),
        agent.run(Input::new("b").thread("b"))
    );
    a.and(b).unwrap();
    for request in model.requests() {
        assert_eq!(request.prompt.render(), request.messages[0].text());
    }
}

/// LC-WRAP-11: state that a layer changes is changed once, whatever layers stand around it.
#[tokio::test]
async fn state_that_a_wrap_changes_is_kept_once() {
    const CALLS: Slot<u32> = Slot::thread("counts.calls");
    let counts = wrap_model_fn("counts", |request, next| {
        Box::pin(async move {
            let response = next.call(request).await?;
            next.run().update(&CALLS, |calls| *calls += 1)?;
            Ok(response)
        })
    });
    let agent = Agent::builder(scripted([say("hi")]))
        .with(passes("outer"))
        .with(counts)
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    let slots: Vec<_> = agent
        .thread(&"t".into())
        .await
        .unwrap()
        .slots()
        .map(|(key, _, value)| (key, (*value).clone()))
        .collect();
    assert_eq!(slots, [("counts.calls".to_owned(), json!(1))]);
}

/// CORE-WRAP-01: the offer that is kept with a message is that of the request it answers, not of a later attempt.
#[tokio::test]
async fn the_offer_is_that_of_the_answer_that_was_taken() {
    let log = Log::default();
    let model = scripted([call("note", text("x")), say("second"), say("done")]);
    let twice = wrap_model_fn("twice", |request, next| {
        Box::pin(async move {
            let first = next.call(request.clone()).await?;
            if next.run().turn() == 0 {
                let mut bare = request;
                bare.tools_mut().clear();
                next.call(bare).await?;
            }
            Ok(first)
        })
    });
    let agent = Agent::builder(model)
        .tool(noting("note", &log))
        .with(twice)
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(log.take(), ["note x"]);
}

/// LC-TOOL-02: a layer's change to the input reaches the tool; one that does not fit the schema is the call's error.
#[tokio::test]
async fn a_wrap_may_change_the_input_within_the_schema() {
    let log = Log::default();
    let rewrite = wrap_tool_fn("rewrite", |mut call, next| {
        call.input = match call.input["text"] == "break" {
            true => json!({"text": 1}),
            false => text("rewritten"),
        };
        Box::pin(async move { next.call(call).await })
    });
    let agent = Agent::builder(scripted([
        calls([("note", text("a")), ("note", text("break"))]),
        say("done"),
    ]))
    .tool(noting("note", &log))
    .with(rewrite)
    .build()
    .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(log.take(), ["note rewritten"]);
    assert!(
        lines(&result.messages)[3].contains("does not fit its schema"),
        "{:?}",
        lines(&result.messages)
    );
}

/// LC-TOOL-04: a tool that a middleware offers for this run is called like any other.
#[tokio::test]
async fn tools_may_depend_on_the_run() {
    const OPEN: Slot<bool> = Slot::thread("skills.open");
    struct Skills(Log);
    #[middleware]
    impl Middleware for Skills {
        fn name(&self) -> &str {
            "skills"
        }
        async fn tools(&self, run: &RunContext) -> Result<Vec<Arc<dyn Tool>>> {
            let open = tool("open", |_, context: ToolContext| async move {
                let opened = context.run().update(&OPEN, |open| *open = true);
                opened
                    .map(|()| "opened")
                    .map_err(|error| ToolError::new(error.to_string()))
            });
            let mut tools: Vec<Arc<dyn Tool>> = vec![Arc::new(open)];
            if *run.get(&OPEN)? {
                tools.push(Arc::new(noting("inside", &self.0)));
            }
            Ok(tools)
        }
    }
    let log = Log::default();
    let script = [
        call("inside", text("early")),
        call("open", json!({})),
        call("inside", text("x")),
        say("done"),
        say("later"),
    ];
    let model = scripted(script);
    let agent = Agent::builder(model.clone()).with(Skills(log.clone())).build().unwrap();
    let result = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(
        lines(&result.messages)[2],
        "inside! there is no tool `inside`; available: open"
    );
    assert_eq!(log.take(), ["inside x"]);
    agent.run(Input::new("again").thread("t")).await.unwrap();
    assert_eq!(
        model.requests().last().unwrap().tools.len(),
        2,
        "it depends on the thread's state alone"
    );
}

/// LC-TOOL-08: a wrap that fails is the call's error; one that ends the run on purpose fails it, and says who with which word.
#[tokio::test]
async fn a_wrap_that_ends_the_run_fails_it() {
    let guard = wrap_tool_fn("guard", |_, _| {
        Box::pin(async {
            Err(Error::Ended {
                kind: "quota".into(),
                message: "no money left".into(),
            })
        })
    });
    let agent = Agent::builder(scripted([call("echo", text("x"))]))
        .tool(echo())
        .with(guard)
        .build()
        .unwrap();
    let error = agent.run(Input::new("go").thread("t")).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), ("quota", "no money left"));
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(lines(&thread.view())[2], "echo! error: no money left");
}

/// CORE-WRAP-02: a wrap that answers in the tool's place is reported as such, and after_tool_call sees its answer.
#[tokio::test]
async fn a_wrap_may_answer_in_the_tools_place() {
    let log = Log::default();
    let emulate = wrap_tool_fn("emulate", |_, _| {
        Box::pin(async { Ok(ToolOutput::text("made up").into()) })
    });
    let agent = Agent::builder(scripted([call("note", text("x")), say("done")]))
        .tool(noting("note", &log))
        .with(emulate)
        .with(crate::kit::spy("m", 600, &log))
        .build()
        .unwrap();
    let (events, result) = watch(&agent, "go").await;
    assert_eq!(lines(&result.unwrap().messages)[2], "note: made up");
    assert_eq!([log.count("note x"), log.count("m.after_tool_call")], [0, 1]);
    assert_eq!(
        crate::kit::of_hook(&events, "emulate", catena::middleware::Hook::WrapToolCall),
        ["answered"]
    );
}

/// CORE-WRAP-03: a message that a wrap writes needs no provider: it is named, counted as a turn, and costs nothing.
#[tokio::test]
async fn an_answer_in_the_models_place_is_a_turn_without_attempts() {
    let canned = wrap_model_fn("canned", |_, _| Box::pin(async { Ok(ModelResponse::text("canned")) }));
    let agent = Agent::builder(scripted([])).with(canned).build().unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(
        (result.text().as_str(), result.totals.turns, result.totals.attempts),
        ("canned", 1, 0)
    );
    let message = result.messages[1].as_assistant().unwrap();
    assert_eq!(
        (message.name.as_deref(), message.model.as_deref()),
        (Some("agent"), None)
    );
    assert_eq!(message.parts, [Part::text("canned")]);
}
