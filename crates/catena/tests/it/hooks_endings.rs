//! Short circuits: what is skipped, what still runs, and what is said last.

use catena::message::{AssistantMessage, Part, ToolCall};
use catena::middleware::{after_model_fn, before_agent_fn, before_model_fn, gate_fn, wrap_model_fn};
use catena::prelude::*;
use catena::record::{CallStatus, EndReason};
use catena::testing::{call, calls, say, scripted};
use serde_json::json;

use crate::kit::{End, Log, assert_paired, at, echo, lines, noting, open, spy, text, told, view, watch};

fn stopped(by: &str, kind: &str) -> Outcome {
    Outcome::Stopped {
        by: by.into(),
        reason: EndReason {
            kind: kind.into(),
            message: format!("{kind} it is"),
        },
    }
}

fn ending(kind: &str) -> Ending {
    Ending::stopped(kind, format!("{kind} it is"))
}

/// LC-JUMP-03, ZC-CHAIN-18, ZC-CHAIN-20: a Stop in before_agent skips the later before_agent hooks and the model; every after_agent runs;
/// no model message is kept; a Stop skips everyone of a higher priority and every model call, says its text, and names who stopped; the
/// words of an ending are the agent's message, and marked as written by no model.
#[tokio::test]
async fn a_stop_in_before_agent_skips_the_rest_but_not_after_agent() {
    let log = Log::default();
    let model = scripted([]);
    let agent = Agent::builder(model.clone())
        .with(spy("a", 10, &log))
        .with(at(
            20,
            before_agent_fn("closed", |_| Ok(Flow::Stop(ending("closed").say("We are closed.")))),
        ))
        .with(spy("z", 30, &log))
        .build()
        .unwrap();
    let (events, result) = watch(&agent, Input::new("go").thread("t")).await;
    let result = result.unwrap();
    assert_eq!(log.take(), ["a.before_agent", "a.after_agent", "z.after_agent"]);
    assert_eq!(model.requests().len(), 0);
    assert_eq!(result.outcome, stopped("closed", "closed"));
    assert_eq!(result.text(), "We are closed.");
    assert_eq!(lines(&result.messages), ["user: go", "agent: We are closed."]);
    assert_eq!(result.messages[1].as_assistant().unwrap().model, None);
    assert_eq!(
        told(&events),
        result.messages,
        "events tell the messages in the order of the record"
    );
}

