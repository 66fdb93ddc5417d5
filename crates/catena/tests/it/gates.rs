//! Gates before hands: every call of a message is decided before any of them runs.

use catena::context::Verdict;
use catena::interrupt::{DecisionKind, InterruptRequest};
use catena::middleware::{before_model_fn, gate_fn, wrap_model_fn};
use catena::prelude::*;
use catena::record::CallStatus;
use catena::testing::{call, calls, say, scripted};
use serde_json::json;

use crate::kit::{Log, assert_paired, at, echo, lines, noting, spy, text, told, view, watch};

fn ask() -> ToolDecision {
    ToolDecision::Interrupt(InterruptRequest::approval("may it run?"))
}

async fn statuses(agent: &Agent) -> Vec<CallStatus> {
    let thread = agent.thread(&"t".into()).await.unwrap();
    thread.run().unwrap().calls().iter().map(|call| call.status).collect()
}

/// ZC-TOOL-01, ZC-TOOL-02: a blocked call does not run, its result says why, and the next call of the message is still decided; later gates
/// are not asked about a call that is blocked.
#[tokio::test]
async fn a_block_settles_one_call_and_skips_later_gates() {
    let log = Log::default();
    let gate = gate_fn("guardrail", |_, call| {
        Ok(match call.input["text"] == "rm" {
            true => ToolDecision::block("that is forbidden"),
            false => ToolDecision::Allow,
        })
    });
    let agent = Agent::builder(scripted([
        calls([("note", text("rm")), ("note", text("ls"))]),
        say("done"),
    ]))
    .tool(noting("note", &log))
    .with(at(400, gate))
    .with(spy("later", 500, &log))
    .build()
    .unwrap();
    let result = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(
        lines(&view(&agent, "t").await)[2..4],
        ["note! that is forbidden", "note: ls"]
    );
    assert_eq!(
        [log.count("later.gate"), log.count("note rm"), log.count("note ls")],
        [1, 0, 1]
    );
    assert_eq!(
        [log.count("later.tool>"), log.count("later.after_tool_call")],
        [1, 1],
        "a call that did not run meets no wrap and no after_tool_call"
    );
    assert_eq!(result.totals.executed_total(), 1, "it counts nowhere");
    assert_eq!(statuses(&agent).await, [CallStatus::Blocked, CallStatus::Ok]);
}

/// ZC-TOOL-07, ZC-TOOL-09: AbortLoop at the second of three calls: none runs, all are answered in call order, and the run ends; after an
/// abort the thread is valid for the next message.
#[tokio::test]
async fn an_abort_runs_nothing_and_answers_everything() {
    let log = Log::default();
    let model = scripted([
        calls([("note", text("a")), ("note", text("b")), ("note", text("c"))]),
        say("next"),
    ]);
    let gate = {
        let log = log.clone();
        gate_fn("guard", move |_, call| {
            log.add(format!("judge {}", call.input["text"]));
            Ok(match call.input["text"].as_str() {
                Some("a") => ToolDecision::block("blocked before"),
                Some("b") => ToolDecision::AbortLoop(Ending::stopped("loop", "going in circles")),
                _ => ToolDecision::Allow,
            })
        })
    };
    let agent = Agent::builder(model.clone())
        .tool(noting("note", &log))
        .with(gate)
        .build()
        .unwrap();
    let (events, result) = watch(&agent, Input::new("go").thread("t")).await;
    let result = result.unwrap();
    assert_eq!(log.take(), ["judge \"a\"", "judge \"b\""]);
    assert!(matches!(&result.outcome, Outcome::Stopped { by, reason } if by == "guard" && reason.kind == "loop"));
    assert_eq!(
        lines(&result.messages)[2..],
        [
            "note! blocked before",
            "note! not run: going in circles",
            "note! not run: going in circles"
        ]
    );
    assert_eq!(told(&events), result.messages);
    assert_eq!(
        statuses(&agent).await,
        [CallStatus::Blocked, CallStatus::NotRun, CallStatus::NotRun]
    );
    agent.run(Input::new("and now?").thread("t")).await.unwrap();
    assert_paired(&model.last_messages());
}

