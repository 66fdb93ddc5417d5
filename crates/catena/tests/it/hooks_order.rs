//! Which hook runs when.

use std::sync::Arc;

use catena::chain::Order;
use catena::message::Role;
use catena::middleware::{Hook, before_agent_fn, before_model_fn, gate_fn};
use catena::prelude::*;
use catena::testing::{call, calls, say, scripted};
use catena::tool::Tool;
use serde_json::json;

use crate::kit::{At, Log, at, echo, lines, noting, spy, text, view, warnings, watch};

/// LC-LOOP-01: one tool round calls the hooks from before_agent to after_agent, the gate before the tool and after_tool_call behind it.
#[tokio::test]
async fn the_hooks_of_a_run_come_in_the_order_of_the_loop() {
    let log = Log::default();
    let agent = Agent::builder(scripted([call("note", text("a")), say("done")]))
        .tool(noting("note", &log))
        .with(spy("m", 500, &log))
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(
        log.take(),
        [
            "m.before_agent",
            "m.before_model",
            "m.model>",
            "m.<model",
            "m.after_model",
            "m.gate",
            "m.tool>",
            "note a",
            "m.<tool",
            "m.after_tool_call",
            "m.before_model",
            "m.model>",
            "m.<model",
            "m.after_model",
            "m.after_agent",
        ]
    );
}

/// LC-WRAP-01: before and after hooks run by priority, wraps nest with the lowest priority outermost, however they were registered.
#[tokio::test]
async fn lower_priorities_run_first_and_wrap_outermost() {
    let log = Log::default();
    let agent = Agent::builder(scripted([say("done")]))
        .with(spy("c", 30, &log))
        .with(spy("a", 10, &log))
        .with(spy("b", 20, &log))
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(
        log.take().join(" "),
        "a.before_agent b.before_agent c.before_agent a.before_model b.before_model c.before_model \
         a.model> b.model> c.model> c.<model b.<model a.<model a.after_model b.after_model c.after_model \
         a.after_agent b.after_agent c.after_agent"
    );
}

/// LC-TOOL-01: wraps of a tool call nest, and its gates and after_tool_call hooks run by priority.
#[tokio::test]
async fn wraps_of_a_tool_call_nest() {
    let log = Log::default();
    let agent = Agent::builder(scripted([call("note", text("x")), say("done")]))
        .tool(noting("note", &log))
        .with(spy("b", 20, &log))
        .with(spy("a", 10, &log))
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    let lines = log.take();
    let from = lines.iter().position(|line| line == "a.gate").unwrap();
    assert_eq!(
        lines[from..from + 9].join(" "),
        "a.gate b.gate a.tool> b.tool> note x b.<tool a.<tool a.after_tool_call b.after_tool_call"
    );
}

/// LC-LOOP-02, LC-LOOP-03: in listed order, before_agent runs as listed and after_agent in reverse; in listed order, before_model runs as
/// listed and after_model in reverse, at every turn.
#[tokio::test]
async fn in_listed_order_the_after_hooks_run_in_reverse() {
    let log = Log::default();
    let agent = Agent::builder(scripted([call("note", text("x")), say("done")]))
        .tool(noting("note", &log))
        .with(spy("one", 900, &log))
        .with(spy("two", 1, &log))
        .in_listed_order()
        .build()
        .unwrap();
    assert_eq!(agent.chain().order, Order::Listed);
    agent.run("go").await.unwrap();
    let of = |hook: &str| -> Vec<String> { log.lines().into_iter().filter(|line| line.ends_with(hook)).collect() };
    assert_eq!(of(".before_agent"), ["one.before_agent", "two.before_agent"]);
    let turn = ["one.before_model", "two.before_model"];
    assert_eq!(of(".before_model"), [turn, turn].concat());
    let turn = ["two.after_model", "one.after_model"];
    assert_eq!(of(".after_model"), [turn, turn].concat());
    assert_eq!(of(".model>"), [["one.model>", "two.model>"]; 2].concat());
    assert_eq!(of(".gate"), ["one.gate", "two.gate"]);
    assert_eq!(of(".after_tool_call"), ["two.after_tool_call", "one.after_tool_call"]);
    assert_eq!(of(".after_agent"), ["two.after_agent", "one.after_agent"]);
}

/// LC-LOOP-04, ZC-CHAIN-15, ZC-CHAIN-16: three model turns call before_agent and after_agent once, the model hooks three times; what runs
/// once per message is entered once, however many model calls the loop makes; what runs at each call is entered once per model call.
#[tokio::test]
async fn agent_hooks_run_once_and_model_hooks_at_every_turn() {
    let log = Log::default();
    let model = scripted([call("echo", text("1")), call("echo", text("2")), say("done")]);
    let agent = Agent::builder(model)
        .tool(echo())
        .with(spy("m", 500, &log))
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    let counts = ["m.before_agent", "m.after_agent", "m.before_model", "m.after_model"].map(|line| log.count(line));
    assert_eq!(counts, [1, 1, 3, 3]);
}