/// LC-JUMP-04, ZC-CHAIN-19: a Stop in before_model skips the later before_model hooks and the model; after_agent runs; a Stop at a later
/// turn keeps the results so far.
#[tokio::test]
async fn a_stop_in_before_model_ends_the_run_and_keeps_what_was_done() {
    let log = Log::default();
    let model = scripted([call("echo", text("x"))]);
    let stop = before_model_fn("enough", |turn| {
        Ok(match turn.run().counts().run.turns {
            0 => Flow::Continue,
            _ => Flow::Stop(ending("enough")),
        })
    });
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .with(at(20, stop))
        .with(spy("z", 30, &log))
        .build()
        .unwrap();
    let result = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(result.outcome, stopped("enough", "enough"));
    assert_eq!([log.count("z.before_model"), log.count("z.after_agent")], [1, 1]);
    assert_eq!(model.requests().len(), 1);
    assert_eq!(
        lines(&result.messages),
        ["user: go", r#"agent: [echo {"text":"x"}]"#, "echo: x"]
    );
}

/// LC-JUMP-05: a Stop in after_model, wherever it stands, skips the tools; the calls are answered and after_agent runs once.
#[tokio::test]
async fn a_stop_in_after_model_answers_the_calls_and_runs_no_tool() {
    for priority in [10, 90] {
        let log = Log::default();
        let agent = Agent::builder(scripted([calls([("note", text("a")), ("note", text("b"))])]))
            .tool(noting("note", &log))
            .with(at(
                priority,
                after_model_fn("enough", |_, _| Ok(AfterModel::Stop(ending("enough").say("Bye.")))),
            ))
            .with(spy("m", 50, &log))
            .build()
            .unwrap();
        let (events, result) = watch(&agent, Input::new("go").thread("t")).await;
        let result = result.unwrap();
        assert_eq!(result.outcome, stopped("enough", "enough"));
        assert_eq!(result.executed("note"), 0);
        assert_eq!([log.count("m.after_agent"), log.count("m.gate")], [1, 0]);
        assert_eq!(
            log.count("m.after_model"),
            usize::from(priority > 50),
            "later ones are skipped"
        );
        assert_eq!(
            lines(&result.messages)[2..],
            [
                "note! not run: enough it is",
                "note! not run: enough it is",
                "agent: Bye."
            ]
        );
        assert_eq!(told(&events), result.messages);
        assert_paired(&view(&agent, "t").await);
    }
}

/// LC-JUMP-06, LC-JUMP-14: AskAgain in after_model starts over at before_model, for all of them; the calls of the message that is asked
/// again are answered with the reason.
#[tokio::test]
async fn asking_again_starts_over_at_before_model() {
    let log = Log::default();
    let model = scripted([call("note", text("a")), say("better")]);
    let again = after_model_fn("picky", |_, response| {
        Ok(match response.message.calls().count() {
            0 => AfterModel::Continue,
            _ => AfterModel::AskAgain,
        })
    });
    let agent = Agent::builder(model.clone())
        .tool(noting("note", &log))
        .with(at(10, again))
        .with(spy("m", 50, &log))
        .build()
        .unwrap();
    let (events, result) = watch(&agent, Input::new("go").thread("t")).await;
    let result = result.unwrap();
    assert_eq!([log.count("m.before_model"), log.count("m.after_model")], [2, 2]);
    assert_eq!(log.count("note a"), 0);
    assert_eq!(
        lines(&model.last_messages()),
        [
            "user: go",
            r#"agent: [note {"text":"a"}]"#,
            "note! not run: another answer was asked for"
        ]
    );
    assert_eq!(result.text(), "better");
    assert_eq!(told(&events), result.messages);
}

/// LC-JUMP-09: AskAgain is honoured for an answer without calls.
#[tokio::test]
async fn an_answer_without_calls_can_be_asked_again() {
    let model = scripted([say("no"), say("yes")]);
    let agent = Agent::builder(model.clone())
        .with(after_model_fn("picky", |turn, response| {
            Ok(match response.message.text() == "no" {
                true => {
                    turn.run().emit("picky", json!("once more"));
                    AfterModel::AskAgain
                }
                false => AfterModel::Continue,
            })
        }))
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(lines(&result.messages), ["user: go", "agent: no", "agent: yes"]);
    // A request that ended with the agent's own words would be refused.
    assert_eq!(
        lines(&model.last_messages()).last().unwrap(),
        "user: This answer was not accepted. Give another one."
    );
}

/// LC-JUMP-10, LC-WRAP-03: a wrap that answers with two calls in the model's place has them run, and the loop goes on; a wrap that does not
/// call the rest of the chain answers in the model's place.
#[tokio::test]
async fn calls_that_a_wrap_writes_are_run() {
    let log = Log::default();
    let model = scripted([say("done")]);
    let plan = wrap_model_fn("plan", |request, next| {
        Box::pin(async move {
            if next.run().turn() > 0 {
                return next.call(request).await;
            }
            let parts = ["a", "b"].map(|word| Part::ToolCall(ToolCall::new(word, "note", text(word))));
            Ok(ModelResponse::new(AssistantMessage::new(parts.to_vec())))
        })
    });
    let agent = Agent::builder(model.clone())
        .tool(noting("note", &log))
        .with(plan)
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(log.take(), ["note a", "note b"]);
    assert_eq!(model.requests().len(), 1);
    assert_eq!(lines(&result.messages)[2..], ["note: a", "note: b", "agent: done"]);
    assert_eq!(result.totals.attempts, 1, "the model was asked once");
}

/// LC-JUMP-11, LC-LOOP-13: without any tool, calls are answered and the run goes on; it ends when the model answers, and after_agent runs;
/// an agent without tools answers the call that its model makes up, with and without after_model hooks.
#[tokio::test]
async fn without_tools_a_call_is_answered_and_the_loop_goes_on() {
    for hooks in [false, true] {
        let log = Log::default();
        let builder = Agent::builder(scripted([call("fly", json!({})), say("I cannot fly.")]));
        let builder = match hooks {
            true => builder.with(spy("m", 500, &log)),
            false => builder,
        };
        let result = builder.build().unwrap().run("go").await.unwrap();
        assert_eq!(
            lines(&result.messages)[2],
            "fly! there is no tool `fly`; there are no tools"
        );
        assert_eq!(result.text(), "I cannot fly.");
        assert_eq!(log.count("m.after_agent"), usize::from(hooks));
    }
}

/// LC-LOOP-14: when gates have answered all calls of a message, the model is asked again.
#[tokio::test]
async fn a_model_whose_calls_were_all_blocked_is_asked_again() {
    let model = scripted([calls([("echo", text("a")), ("echo", text("b"))]), say("I see.")]);
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .with(gate_fn("no", |_, _| Ok(ToolDecision::block("not today"))))
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(result.text(), "I see.");
    assert_eq!(
        lines(&model.last_messages())[2..],
        ["echo! not today", "echo! not today"]
    );
}

/// LC-LOOP-18, ZC-CHAIN-29: every call has exactly one result before the next model call and at the end, on every way out; after_agent is
/// entered exactly once for every outcome.
#[tokio::test]
async fn every_way_out_answers_every_call_and_runs_after_agent_once() {
    type Exit = fn(&Turn, &ToolCall) -> Result<ToolDecision>;
    let exits: [(&str, Exit); 7] = [
        ("done", |_, _| Ok(ToolDecision::Allow)),
        ("done", |_, _| Ok(ToolDecision::block("no"))),
        ("done", |_, call| {
            Ok(if call.input["text"] == "b" {
                ToolDecision::block("no")
            } else {
                ToolDecision::Allow
            })
        }),
        ("stopped by exit: x", |_, _| Ok(ToolDecision::AbortLoop(ending("x")))),
        ("stopped by exit: x", |_, call| {
            Ok(match call.input["text"] == "b" {
                true => ToolDecision::AbortLoop(ending("x").let_model_answer()),
                false => ToolDecision::Allow,
            })
        }),
        ("failed: x", |_, _| {
            Ok(ToolDecision::AbortLoop(Ending::failed("x", "no more")))
        }),
        ("done", |_, _| Err(Error::other("a broken gate"))),
    ];
    for (how, exit) in exits {
        let log = Log::default();
        let model = scripted([
            calls([("echo", text("a")), ("echo", text("b")), ("fly", json!({}))]),
            say("done"),
            say("next"),
        ]);
        let agent = Agent::builder(model.clone())
            .tool(echo())
            .with(gate_fn("exit", exit))
            .with(End {
                name: "end",
                log: log.clone(),
            })
            .build()
            .unwrap();
        let _ = agent.run(Input::new("go").thread("t")).await;
        assert_eq!(log.take(), [format!("end: {how}")]);
        assert_paired(&view(&agent, "t").await);
        agent.run(Input::new("and now?").thread("t")).await.unwrap();
        assert_paired(&model.last_messages());
    }
}

/// ZC-CHAIN-29: a run that fails, is cancelled or uses up its turns runs after_agent once as well.
#[tokio::test]
async fn after_agent_knows_how_the_run_ended() {
    let run = async |model, max_turns| {
        let log = Log::default();
        let agent = Agent::builder(model)
            .tool(echo())
            .max_turns(max_turns)
            .with(End {
                name: "end",
                log: log.clone(),
            })
            .build()
            .unwrap();
        (agent.start("go"), log)
    };
    let (handle, log) = run(scripted([catena::testing::Reply::error(401, "no key")]), 9).await;
    assert!(handle.outcome().await.is_err());
    assert_eq!(log.take(), ["end: failed: model_error"]);

    let (handle, log) = run(scripted([say("half").hang()]), 9).await;
    handle.cancel();
    assert_eq!(handle.outcome().await.unwrap().outcome, Outcome::Cancelled);
    assert_eq!(log.take(), ["end: cancelled"]);

    let (handle, log) = run(scripted([call("echo", text("x")), say("that is all")]), 1).await;
    handle.outcome().await.unwrap();
    assert_eq!(log.take(), ["end: stopped by catena: max_turns"]);
}

/// ZC-CHAIN-30: an error in after_agent changes neither outcome nor answer.
#[tokio::test]
async fn a_failing_after_agent_changes_nothing() {
    struct Broken;
    #[middleware]
    impl Middleware for Broken {
        fn name(&self) -> &str {
            "broken"
        }
        async fn after_agent(&self, _: &RunContext, _: &catena::record::OutcomeRecord) -> Result<()> {
            Err(Error::other("too late"))
        }
    }
    let log = Log::default();
    let agent = Agent::builder(scripted([say("hi")]))
        .with(Broken)
        .with(End {
            name: "end",
            log: log.clone(),
        })
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(
        (result.outcome.clone(), result.text()),
        (Outcome::Done, "hi".to_owned())
    );
    assert_eq!(log.take(), ["end: done"], "the others still run");
}

/// CORE-END-01: `say` decides the last word of an ending: none, a text, or one answer of the model without tools.
#[tokio::test]
async fn an_ending_says_nothing_a_text_or_lets_the_model_answer() {
    let said = async |ending: Ending| {
        let model = scripted([call("echo", text("x")), say("the last word")]);
        let agent = Agent::builder(model.clone())
            .tool(echo())
            .with(gate_fn("stop", move |_, _| Ok(ToolDecision::AbortLoop(ending.clone()))))
            .build()
            .unwrap();
        let result = agent.run(Input::new("go").thread("t")).await.unwrap();
        assert_eq!(result.outcome, stopped("stop", "x"));
        (lines(&result.messages[3..]), model)
    };
    assert_eq!(said(ending("x")).await.0, [""; 0]);
    assert_eq!(said(ending("x").say("a text")).await.0, ["agent: a text"]);
    let (last, model) = said(ending("x").let_model_answer()).await;
    assert_eq!(last, ["agent: the last word"]);
    let request = &model.requests()[1];
    assert!(request.tools.is_empty());
    assert_eq!(request.tool_choice, catena::model::ToolChoice::None);
    assert!(
        lines(&request.messages).last().unwrap().contains("Answer now"),
        "it is told to come to an end"
    );
}

/// CORE-END-02: a limit in before_model may ask for a last word: it cannot stop that one too, but somebody else can.
#[tokio::test]
async fn who_ended_the_run_cannot_stop_the_last_word_it_asked_for() {
    let limit = |name: &'static str, turns: u32| {
        at(
            10,
            before_model_fn(name, move |turn| {
                Ok(match turn.run().counts().run.turns >= turns {
                    true => Flow::Stop(ending(name).let_model_answer()),
                    false => Flow::Continue,
                })
            }),
        )
    };
    let model = scripted([call("echo", text("x")), say("the last word")]);
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .with(limit("calls", 1))
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(
        (result.text(), result.outcome),
        ("the last word".to_owned(), stopped("calls", "calls"))
    );

    let agent = Agent::builder(scripted([call("echo", text("x"))]))
        .tool(echo())
        .with(limit("a_calls", 1))
        .with(limit("b_budget", 1))
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(result.outcome, stopped("a_calls", "a_calls"));
    assert_eq!(
        lines(&result.messages).last().unwrap(),
        "echo: x",
        "the budget holds for the last word"
    );
}