/// ZC-TOOL-10: an abort that lets the model answer makes exactly one model call, without tools.
#[tokio::test]
async fn an_abort_may_let_the_model_answer_once() {
    let model = scripted([call("echo", text("a")), say("I stopped."), say("not this one")]);
    let gate = gate_fn("guard", |_, _| {
        Ok(ToolDecision::AbortLoop(
            Ending::stopped("loop", "in circles").let_model_answer(),
        ))
    });
    let agent = Agent::builder(model.clone()).tool(echo()).with(gate).build().unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(result.text(), "I stopped.");
    assert_eq!((model.requests().len(), model.requests()[1].tools.len()), (2, 0));
}

/// CORE-GATE-01: a call that a later gate blocks is never put before a person, wherever the asking gate stands.
#[tokio::test]
async fn a_person_is_not_asked_about_a_call_that_is_refused() {
    for asks_at in [10, 900] {
        let agent = Agent::builder(scripted([
            calls([("echo", text("a")), ("echo", text("b"))]),
            say("done"),
        ]))
        .tool(echo())
        .with(at(asks_at, gate_fn("human", |_, _| Ok(ask()))))
        .with(at(
            500,
            gate_fn("guard", |_, call| {
                Ok(if call.input["text"] == "a" {
                    ToolDecision::block("no")
                } else {
                    ToolDecision::Allow
                })
            }),
        ))
        .build()
        .unwrap();
        let paused = agent.run(Input::new("go").thread("t")).await.unwrap();
        let asked: Vec<_> = paused
            .pauses()
            .iter()
            .map(|pause| pause.input["text"].clone())
            .collect();
        assert_eq!(asked, ["b"]);
        agent.run(Resume::thread("t").approve_all()).await.unwrap();
        assert_eq!(
            lines(&view(&agent, "t").await)[2..],
            ["echo! no", "echo: b", "agent: done"]
        );
    }
}

/// CORE-GATE-02: an abort wins over a question: nobody is asked about a message that does not run.
#[tokio::test]
async fn nobody_is_asked_when_the_run_ends() {
    let agent = Agent::builder(scripted([calls([("echo", text("a")), ("echo", text("b"))])]))
        .tool(echo())
        .with(at(10, gate_fn("human", |_, _| Ok(ask()))))
        .with(at(
            500,
            gate_fn("guard", |_, call| {
                Ok(match call.input["text"] == "b" {
                    true => ToolDecision::AbortLoop(Ending::stopped("x", "x")),
                    false => ToolDecision::Allow,
                })
            }),
        ))
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert!(matches!(result.outcome, Outcome::Stopped { .. }));
}

/// CORE-GATE-03: several questions about one call become one, with the decisions that all of them allow.
#[tokio::test]
async fn questions_about_one_call_become_one() {
    use DecisionKind::{Approve, Edit, Reject, Respond};
    let asks = |name: &'static str, allowed: &'static [DecisionKind]| {
        gate_fn(name, move |_, _| {
            let request = InterruptRequest::approval(format!("{name} asks")).allow(allowed);
            Ok(ToolDecision::Interrupt(request))
        })
    };
    let merged = async |one: &'static [DecisionKind], two: &'static [DecisionKind]| {
        let agent = Agent::builder(scripted([call("echo", text("a"))]))
            .tool(echo())
            .with(asks("one", one))
            .with(asks("two", two))
            .build()
            .unwrap();
        let paused = agent.run("go").await.unwrap();
        let [pause] = paused.pauses() else {
            panic!("{:?}", paused.pauses())
        };
        let both = vec!["one".to_owned(), "two".to_owned()];
        assert_eq!(pause.asked_by, catena::interrupt::Asker::Gates(both));
        assert_eq!(pause.request.description, "one asks\ntwo asks");
        pause.request.allowed.clone()
    };
    assert_eq!(
        merged(&[Approve, Edit, Reject], &[Reject, Approve]).await,
        [Approve, Reject]
    );
    assert_eq!(
        merged(&[Approve], &[Respond]).await,
        [Reject],
        "in conflict, only the harmless one is left"
    );
}