/// LC-LOOP-05: two runs of one agent each call before_agent and after_agent once.
#[tokio::test]
async fn every_run_has_its_own_agent_hooks() {
    let log = Log::default();
    let agent = Agent::builder(scripted([say("one"), say("two")]))
        .with(spy("m", 500, &log))
        .build()
        .unwrap();
    agent.run(Input::new("a").thread("t")).await.unwrap();
    agent.run(Input::new("b").thread("t")).await.unwrap();
    assert_eq!([log.count("m.before_agent"), log.count("m.after_agent")], [2, 2]);
}

/// LC-LOOP-06: a resumed run does not run before_agent again, and a pause is no end.
#[tokio::test]
async fn a_resumed_run_does_not_begin_again() {
    let log = Log::default();
    let gate = gate_fn("human", |_, _| {
        Ok(ToolDecision::Interrupt(catena::interrupt::InterruptRequest::approval(
            "may it?",
        )))
    });
    let agent = Agent::builder(scripted([call("echo", text("x")), say("done")]))
        .tool(echo())
        .with(spy("m", 500, &log))
        .with(gate)
        .build()
        .unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!([log.count("m.before_agent"), log.count("m.after_agent")], [1, 0]);
    agent.run(Resume::thread("t").approve_all()).await.unwrap();
    assert_eq!([log.count("m.before_agent"), log.count("m.after_agent")], [1, 1]);
}

/// ZC-CHAIN-14: a middleware of one's own stands where its priority says, without renumbering anything.
#[tokio::test]
async fn a_priority_between_two_others_is_a_place_between_them() {
    let log = Log::default();
    let agent = Agent::builder(scripted([say("done")]))
        .with(spy("patch_tool_calls", 300, &log))
        .with(spy("tool_error", 350, &log))
        .with(spy("mine", 340, &log))
        .build()
        .unwrap();
    let names: Vec<_> = agent.chain().rows.into_iter().map(|row| row.name).collect();
    assert_eq!(names, ["patch_tool_calls", "mine", "tool_error"]);
}

/// CORE-HOOK-01: a hook that a middleware does not have is neither called nor in the report.
#[tokio::test]
async fn a_hook_that_is_not_written_is_not_in_the_report_nor_in_the_events() {
    let agent = Agent::builder(scripted([say("done")]))
        .with(before_model_fn("only_before_model", |_| Ok(Flow::Continue)))
        .build()
        .unwrap();
    let report = agent.chain();
    assert_eq!(report.rows[0].hooks, [Hook::BeforeModel]);
    assert_eq!(report.hooks[&Hook::BeforeModel], ["only_before_model"]);
    assert!(
        report
            .hooks
            .iter()
            .all(|(hook, names)| *hook == Hook::BeforeModel || names.is_empty())
    );
    let (events, _) = watch(&agent, "go").await;
    let hooks: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            catena::event::EventKind::Middleware { hook, .. } => Some(*hook),
            _ => None,
        })
        .collect();
    assert_eq!(hooks, [Hook::BeforeModel]);
}

