//! What wraps can do beside passing on: fold, look at the tool, and be seen in what they change.

use std::sync::Arc;

use async_trait::async_trait;
use catena::message::Message;
use catena::middleware::{Hook, after_model_fn, gate_fn, wrap_model_fn, wrap_tool_fn};
use catena::model::{ModelErrorKind, StopReason};
use catena::output::OutputFormat;
use catena::prelude::*;
use catena::record::Entry;
use catena::state::Slot;
use catena::testing::{Reply, call, say, scripted};
use catena::tool::{Tool, ToolSpec};
use serde_json::json;

use crate::kit::{Log, assert_paired, echo, lines, noting, of_hook, text, tool, view, warnings, watch};

/// Folds all that came before the run's input when the request is too long, and asks again.
fn compact() -> impl Middleware {
    wrap_model_fn("compact", |mut request, next| {
        Box::pin(async move {
            match next.call(request.clone()).await {
                Err(error)
                    if error
                        .as_model()
                        .is_some_and(|e| e.kind == ModelErrorKind::ContextOverflow) =>
                {
                    let up_to = request.messages[request.messages.len() - 2].id().clone();
                    next.fold(up_to, Message::user("a summary"), &mut request)?;
                    next.call(request).await
                }
                other => other,
            }
        })
    })
}

fn too_long() -> Reply {
    Reply::error(400, "prompt is too long: 250000 tokens > 200000 maximum")
}

/// CORE-WRAP-11: a wrap that the provider tells that the request is too long folds it and asks again; the fold is journalled before the
/// answer, the next turn starts from the summary, and the record keeps what was said.
#[tokio::test]
async fn a_wrap_folds_what_is_too_long() {
    let model = scripted([
        say("one"),
        too_long(),
        call("echo", text("x")),
        say("two"),
        say("three"),
    ]);
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .with(compact())
        .build()
        .unwrap();
    agent.run(Input::new("a").thread("t")).await.unwrap();
    let (events, result) = watch(&agent, Input::new("b").thread("t")).await;
    assert_eq!(result.unwrap().totals.attempts, 3);
    let asked: Vec<_> = model
        .requests()
        .iter()
        .map(|request| lines(&request.messages))
        .collect();
    assert_eq!(asked[1], ["user: a", "agent: one", "user: b"]);
    assert_eq!(asked[2], ["user: a summary", "user: b"]);
    assert_eq!(asked[3][..2], ["user: a summary", "user: b"]);
    assert_eq!(
        of_hook(&events, "compact", Hook::WrapModelCall)[0],
        "continue fold messages"
    );

    agent.run(Input::new("c").thread("t")).await.unwrap();
    assert_eq!(lines(&model.last_messages())[0], "user: a summary");
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(lines(thread.messages())[..3], ["user: a", "agent: one", "user: b"]);
    assert_paired(thread.messages());
    let entries = agent.store().load(&"t".into(), 0).await.unwrap();
    let fold = entries
        .iter()
        .position(|e| matches!(&**e, Entry::Folded { by, .. } if by == "compact"));
    assert!(matches!(&*entries[fold.unwrap() + 1], Entry::Model(_)));
}

/// CORE-WRAP-12: a fold stays even if the call fails in the end, and is done again in a correction.
#[tokio::test]
async fn a_fold_outlives_the_call_that_needed_it() {
    let model = scripted([say("one"), too_long(), Reply::error(401, "no"), say("two")]);
    let agent = Agent::builder(model.clone()).with(compact()).build().unwrap();
    agent.run(Input::new("a").thread("t")).await.unwrap();
    agent.run(Input::new("b").thread("t")).await.unwrap_err();
    agent.run(Input::new("c").thread("t")).await.unwrap();
    assert_eq!(lines(&model.last_messages()), ["user: a summary", "user: b", "user: c"]);

    let object = || OutputFormat::new("answer", json!({"required": ["n"]}));
    let model = scripted([
        Reply::structured(json!({"n": 0})),
        too_long(),
        call("answer", json!({})),
        call("answer", json!({"n": 1})),
    ]);
    let agent = Agent::builder(model.clone())
        .output(object())
        .with(compact())
        .build()
        .unwrap();
    agent.run(Input::new("a").thread("t")).await.unwrap();
    agent.run(Input::new("b").thread("t")).await.unwrap();
    assert_eq!(lines(&model.last_messages())[..2], ["user: a summary", "user: b"]);
}

/// CORE-WRAP-13: only a message of the thread can be folded up to.
#[tokio::test]
async fn a_wrap_cannot_fold_up_to_what_is_not_there() {
    let fold = wrap_model_fn("fold", |mut request, next| {
        Box::pin(async move {
            next.fold("none".into(), Message::user("s"), &mut request)?;
            next.call(request).await
        })
    });
    let agent = Agent::builder(scripted([])).with(fold).build().unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert!(error.to_string().contains("there is no message `none`"), "{error}");
}