/// CORE-GATE-04: a gate sees the batch as decided so far, and the calls of the run that ended before.
#[tokio::test]
async fn a_gate_sees_the_batch_and_the_earlier_calls() {
    let log = Log::default();
    let watcher = {
        let log = log.clone();
        gate_fn("watcher", move |turn, call| {
            let verdict = |verdict: &Option<Verdict>| match verdict {
                None => "open",
                Some(Verdict::Allow) => "allow",
                Some(Verdict::Block { .. }) => "block",
                Some(Verdict::Interrupt { .. }) => "ask",
                Some(Verdict::AbortLoop { .. }) => "abort",
            };
            let batch: Vec<_> = turn.calls().iter().map(|call| verdict(&call.verdict)).collect();
            let allowed = turn.calls().allowed(Some("echo"));
            let earlier = turn.run().calls().len();
            log.add(format!(
                "{}: {} allowed {allowed} earlier {earlier}",
                call.input["text"],
                batch.join(",")
            ));
            Ok(match call.input["text"] == "b" {
                true => ToolDecision::block("no"),
                false => ToolDecision::Allow,
            })
        })
    };
    let batch = calls([
        ("echo", text("a")),
        ("fly", json!({})),
        ("echo", text("b")),
        ("echo", text("c")),
    ]);
    let agent = Agent::builder(scripted([batch, call("echo", text("d")), say("done")]))
        .tool(echo())
        .with(watcher)
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(
        log.take(),
        [
            r#""a": open,open,open allowed 0 earlier 0"#,
            r#""b": allow,open,open allowed 1 earlier 0"#,
            r#""c": allow,block,open allowed 1 earlier 0"#,
            r#""d": open allowed 0 earlier 4"#,
        ]
    );
}

/// ZC-TOOL-13: all calls of a message are decided before the first one runs.
#[tokio::test]
async fn all_calls_are_decided_before_the_first_runs() {
    let log = Log::default();
    let gate = {
        let log = log.clone();
        gate_fn("gate", move |_, call| {
            log.add(format!("judge {}", call.id));
            Ok(ToolDecision::Allow)
        })
    };
    let model = scripted([calls([("note", text("a")), ("note", text("b"))]), say("done")]);
    let agent = Agent::builder(model)
        .tool(noting("note", &log))
        .with(gate)
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    let lines = log.take();
    assert_eq!(lines[..2], ["judge call_1", "judge call_2"]);
    assert_eq!(lines.len(), 4);
}

/// LC-TOOL-03, ZC-TOOL-19, LC-TOOL-07: a call of an unknown tool is answered with the names there are; an unknown tool, and an input that
/// does not fit, meet no gate; an input that does not fit its schema is answered with the place and the problem, as an error.
#[tokio::test]
async fn calls_that_cannot_run_meet_no_gate() {
    let log = Log::default();
    let batch = calls([("fly", json!({})), ("echo", json!({"text": 3})), ("echo", json!({}))]);
    let model = scripted([batch, say("done")]);
    let agent = Agent::builder(model)
        .tool(echo())
        .tool(noting("note", &log))
        .with(spy("m", 500, &log))
        .build()
        .unwrap();
    let result = agent.run(Input::new("go").thread("t")).await.unwrap();
    let told = lines(&result.messages);
    assert_eq!(told[2], "fly! there is no tool `fly`; available: echo, note");
    assert_eq!(
        told[3],
        "echo! the input of `echo` does not fit its schema: at /text: 3 is not of type \"string\""
    );
    assert!(
        told[4].starts_with("echo! the input of `echo` does not fit its schema: \"text\" is a required"),
        "{}",
        told[4]
    );
    assert_eq!(
        [
            log.count("m.gate"),
            log.count("m.tool>"),
            log.count("m.after_tool_call")
        ],
        [0, 0, 0]
    );
    assert_eq!(statuses(&agent).await, [CallStatus::Invalid; 3]);
    assert_eq!(result.totals.executed_total(), 0);
}

/// LC-TOOL-17: a tool that was not offered in this request cannot be called, whoever narrowed the offer.
#[tokio::test]
async fn a_tool_that_was_not_offered_cannot_be_called() {
    let log = Log::default();
    let by_hook = before_model_fn("narrow", |turn| {
        turn.request.tools_mut().retain(|tool| tool.spec().name != "note");
        Ok(Flow::Continue)
    });
    let by_wrap = wrap_model_fn("narrow", |mut request, next| {
        Box::pin(async move {
            request.tools_mut().retain(|tool| tool.spec().name != "note");
            next.call(request).await
        })
    });
    let builder = || {
        Agent::builder(scripted([call("note", text("a")), say("done")]))
            .tool(noting("note", &log))
            .tool(echo())
    };
    for agent in [builder().with(by_hook), builder().with(by_wrap)] {
        let agent = agent.build().unwrap();
        let result = agent.run(Input::new("go").thread("t")).await.unwrap();
        assert_eq!(
            lines(&result.messages)[2],
            "note! there is no tool `note`; available: echo"
        );
    }
    assert_eq!(log.take(), [""; 0]);
}