/// ZC-CHAIN-10: with an empty chain, a run is a plain loop of model and tools.
#[tokio::test]
async fn an_empty_chain_is_a_plain_loop() {
    let agent = Agent::builder(scripted([call("echo", text("x")), say("done")]))
        .tool(echo())
        .build()
        .unwrap();
    let result = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(result.outcome, Outcome::Done);
    let expected = ["user: go", r#"agent: [echo {"text":"x"}]"#, "echo: x", "agent: done"];
    assert_eq!(lines(&result.messages), expected);
    assert_eq!(lines(&view(&agent, "t").await), expected);
}

/// LC-LOOP-09, ZC-CHAIN-06: the same name twice is a build error that names it; the same kind with another suffix is accepted; a name used
/// twice is an error even with different priorities.
#[tokio::test]
async fn a_name_is_used_once_and_a_kind_as_often_as_one_likes() {
    let log = Log::default();
    let twice = Agent::builder(scripted([]))
        .with(spy("limit", 1, &log))
        .with(spy("limit", 2, &log))
        .build();
    assert!(
        twice
            .unwrap_err()
            .to_string()
            .contains("2 middlewares are named `limit`")
    );
    let kinds = Agent::builder(scripted([]))
        .with(spy("limit:a", 1, &log))
        .with(spy("limit:b", 1, &log))
        .build();
    assert!(kinds.is_ok());
}

/// ZC-CHAIN-09: all problems of an agent are reported together.
#[tokio::test]
async fn all_problems_of_an_agent_are_reported_together() {
    let log = Log::default();
    let error = Agent::builder(scripted([]))
        .tool(echo())
        .tool(echo())
        .with(spy("", 1, &log))
        .with(spy("late", 1000, &log))
        .max_turns(0)
        .build()
        .unwrap_err();
    let Error::Build { problems } = &error else {
        panic!("{error}")
    };
    assert_eq!(problems.len(), 4, "{problems:#?}");
    for part in [
        "named `echo`",
        "`max_turns` is 0",
        "name ``",
        "`late` has priority 1000",
    ] {
        assert!(
            problems.iter().any(|problem| problem.contains(part)),
            "{part}: {problems:#?}"
        );
    }
}

/// A tool that a middleware offers.
struct Offers;

#[middleware]
impl Middleware for Offers {
    fn name(&self) -> &str {
        "offers"
    }
    async fn tools(&self, _: &RunContext) -> Result<Vec<Arc<dyn Tool>>> {
        let other = catena::tool::tool_fn("echo", "Another one.", |_: crate::kit::Text, _| async { "other" });
        Ok(vec![Arc::new(other)])
    }
}

/// LC-LOOP-10: two tools of one name, the agent's and a middleware's, are an event that names both owners; the first one is offered.
#[tokio::test]
async fn two_tools_of_one_name_are_told_and_the_first_is_offered() {
    let model = scripted([call("echo", text("x")), say("done")]);
    let agent = Agent::builder(model.clone()).tool(echo()).with(Offers).build().unwrap();
    let (events, result) = watch(&agent, "go").await;
    let warning = &warnings(&events)[0];
    assert!(
        warning.contains("`echo`, that of the agent and that of `offers`"),
        "{warning}"
    );
    assert_eq!(model.requests()[0].tools.len(), 1);
    assert_eq!(lines(&result.unwrap().messages)[2], "echo: x");
}

/// LC-LOOP-12: messages of the model carry the agent's name.
#[tokio::test]
async fn an_answer_carries_the_agents_name() {
    for (agent, name) in [
        (Agent::builder(scripted([say("hi")])), "agent"),
        (Agent::builder(scripted([say("hi")])).name("helper"), "helper"),
    ] {
        let result = agent.build().unwrap().run("go").await.unwrap();
        assert_eq!(result.messages[1].as_assistant().unwrap().name.as_deref(), Some(name));
    }
}

/// LC-LOOP-17: a hook that changes nothing leaves no state and no state event behind.
#[tokio::test]
async fn a_hook_that_changes_nothing_leaves_nothing_behind() {
    let log = Log::default();
    let agent = Agent::builder(scripted([say("hi")]))
        .with(spy("m", 500, &log))
        .build()
        .unwrap();
    let (events, _) = watch(&agent, Input::new("go").thread("t")).await;
    assert!(
        !events
            .iter()
            .any(|e| matches!(e.kind, catena::event::EventKind::StateChanged { .. }))
    );
    assert_eq!(agent.thread(&"t".into()).await.unwrap().slots().count(), 0);
}

/// ZC-CHAIN-17: what before_agent adds to the prompt is in every request of the run and in none of the next.
#[tokio::test]
async fn what_before_agent_adds_to_the_prompt_stays_for_the_run() {
    let model = scripted([call("echo", text("x")), say("one"), say("two")]);
    let agent = Agent::builder(model.clone())
        .prompt("Base.")
        .tool(echo())
        .with(before_agent_fn("dated", |intake| {
            if intake.text() == "first" {
                intake.prompt.push("dated", Stability::PerRun, "Today.");
            }
            Ok(Flow::Continue)
        }))
        .build()
        .unwrap();
    agent.run(Input::new("first").thread("t")).await.unwrap();
    agent.run(Input::new("second").thread("t")).await.unwrap();
    let prompts: Vec<_> = model.requests().iter().map(|request| request.prompt.render()).collect();
    assert_eq!(prompts, ["Base.\n\nToday.", "Base.\n\nToday.", "Base."]);
}

/// ZC-CHAIN-35: a watched run and an unwatched one call the same hooks in the same order.
#[tokio::test]
async fn watching_a_run_changes_nothing_about_it() {
    let script = || [calls([("note", text("a")), ("nothing", json!({}))]), say("done")];
    let mut seen = Vec::new();
    for watched in [false, true] {
        let log = Log::default();
        let agent = Agent::builder(scripted(script()))
            .tool(noting("note", &log))
            .with(spy("a", 10, &log))
            .with(spy("b", 20, &log))
            .build()
            .unwrap();
        let result = match watched {
            true => watch(&agent, "go").await.1.unwrap(),
            false => agent.run("go").await.unwrap(),
        };
        seen.push((log.take(), lines(&result.messages)));
    }
    assert_eq!(seen[0], seen[1]);
}

/// CORE-HOOK-02: the input may be edited until the last before_agent; the model, the record and the result see the edited one.
#[tokio::test]
async fn an_edited_input_is_what_the_thread_keeps() {
    let model = scripted([say("hi")]);
    let edit = |name: &'static str, word: &'static str| -> At<_> {
        at(
            10,
            before_agent_fn(name, move |intake| {
                let text = format!("{} {word}", intake.text());
                *intake.input_mut() = vec![Arc::new(catena::message::Message::user(text))];
                Ok(Flow::Continue)
            }),
        )
    };
    let agent = Agent::builder(model.clone())
        .with(edit("b", "two"))
        .with(edit("a", "one"))
        .build()
        .unwrap();
    let result = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(lines(&model.last_messages()), ["user: go one two"]);
    assert_eq!(result.messages[0].role(), Role::User);
    assert_eq!(lines(&view(&agent, "t").await), ["user: go one two", "agent: hi"]);
}
