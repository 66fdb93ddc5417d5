//! Counts, trees of runs, visibility, folds: what middlewares build on.

use std::sync::Arc;

use catena::context::RunContext;
use catena::message::Message;
use catena::middleware::{before_agent_fn, before_model_fn};
use catena::prelude::*;
use catena::principal::{Principal, ResourceKind, Resources};
use catena::testing::{Reply, call, calls, say, scripted};
use catena::tool::FnTool;
use serde_json::json;

use crate::kit::{Log, at, echo, lines, noting, open, text, tool, view, watch};

/// A tool that runs an agent as a child.
fn task(child: Agent) -> FnTool {
    tool("task", move |_, context: ToolContext| {
        let child = child.clone();
        async move {
            let done = child.run(Input::new("the task").child_of(context.run())).await;
            done.map(|result| result.text())
                .map_err(|error| ToolError::new(error.to_string()))
        }
    })
}

/// Notes where its run stands in the tree.
struct Place(&'static str, Log);

#[middleware]
impl Middleware for Place {
    fn name(&self) -> &str {
        self.0
    }
    async fn after_agent(&self, run: &RunContext, _: &catena::record::OutcomeRecord) -> Result<()> {
        let counts = run.counts();
        let (own, tree) = (&counts.run, &counts.tree);
        self.1.add(format!(
            "{} depth {} path {} user {} parent {} turns {}/{} echo {}/{} tokens {}/{} permits {}",
            run.agent(),
            run.depth(),
            run.path().join(">"),
            run.principal().user,
            run.parent().is_some(),
            own.turns,
            tree.turns,
            own.executed("echo"),
            tree.executed("echo"),
            own.usage.total(),
            tree.usage.total(),
            run.permits("slots", 3).available_permits(),
        ));
        Ok(())
    }
}

/// CORE-TREE-01: a child run knows its depth and path, acts for the same principal and shares the permits of its tree; a run counts its own
/// calls, and only the tree counts everybody's.
#[tokio::test]
async fn a_child_counts_for_itself_and_the_tree_for_all() {
    let log = Log::default();
    let child = Agent::builder(scripted([
        call("echo", text("x")).usage(1, 1),
        say("child").usage(1, 1),
    ]))
    .name("researcher")
    .tool(echo())
    .with(Place("place", log.clone()))
    .build()
    .unwrap();
    let takes = before_model_fn("takes", |turn| {
        let permit = turn.run().permits("slots", 3).try_acquire_owned();
        turn.run().live().get_or_insert_with("permit", || permit);
        Ok(Flow::Continue)
    });
    let parent = Agent::builder(scripted([
        call("task", json!({})).usage(10, 10),
        say("parent").usage(10, 10),
    ]))
    .name("lead")
    .tool(task(child))
    .with(Place("place", log.clone()))
    .with(takes)
    .build()
    .unwrap();
    let result = parent
        .run(Input::new("go").principal(Principal::user("ann")))
        .await
        .unwrap();
    assert_eq!(lines(&result.messages)[2], "task: child");
    assert_eq!(
        log.take(),
        [
            "researcher depth 1 path lead>researcher user ann parent true turns 2/3 echo 1/1 tokens 4/24 permits 2",
            "lead depth 0 path lead user ann parent false turns 2/4 echo 0/1 tokens 40/44 permits 2",
        ]
    );
}

/// CORE-TREE-02: events of a child carry its path.
#[tokio::test]
async fn events_of_a_child_carry_its_path() {
    let seen = Log::default();
    struct Watches(Log);
    #[middleware]
    impl Middleware for Watches {
        fn name(&self) -> &str {
            "watches"
        }
        fn observe(&self, _: &RunContext, event: &catena::event::RunEvent) {
            self.0.add(event.path.join(">"));
        }
    }
    let child = Agent::builder(scripted([say("child")]))
        .name("child")
        .with(Watches(seen.clone()))
        .build()
        .unwrap();
    let parent = Agent::builder(scripted([call("task", json!({})), say("parent")]))
        .name("parent")
        .tool(task(child))
        .build()
        .unwrap();
    let (events, _) = watch(&parent, "go").await;
    let paths = seen.take();
    let below: Vec<_> = events
        .iter()
        .map(|event| event.path.join(">"))
        .filter(|path| path != "parent")
        .collect();
    assert_eq!(
        below, paths,
        "whoever watches the parent reads what the child's own observers see"
    );
    assert!(
        !paths.is_empty() && paths.iter().all(|path| path == "parent>child"),
        "{paths:?}"
    );
}

/// CORE-COUNT-01: turns, attempts, calls and tokens are counted for the run and for its thread; refused calls count nowhere.
#[tokio::test]
async fn the_loop_counts_for_run_and_thread() {
    let log = Log::default();
    let counts = {
        let log = log.clone();
        before_model_fn("counts", move |turn| {
            let counts = turn.run().counts();
            for (name, totals) in [("run", counts.run), ("thread", counts.thread)] {
                log.add(format!(
                    "{name} turns {} calls {} tokens {}",
                    totals.turns,
                    totals.executed_total(),
                    totals.usage.total()
                ));
            }
            Ok(Flow::Continue)
        })
    };
    let script = [
        calls([("echo", text("a")), ("fly", json!({}))]).usage(2, 1),
        say("one").usage(2, 1),
        say("two").usage(2, 1),
    ];
    let agent = Agent::builder(scripted(script))
        .tool(echo())
        .with(counts)
        .build()
        .unwrap();
    agent.run(Input::new("one?").thread("t")).await.unwrap();
    agent.run(Input::new("two?").thread("t")).await.unwrap();
    assert_eq!(
        log.take(),
        [
            "run turns 0 calls 0 tokens 0",
            "thread turns 0 calls 0 tokens 0",
            "run turns 1 calls 1 tokens 3",
            "thread turns 1 calls 1 tokens 3",
            "run turns 0 calls 0 tokens 0",
            "thread turns 2 calls 1 tokens 6",
        ]
    );
}

/// CORE-COUNT-02: attempts that a retry threw away are counted with their tokens, for run, thread and tree alike.
#[tokio::test]
async fn wasted_attempts_are_counted() {
    let retry = catena::middleware::wrap_model_fn("retry", |request, next| {
        Box::pin(async move {
            let first = next.call(request.clone()).await?;
            drop(first);
            next.call(request).await
        })
    });
    let log = Log::default();
    let agent = Agent::builder(scripted([say("one").usage(5, 5), say("two").usage(1, 1)]))
        .with(retry)
        .with(Place("place", log.clone()))
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(
        (result.totals.turns, result.totals.attempts, result.totals.usage.total()),
        (1, 2, 12)
    );
    assert!(log.take()[0].contains("tokens 12/12"));

    let failing = Agent::builder(scripted([Reply::error(500, "down")]))
        .with(Place("place", log.clone()))
        .build()
        .unwrap();
    assert!(failing.run("go").await.is_err());
    assert!(log.take()[0].contains("turns 0/0"));
}

/// FC-086: what a run may not see is not offered and cannot be called.
#[tokio::test]
async fn a_tool_that_may_not_be_seen_is_not_there() {
    struct Without(&'static str);
    impl Resources for Without {
        fn visible(&self, kind: ResourceKind, name: &str) -> bool {
            kind != ResourceKind::Tool || name != self.0
        }
    }
    let log = Log::default();
    let model = scripted([call("note", text("x")), say("done"), say("all")]);
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .tool(noting("note", &log))
        .build()
        .unwrap();
    let result = agent.run(Input::new("go").resources(Without("note"))).await.unwrap();
    assert_eq!(
        lines(&result.messages)[2],
        "note! there is no tool `note`; available: echo"
    );
    agent.run("go").await.unwrap();
    let offers: Vec<_> = model.requests().iter().map(|request| request.tools.len()).collect();
    assert_eq!((offers, log.take().len()), (vec![1, 1, 2], 0));
}

/// A middleware that folds everything up to the message `at` (counted from 0) when the view has more than `above` messages.
fn folds(above: usize, upto: usize) -> impl Middleware {
    before_model_fn("summary", move |turn| {
        if turn.request.messages.len() > above {
            let id = turn.request.messages[upto].id().clone();
            turn.fold(id, Message::user("a summary"))?;
        }
        Ok(Flow::Continue)
    })
}

/// CORE-FOLD-01: a fold in before_model counts for this call and all later ones; the record keeps every message.
#[tokio::test]
async fn a_fold_changes_the_view_and_never_the_record() {
    let model = scripted([call("echo", text("x")), say("one"), say("two")]);
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .with(folds(4, 2))
        .build()
        .unwrap();
    agent.run(Input::new("first").thread("t")).await.unwrap();
    agent.run(Input::new("second").thread("t")).await.unwrap();
    assert_eq!(
        lines(&model.last_messages()),
        ["user: a summary", "agent: one", "user: second"]
    );
    assert_eq!(
        lines(&view(&agent, "t").await),
        ["user: a summary", "agent: one", "user: second", "agent: two"]
    );
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(
        lines(thread.messages()),
        [
            "user: first",
            r#"agent: [echo {"text":"x"}]"#,
            "echo: x",
            "agent: one",
            "user: second",
            "agent: two"
        ]
    );
}

/// CORE-FOLD-02: a fold in before_agent counts from the first call of the run.
#[tokio::test]
async fn a_fold_in_before_agent_counts_from_the_first_call() {
    let model = scripted([say("one"), say("two")]);
    let fold = before_agent_fn("summary", |intake| {
        if let Some(last) = intake.run().messages().last() {
            intake.fold(last.id().clone(), Message::user("a summary"))?;
        }
        Ok(Flow::Continue)
    });
    let agent = Agent::builder(model.clone()).with(fold).build().unwrap();
    agent.run(Input::new("first").thread("t")).await.unwrap();
    agent.run(Input::new("second").thread("t")).await.unwrap();
    assert_eq!(lines(&model.last_messages()), ["user: a summary", "user: second"]);
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(
        lines(thread.messages()),
        ["user: first", "agent: one", "user: second", "agent: two"]
    );
}

/// CORE-FOLD-03: a fold up to a message that the thread does not have is an error that names it.
#[tokio::test]
async fn a_fold_of_nothing_is_an_error() {
    let fold = before_model_fn("summary", |turn| {
        turn.fold("no-such-message".into(), Message::user("a summary"))?;
        Ok(Flow::Continue)
    });
    let error = Agent::builder(scripted([]))
        .with(fold)
        .build()
        .unwrap()
        .run("go")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), "unknown_name");
    assert!(catena::chain_text(&error).contains("there is no message `no-such-message`"));
}