/// ZC-TOOL-03: the tool gets the replaced input; the record keeps what the model asked; the view shows what ran; an event tells of it.
#[tokio::test]
async fn a_replaced_input_runs_and_the_original_is_kept() {
    let model = scripted([call("echo", text("secret")), say("done")]);
    let gate = gate_fn("mask", |_, call| {
        let mut new = call.clone();
        new.input = text("****");
        Ok(ToolDecision::Replace(new))
    });
    let agent = Agent::builder(model.clone()).tool(echo()).with(gate).build().unwrap();
    let (events, _) = watch(&agent, Input::new("go").thread("t")).await;
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(
        lines(thread.messages())[1..3],
        [r#"agent: [echo {"text":"secret"}]"#, "echo: ****"]
    );
    assert_eq!(
        lines(&model.last_messages())[1..],
        [r#"agent: [echo {"text":"****"}]"#, "echo: ****"]
    );
    assert_eq!(thread.run().unwrap().calls()[0].input, text("****"));
    let told = crate::kit::of_hook(&events, "mask", catena::middleware::Hook::BeforeToolCall);
    assert!(told[0].starts_with("replace") && told[0].contains("****"), "{told:?}");
}

/// A gate that blocks this text and notes everything that it is asked about.
fn forbids(name: &'static str, forbidden: &'static str, log: &Log) -> impl Middleware + use<> {
    let log = log.clone();
    gate_fn(name, move |_, call| {
        log.add(format!("{name} {}", call.input["text"].as_str().unwrap_or("?")));
        Ok(match call.input["text"] == forbidden {
            true => ToolDecision::block(format!("`{forbidden}` is forbidden")),
            false => ToolDecision::Allow,
        })
    })
}

/// A gate that puts `new` in the place of `old`.
fn replaces(name: &'static str, old: &'static str, new: &'static str) -> impl Middleware {
    gate_fn(name, move |_, call| {
        let mut call = call.clone();
        Ok(match call.input["text"] == old {
            true => {
                call.input = text(new);
                ToolDecision::Replace(call)
            }
            false => ToolDecision::Allow,
        })
    })
}

/// ZC-TOOL-04: after a replacement all gates are asked again, so nothing gets past an earlier one.
#[tokio::test]
async fn a_replacement_meets_all_gates_again() {
    let log = Log::default();
    let agent = Agent::builder(scripted([call("echo", text("a")), say("done")]))
        .tool(echo())
        .with(at(400, forbids("guard", "b", &log)))
        .with(at(550, replaces("smuggler", "a", "b")))
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(log.take(), ["guard a", "guard b"]);
    assert_eq!(lines(&result.messages)[2], "echo! `b` is forbidden");
    assert_eq!(result.executed("echo"), 0);
}

/// ZC-TOOL-05: gates that replace each other's input for ever block the call after three rounds, and both are named.
#[tokio::test]
async fn gates_that_do_not_agree_block_the_call() {
    let log = Log::default();
    let agent = Agent::builder(scripted([call("echo", text("a")), say("done")]))
        .tool(echo())
        .with(at(100, forbids("counts", "never", &log)))
        .with(at(400, replaces("one", "a", "b")))
        .with(at(550, replaces("two", "b", "a")))
        .build()
        .unwrap();
    let result = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(
        lines(&result.messages)[2],
        "echo! the call was not made: `one` and `two` do not agree on its input"
    );
    assert_eq!(
        log.take(),
        ["counts a", "counts b", "counts a", "counts b"],
        "once, and once for each of three rounds"
    );
    assert_eq!(statuses(&agent).await, [CallStatus::Blocked]);
}

/// ZC-TOOL-06: a replacement that does not fit the schema, or names another tool, blocks the call.
#[tokio::test]
async fn a_replacement_must_be_a_call_that_can_run() {
    let misfit = gate_fn("misfit", |_, call| {
        let mut call = call.clone();
        call.input = json!({"text": 7});
        Ok(ToolDecision::Replace(call))
    });
    let other = gate_fn("other", |_, call| {
        let mut call = call.clone();
        call.name = "note".into();
        Ok(ToolDecision::Replace(call))
    });
    let log = Log::default();
    let builder = || {
        Agent::builder(scripted([call("echo", text("a")), say("done")]))
            .tool(echo())
            .tool(noting("note", &log))
    };
    for (agent, said) in [
        (
            builder().with(misfit),
            "the input that `misfit` put in its place does not fit",
        ),
        (builder().with(other), "`other` replaced it by a call of another tool"),
    ] {
        let result = agent.build().unwrap().run("go").await.unwrap();
        assert!(
            lines(&result.messages)[2].contains(said),
            "{:?}",
            lines(&result.messages)
        );
        assert_eq!(result.totals.executed_total(), 0);
    }
}

/// CORE-GATE-05: a replacement by the same input is an answer, not another round.
#[tokio::test]
async fn replacing_an_input_by_itself_is_allowing_it() {
    let gate = gate_fn("normalises", |_, call| Ok(ToolDecision::Replace(call.clone())));
    let agent = Agent::builder(scripted([call("echo", text("a")), say("done")]))
        .tool(echo())
        .with(gate)
        .build()
        .unwrap();
    assert_eq!(agent.run("go").await.unwrap().executed("echo"), 1);
}

/// CORE-GATE-06: what a gate asks a model, and what it emits, stands under its own name.
#[tokio::test]
async fn a_gate_speaks_under_its_own_name() {
    struct Judge;
    #[middleware]
    impl Middleware for Judge {
        fn name(&self) -> &str {
            "judge"
        }
        async fn before_tool_call(&self, turn: &Turn, call: &catena::message::ToolCall) -> Result<ToolDecision> {
            let run = turn.run();
            assert_eq!((run.middleware(), run.call()), (Some("judge"), Some(&call.id)));
            let model = run.model("small")?;
            let request = ModelRequest::new(
                model.model().clone(),
                vec![catena::message::Message::user("is it safe?")],
            );
            let said = model.ask(request).await?.text();
            run.emit("judged", json!(said));
            Ok(if said == "yes" {
                ToolDecision::Allow
            } else {
                ToolDecision::block(said)
            })
        }
    }
    let agent = Agent::builder(scripted([call("echo", text("a")), say("done")]))
        .named_model("small", scripted([say("yes").usage(3, 1)]))
        .tool(echo())
        .with(Judge)
        .build()
        .unwrap();
    let (events, result) = watch(&agent, "go").await;
    let result = result.unwrap();
    assert_eq!(result.executed("echo"), 1);
    assert_eq!(result.totals.internal["judge"].usage.total(), 4);
    let judged = events.iter().any(|event| {
        matches!(&event.kind, catena::event::EventKind::Custom { source, name, .. } if source == "judge" && name == "judged")
    });
    assert!(judged);
}

/// CORE-GATE-07: a call of which nothing runs leaves no trace of a replacement: an abort drops those of the calls before.
#[tokio::test]
async fn an_abort_keeps_the_calls_as_the_model_made_them() {
    let agent = Agent::builder(scripted([calls([("echo", text("a")), ("echo", text("stop"))])]))
        .tool(echo())
        .with(at(10, replaces("mask", "a", "b")))
        .with(at(
            20,
            gate_fn("guard", |_, call| {
                Ok(match call.input["text"] == "stop" {
                    true => ToolDecision::AbortLoop(Ending::stopped("x", "x")),
                    false => ToolDecision::Allow,
                })
            }),
        ))
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(
        lines(&view(&agent, "t").await)[1],
        r#"agent: [echo {"text":"a"}] [echo {"text":"stop"}]"#
    );
}

/// LC-STREAM-04: a call that waits for a person has neither begun nor ended in the events.
#[tokio::test]
async fn a_call_that_waits_has_not_begun() {
    use catena::event::EventKind;
    let agent = Agent::builder(scripted([call("echo", text("a")), say("done")]))
        .tool(echo())
        .with(gate_fn("human", |_, _| Ok(ask())))
        .build()
        .unwrap();
    let of_tools = |events: &[catena::event::RunEvent]| {
        let of_tool = |e: &&catena::event::RunEvent| {
            matches!(e.kind, EventKind::ToolStarted { .. } | EventKind::ToolEnded { .. })
        };
        events.iter().filter(of_tool).count()
    };
    let (events, _) = watch(&agent, Input::new("go").thread("t")).await;
    assert_eq!(of_tools(&events), 0);
    assert!(
        events
            .iter()
            .any(|event| matches!(&event.kind, EventKind::Interrupted { pauses } if pauses.len() == 1))
    );
    let (events, _) = watch(&agent, Resume::thread("t").approve_all()).await;
    assert_eq!(of_tools(&events), 2);
}