/// CORE-WRAP-14: a wrap of a tool call sees the tool and what a person answered.
#[tokio::test]
async fn a_wrap_sees_the_tool_and_the_answer() {
    let log = Log::default();
    let look = {
        let log = log.clone();
        wrap_tool_fn("look", move |call, next| {
            let spec = next.tool().spec();
            log.add(format!("{} {} {:?}", spec.description, spec.repeatable, next.answer()));
            Box::pin(async move { next.call(call).await })
        })
    };
    let asks = tool("ask", |_, context| async move {
        Ok::<_, catena::tool::ToolError>(match context.answer() {
            Some(_) => ToolOutcome::from(ToolOutput::text("thanks")),
            None => ToolOutcome::Interrupt(catena::interrupt::InterruptRequest::question("which?")),
        })
    });
    let agent = Agent::builder(scripted([call("ask", json!({})), say("done")]))
        .tool(asks)
        .with(look)
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    let decision = catena::interrupt::Decision::Respond { value: json!("this") };
    agent.run(Resume::thread("t").decisions(vec![decision])).await.unwrap();
    assert_eq!(
        log.take(),
        [
            "A tool of a test. false None",
            r#"A tool of a test. false Some(Respond { value: String("this") })"#
        ]
    );
}

/// CORE-WRAP-15: the line of a wrap says what it changed on the way in, each wrap its own.
#[tokio::test]
async fn a_wrap_is_seen_in_what_it_changes() {
    let other = scripted([call("echo", text("x")), say("done")]);
    let swap = wrap_model_fn("swap", move |mut request, next| {
        request.model = other.clone();
        Box::pin(async move { next.call(request).await })
    });
    let select = wrap_model_fn("select", |mut request, next| {
        request.tools_mut().retain(|tool| tool.spec().name == "echo");
        Box::pin(async move { next.call(request).await })
    });
    let pass = wrap_model_fn("pass", |request, next| {
        Box::pin(async move { next.call(request).await })
    });
    let shout = wrap_tool_fn("shout", |mut call, next| {
        call.input = text("X");
        Box::pin(async move { next.call(call).await })
    });
    let agent = Agent::builder(scripted([]))
        .tool(echo())
        .tool(noting("note", &Log::default()))
        .with(swap)
        .with(select)
        .with(pass)
        .with(shout)
        .build()
        .unwrap();
    let (events, result) = watch(&agent, Input::new("go")).await;
    result.unwrap();
    let shown = |name, hook| of_hook(&events, name, hook)[0].clone();
    assert_eq!(shown("swap", Hook::WrapModelCall), "continue model");
    assert_eq!(shown("select", Hook::WrapModelCall), "continue tools");
    assert_eq!(shown("pass", Hook::WrapModelCall), "continue");
    assert_eq!(shown("shout", Hook::WrapToolCall), "continue input");
}

/// CORE-WRAP-16: an answer that a cache gives twice is two messages with ids of their own.
#[tokio::test]
async fn an_answer_from_a_cache_is_a_message_of_its_own() {
    let cached = ModelResponse::text("as always");
    let cache = wrap_model_fn("cache", move |_, _| {
        let cached = cached.clone();
        Box::pin(async move { Ok(cached) })
    });
    let agent = Agent::builder(scripted([])).with(cache).build().unwrap();
    for _ in 0..2 {
        agent.run(Input::new("go").thread("t")).await.unwrap();
    }
    assert_distinct(&view(&agent, "t").await);
}

/// CORE-INPUT-01: an input that sends the history again is admitted under ids of its own, calls together with their results.
#[tokio::test]
async fn a_history_that_is_sent_again_gets_ids_of_its_own() {
    let agent = Agent::builder(scripted([call("echo", text("x")), say("done"), say("again")]))
        .tool(echo())
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    let history = view(&agent, "t").await;
    let mut input: Vec<Message> = history.iter().map(|message| (**message).clone()).collect();
    input.push(Message::user("and now?"));
    agent.run(Input::messages(input).thread("t")).await.unwrap();
    let all = view(&agent, "t").await;
    assert_eq!(lines(&all[4..8]), lines(&history));
    assert_distinct(&all);
    assert_paired(&all);
}

fn assert_distinct(messages: &[Arc<Message>]) {
    let ids: std::collections::HashSet<_> = messages.iter().map(|message| message.id()).collect();
    assert_eq!(ids.len(), messages.len());
}

/// CORE-FORK-01: a fork at a message has the state of the step that the message is of, whatever kind it is.
#[tokio::test]
async fn a_fork_has_the_state_of_its_step() {
    const SEEN: Slot<u32> = Slot::thread("test.seen");
    let counts = after_model_fn("counts", |turn, _| {
        turn.run().update(&SEEN, |seen| *seen += 1)?;
        Ok(AfterModel::Continue)
    });
    let work = tool("work", |_, context| async move {
        context.run().update(&SEEN, |seen| *seen += 10).unwrap();
        "worked"
    });
    let agent = Agent::builder(scripted([call("work", json!({})), say("done"), say("next")]))
        .tool(work)
        .with(counts)
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    let mut states = Vec::new();
    for message in view(&agent, "t").await.iter() {
        let fork = agent.fork(&"t".into(), message.id()).await.unwrap();
        let copy = agent.thread(&fork).await.unwrap();
        let seen = copy.slots().find(|(key, ..)| key == SEEN.key());
        states.push(seen.map_or(json!(0), |(.., value)| (*value).clone()));
    }
    assert_eq!(states, [json!(0), json!(1), json!(11), json!(12)]);
}