/// CORE-FOLD-04: a fold of a hook that fails is dropped with everything else it did.
#[tokio::test]
async fn a_fold_of_a_failed_hook_is_dropped() {
    let fold = before_model_fn("summary", |turn| {
        let id = turn.request.messages[0].id().clone();
        turn.fold(id, Message::user("a summary"))?;
        Err(Error::other("and then it broke"))
    });
    let model = scripted([say("hi")]);
    let agent = Agent::builder(model.clone()).with(open(fold)).build().unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(lines(&model.last_messages()), ["user: go"]);
    assert_eq!(lines(&view(&agent, "t").await), ["user: go", "agent: hi"]);
}

/// CORE-VIEW-01: edits of a request are for this call only.
#[tokio::test]
async fn edits_of_a_request_are_for_one_call() {
    let model = scripted([call("echo", text("x")), say("done")]);
    let edit = before_model_fn("reminder", |turn| {
        if turn.run().turn() == 0 {
            turn.request.messages_mut().push(Arc::new(Message::user("be brief")));
        }
        Ok(Flow::Continue)
    });
    let agent = Agent::builder(model.clone()).tool(echo()).with(edit).build().unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(lines(&model.requests()[0].messages), ["user: go", "user: be brief"]);
    assert_eq!(
        lines(&model.last_messages()),
        ["user: go", r#"agent: [echo {"text":"x"}]"#, "echo: x"]
    );
}

/// CORE-VIEW-02: a message that after_model edits is recorded as edited, and so it is told and shown to the model again.
#[tokio::test]
async fn an_answer_may_be_edited_until_it_is_recorded() {
    let edit = catena::middleware::after_model_fn("polite", |_, response| {
        for part in &mut response.message.parts {
            if let catena::message::Part::Text(text) = part {
                text.text = text.text.replace("damn", "d***");
            }
        }
        Ok(AfterModel::Continue)
    });
    let model = scripted([say("damn").and_call("echo", text("x")), say("fine")]);
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .with(at(10, edit))
        .build()
        .unwrap();
    let (events, result) = watch(&agent, "go").await;
    assert_eq!(model.last_messages()[1].text(), "d***");
    assert_eq!(crate::kit::told(&events)[1].text(), "d***");
    assert_eq!(result.unwrap().messages[1].text(), "d***");
}

/// CORE-PROMPT-01: stable sections come first in the prompt, then those of the run, then those of the turn; each in plan order.
#[tokio::test]
async fn stable_sections_come_first() {
    let model = scripted([say("hi")]);
    let section = |name: &'static str, stability| {
        before_model_fn(name, move |turn| {
            turn.request.prompt.push(name, stability, Trusted(name.to_owned()));
            Ok(Flow::Continue)
        })
    };
    let once = before_agent_fn("per_run", |intake| {
        intake.prompt.push("per_run", Stability::PerRun, "per_run");
        Ok(Flow::Continue)
    });
    let agent = Agent::builder(model.clone())
        .prompt("base")
        .with(at(1, section("per_turn", Stability::PerTurn)))
        .with(at(2, section("per_thread", Stability::PerThread)))
        .with(at(3, section("static", Stability::Static)))
        .with(once)
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    let prompt = &model.requests()[0].prompt;
    assert_eq!(prompt.render(), "base\n\nstatic\n\nper_thread\n\nper_run\n\nper_turn");
    let owners: Vec<_> = prompt
        .ordered()
        .iter()
        .map(|section| section.owner().to_owned())
        .collect();
    assert_eq!(owners, ["agent", "static", "per_thread", "per_run", "per_turn"]);
}