/// CORE-END-03: a last word that fails does not change how the run ends.
#[tokio::test]
async fn a_last_word_that_fails_is_left_out() {
    let model = scripted([call("echo", text("x")), catena::testing::Reply::error(500, "down")]);
    let agent = Agent::builder(model)
        .tool(echo())
        .with(gate_fn("stop", |_, _| {
            Ok(ToolDecision::AbortLoop(ending("x").let_model_answer()))
        }))
        .build()
        .unwrap();
    let (events, result) = watch(&agent, "go").await;
    assert_eq!(result.unwrap().outcome, stopped("stop", "x"));
    assert!(crate::kit::warnings(&events)[0].contains("the last answer failed: HTTP 500: down"));
}

/// CORE-END-04: an input for which before_agent fails the run is not stored; one that only stops the run is.
#[tokio::test]
async fn an_input_that_fails_the_run_is_not_stored() {
    for stop in [ending("x"), Ending::failed("pii_detected", "an email")] {
        let failed = stop.outcome != catena::middleware::EndingOutcome::Stopped;
        let agent = Agent::builder(scripted([say("hello again")]))
            .with(before_agent_fn("pii", move |intake| {
                Ok(match intake.text().contains('@') {
                    true => Flow::Stop(stop.clone()),
                    false => Flow::Continue,
                })
            }))
            .build()
            .unwrap();
        let result = agent.run(Input::new("a@b.co").thread("t")).await;
        match failed {
            true => assert_eq!(result.unwrap_err().kind(), "pii_detected"),
            false => assert_eq!(result.unwrap().outcome, stopped("pii", "x")),
        }
        let thread = agent.thread(&"t".into()).await.unwrap();
        assert_eq!(lines(thread.messages()).contains(&"user: a@b.co".to_owned()), !failed);
        // The thread goes on.
        agent.run(Input::new("hi").thread("t")).await.unwrap();
    }
}

