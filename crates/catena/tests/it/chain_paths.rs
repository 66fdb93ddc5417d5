//! Whatever way a run takes, what it leaves is a thread that every provider accepts.

use std::sync::{Arc, Mutex};

use catena::interrupt::{Decision, InterruptRequest};
use catena::middleware::{after_model_fn, before_model_fn, gate_fn, wrap_tool_fn};
use catena::prelude::*;
use catena::testing::{Reply, say, scripted};
use catena::tool::ToolSpec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::kit::{End, Log, assert_paired, echo, text, tool, view};

/// Decisions that hooks take one after another, and the first ones again when they run out.
#[derive(Clone)]
struct Choices(Arc<Mutex<(usize, Vec<u8>)>>);

impl Choices {
    fn new(choices: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new((0, choices))))
    }

    fn next(&self) -> u8 {
        let mut state = self.0.lock().unwrap();
        let choice = state.1[state.0 % state.1.len()];
        state.0 += 1;
        choice
    }
}

fn reply(calls: &[u8]) -> Reply {
    calls.iter().enumerate().fold(say("hm"), |reply, (n, call)| match call {
        0 | 1 => reply.and_call("echo", text(&n.to_string())),
        2 => reply.and_call("fly", json!({})),
        3 => reply.and_call("echo", json!({"text": n})),
        4 => reply.and_raw_call("", "echo", "{\"text\":"),
        5 => reply.and_call("broken", json!({})),
        6 => reply.and_call_id("same", "echo", text("again")),
        _ => reply.and_call("submit", json!({})),
    })
}

fn ending(choice: u8) -> Ending {
    match choice % 4 {
        0 => Ending::stopped("x", "stopped"),
        1 => Ending::stopped("x", "stopped").say("Bye."),
        2 => Ending::stopped("x", "stopped").let_model_answer(),
        _ => Ending::failed("x", "failed"),
    }
}

/// An agent whose hooks do as they are told.
fn agent(script: Vec<Vec<u8>>, choices: Vec<u8>, log: &Log) -> (Agent, Arc<catena::testing::ScriptedModel>) {
    let script: Vec<Reply> = script.iter().map(|calls| reply(calls)).collect();
    let model = scripted(script.into_iter().chain((0..60).map(|_| say("done"))));
    let choices = Choices::new(choices);
    let (gates, wraps, models, turns) = (choices.clone(), choices.clone(), choices.clone(), choices);
    let gate = gate_fn("gate", move |_, call| {
        Ok(match gates.next() {
            0 => ToolDecision::block("no"),
            1 => {
                let mut new = call.clone();
                new.input = text("replaced");
                ToolDecision::Replace(new)
            }
            2 => ToolDecision::Interrupt(InterruptRequest::approval("may it?")),
            3 => ToolDecision::AbortLoop(ending(gates.next())),
            4 => return Err(Error::other("a broken gate")),
            _ => ToolDecision::Allow,
        })
    });
    let wrap = wrap_tool_fn("wrap", move |call, next| {
        let choice = wraps.next();
        Box::pin(async move {
            match choice {
                0 => Err(Error::Ended {
                    kind: "x".into(),
                    message: "ended".into(),
                }),
                1 => Ok(ToolOutput::text("made up").into()),
                _ => next.call(call).await,
            }
        })
    });
    let after = after_model_fn("after", move |_, _| {
        Ok(match models.next() {
            0 => AfterModel::AskAgain,
            1 => AfterModel::Stop(ending(models.next())),
            _ => AfterModel::Continue,
        })
    });
    let before = before_model_fn("before", move |_| {
        Ok(match turns.next() {
            0 => Flow::Stop(ending(turns.next())),
            _ => Flow::Continue,
        })
    });
    let broken = tool("broken", |_, _| async { Err::<String, _>("broken") });
    let submit = catena::tool::json_tool(ToolSpec::new("submit", "Ends.", Value::Null).ends_run(), |_, _| async {
        "in"
    });
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .tool(broken)
        .tool(submit)
        .max_turns(6)
        .with(gate)
        .with(wrap)
        .with(after)
        .with(before)
        .with(End {
            name: "end",
            log: log.clone(),
        })
        .build()
        .unwrap();
    (agent, model)
}

async fn walk(script: Vec<Vec<u8>>, choices: Vec<u8>) {
    let log = Log::default();
    let (agent, model) = agent(script, choices.clone(), &log);
    let mut result = agent.run(Input::new("go").thread("t")).await;
    let mut rounds = 0;
    while let Ok(paused) = &result
        && !paused.pauses().is_empty()
    {
        let decide = |n: usize| match choices[n % choices.len()] % 3 {
            0 => Decision::Reject { message: None },
            1 => Decision::Edit {
                name: None,
                input: text("edited"),
            },
            _ => Decision::Approve,
        };
        let fits = |pause: &catena::interrupt::Pause, decision: Decision| match decision {
            Decision::Edit { .. } if pause.tool != "echo" => Decision::Approve,
            other => other,
        };
        let decisions = paused
            .pauses()
            .iter()
            .enumerate()
            .map(|(n, pause)| fits(pause, decide(rounds + n)))
            .collect();
        assert_eq!(log.lines().len(), 0, "a pause is no end");
        result = agent.run(Resume::thread("t").decisions(decisions)).await;
        rounds += 1;
        assert!(rounds < 60, "answers lead somewhere");
    }
    if let Err(error) = result {
        assert!(["x", "invalid_calls"].contains(&error.kind()), "{error}");
    }
    assert_eq!(log.lines().len(), 1, "after_agent runs once: {:?}", log.lines());
    for request in model.requests() {
        assert_paired(&request.messages);
    }
    assert_paired(&view(&agent, "t").await);
    let thread = agent.thread(&"t".into()).await.unwrap();
    let run = thread.run().unwrap();
    assert!(run.outcome().is_some() && run.open_calls().is_empty());
    let ran = run.calls().iter().filter(|call| call.status.executed()).count();
    assert_eq!(u32::try_from(ran).unwrap(), run.totals().executed_total());
    assert!(run.turns() <= 7, "{} turns", run.turns());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// LC-LOOP-18: every call has exactly one result before the next model call and at the end, whatever hooks, gates, tools and persons
    /// decide; after_agent runs once.
    #[test]
    fn whatever_is_decided_the_thread_stays_valid(
        script in prop::collection::vec(prop::collection::vec(0u8..8, 0..4), 1..5),
        choices in prop::collection::vec(0u8..14, 1..24)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(walk(script, choices));
    }
}