/// Offers tools.
struct Offers(&'static str, Vec<Arc<dyn Tool>>);

#[async_trait]
impl Middleware for Offers {
    fn name(&self) -> &str {
        self.0
    }
    fn hooks(&self) -> &'static [&'static str] {
        &["tools"]
    }
    async fn tools(&self, _: &RunContext) -> Result<Vec<Arc<dyn Tool>>> {
        Ok(self.1.clone())
    }
}

/// CORE-TOOL-11: a tool of a middleware that no provider would take is left out, and so is one whose name is taken; each is said once.
#[tokio::test]
async fn a_tool_that_cannot_be_offered_is_left_out_and_said_once() {
    let broken = catena::tool::json_tool(ToolSpec::new("broken", "", json!({"type": "no type"})), |_, _| async {
        ""
    });
    let spaced = tool("no spaces please", |_, _| async { "" });
    let offers: Vec<Arc<dyn Tool>> = vec![Arc::new(broken), Arc::new(spaced), Arc::new(echo())];
    let model = scripted([call("echo", text("x")), call("echo", text("y")), say("done")]);
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .with(Offers("offers", offers))
        .build()
        .unwrap();
    let (events, result) = watch(&agent, Input::new("go")).await;
    result.unwrap();
    let offered: Vec<_> = model.requests()[2].tool_specs().map(|spec| spec.name.clone()).collect();
    assert_eq!(offered, ["echo"]);
    let told = warnings(&events);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].contains("the schema of tool `broken` is not valid"), "{told:?}");
    assert!(told[1].contains("`no spaces please` must be"), "{told:?}");
    assert_eq!(
        told[2],
        "two tools are named `echo`, that of the agent and that of `offers`; the one that `offers` offers is left out"
    );
}

/// CORE-PAUSED-01: an answer that the provider paused in its own tools is sent back as it is until it is done, as far as turns reach.
#[tokio::test]
async fn a_paused_answer_is_gone_on_with() {
    let paused = || say("searching").stop(StopReason::Paused);
    let model = scripted([paused(), say("found")]);
    let agent = Agent::builder(model.clone()).build().unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!((result.text().as_str(), result.totals.turns), ("found", 2));
    assert_eq!(lines(&model.last_messages()), ["user: go", "agent: searching"]);

    let model = scripted((0..3).map(|_| paused()).chain([say("out of turns")]));
    let agent = Agent::builder(model.clone()).max_turns(3).build().unwrap();
    let result = agent.run("go").await.unwrap();
    assert!(
        matches!(result.outcome, Outcome::Stopped { .. }),
        "{:?}",
        result.outcome
    );
    assert_eq!(model.requests().len(), 4);

    let model = scripted([paused(), Reply::structured(json!({"n": 1}))]);
    let format = OutputFormat::new("answer", json!({"required": ["n"]}));
    let agent = Agent::builder(model).output(format).build().unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(result.structured, Some(json!({"n": 1})), "no object is due before");
}

/// CORE-STRUCT-11: who ends the run is heard before who asks again, and the object that was not taken is not the result.
#[tokio::test]
async fn ending_the_run_is_heard_before_asking_again() {
    let again = after_model_fn("again", |_, _| Ok(AfterModel::AskAgain));
    let stop = after_model_fn("stop", |_, _| Ok(AfterModel::Stop(Ending::stopped("enough", "enough"))));
    let agent = Agent::builder(scripted([Reply::structured(json!({"n": 1}))]))
        .output(OutputFormat::new("answer", json!({"required": ["n"]})))
        .with(stop)
        .with(again)
        .build()
        .unwrap();
    let result = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert!(
        matches!(result.outcome, Outcome::Stopped { .. }),
        "{:?}",
        result.outcome
    );
    assert_eq!(result.structured, None);
    assert_paired(&view(&agent, "t").await);
}

/// CORE-GATE-11: a gate reads the conversation from the run; the turn no longer holds it.
#[tokio::test]
async fn a_gate_reads_the_conversation_from_the_run() {
    let log = Log::default();
    let gate = {
        let log = log.clone();
        gate_fn("look", move |turn, _| {
            log.add(format!(
                "{} {}",
                turn.request.messages.len(),
                turn.run().messages().len()
            ));
            Ok(ToolDecision::Allow)
        })
    };
    let agent = Agent::builder(scripted([call("echo", text("x")), say("done")]))
        .tool(echo())
        .with(gate)
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(log.take(), ["0 2"]);
}