/// LC-LOOP-16: an error of before_model or after_model fails the run with that error inside, and no tool runs.
#[tokio::test]
async fn an_error_in_a_model_hook_fails_the_run_with_that_error() {
    let log = Log::default();
    let fail = || {
        Err(Error::Ended {
            kind: "mine".into(),
            message: "no".into(),
        })
    };
    let builder = || Agent::builder(scripted([call("note", text("x"))])).tool(noting("note", &log));
    for agent in [
        builder().with(before_model_fn("m", move |_| fail().map(|()| Flow::Continue))),
        builder().with(after_model_fn("m", move |_, _| fail().map(|()| AfterModel::Continue))),
    ] {
        let error = agent.build().unwrap().run("go").await.unwrap_err();
        assert_eq!(error.kind(), "mine");
        let Error::Middleware { middleware, source, .. } = error else {
            panic!()
        };
        assert!(middleware == "m" && matches!(*source, Error::Ended { .. }));
    }
    assert_eq!(log.take(), [""; 0]);
}

/// CORE-END-05: a middleware that fails open lets the run go on, even where it would end it.
#[tokio::test]
async fn failing_open_means_going_on() {
    let agent = Agent::builder(scripted([say("hi")]))
        .with(open(before_model_fn("title", |_| Err(Error::other("no title")))))
        .build()
        .unwrap();
    assert_eq!(agent.run("go").await.unwrap().text(), "hi");
}

/// LC-LOOP-15: of two calls, the one that a gate has answered is not run; the other one is.
#[tokio::test]
async fn a_call_that_a_gate_has_answered_is_not_run() {
    let log = Log::default();
    let gate = gate_fn("answers", |_, call| {
        Ok(match call.input["text"] == "a" {
            true => ToolDecision::Block(ToolOutput::text("known already")),
            false => ToolDecision::Allow,
        })
    });
    let agent = Agent::builder(scripted([
        calls([("note", text("a")), ("note", text("b"))]),
        say("done"),
    ]))
    .tool(noting("note", &log))
    .with(gate)
    .build()
    .unwrap();
    let result = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(log.take(), ["note b"]);
    assert_eq!(
        lines(&view(&agent, "t").await)[2..4],
        ["note: known already", "note: b"]
    );
    let thread = agent.thread(&"t".into()).await.unwrap();
    let statuses: Vec<_> = thread.run().unwrap().calls().iter().map(|call| call.status).collect();
    assert_eq!(statuses, [CallStatus::Blocked, CallStatus::Ok]);
    assert_eq!(result.executed("note"), 1);
}
