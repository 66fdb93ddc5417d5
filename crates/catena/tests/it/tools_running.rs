//! Tools at work: side by side, in lanes, within limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use catena::agent::Limits;
use catena::event::EventKind;
use catena::message::ToolCall;
use catena::middleware::wrap_tool_fn;
use catena::prelude::*;
use catena::record::CallStatus;
use catena::testing::{call, calls, say, scripted};
use catena::tool::{Tool, ToolClass, ToolSpec, Trust};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

use crate::kit::{Log, at, echo, lines, text, tool, view, watch};

/// How many are inside at once, and the most that ever were.
#[derive(Clone, Default)]
struct Crowd(Arc<(AtomicUsize, AtomicUsize)>);

impl Crowd {
    /// Stays inside for a few rounds of the scheduler.
    async fn visit(&self) {
        let inside = self.0.0.fetch_add(1, SeqCst) + 1;
        self.0.1.fetch_max(inside, SeqCst);
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        self.0.0.fetch_sub(1, SeqCst);
    }

    fn most(&self) -> usize {
        self.0.1.load(SeqCst)
    }
}

/// LC-TOOL-11, ZC-TOOL-14: of two parallel calls the slow one comes first in the view, as it was called, though it finished last; results
/// appear in call order although the calls finished in reverse.
#[tokio::test]
async fn results_are_shown_in_call_order_and_recorded_as_they_come() {
    let fast_is_done = Arc::new(Notify::new());
    let slow = {
        let fast_is_done = fast_is_done.clone();
        tool("slow", move |_, _| {
            let fast_is_done = fast_is_done.clone();
            async move {
                fast_is_done.notified().await;
                "slow result"
            }
        })
    };
    let fast = tool("fast", move |_, _| {
        fast_is_done.notify_one();
        async { "fast result" }
    });
    let model = scripted([calls([("slow", json!({})), ("fast", json!({}))]), say("done")]);
    let agent = Agent::builder(model.clone()).tool(slow).tool(fast).build().unwrap();
    agent.run(Input::new("go").thread("t")).await.unwrap();
    let shown = ["slow: slow result", "fast: fast result"];
    assert_eq!(lines(&model.last_messages())[2..], shown);
    assert_eq!(lines(&view(&agent, "t").await)[2..4], shown);
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(
        lines(thread.messages())[2..4],
        ["fast: fast result", "slow: slow result"]
    );
}

/// CORE-TOOL-01: calls of a message run at the same time, as many as the limit allows.
#[tokio::test]
async fn calls_run_side_by_side_within_the_limit() {
    for (limit, most) in [(8, 5), (2, 2), (1, 1)] {
        let crowd = Crowd::default();
        let work = {
            let crowd = crowd.clone();
            tool("work", move |_, _| {
                let crowd = crowd.clone();
                async move { crowd.visit().await }
            })
        };
        let limits = Limits {
            parallel_tools: limit,
            ..Limits::default()
        };
        let agent = Agent::builder(scripted([calls((0..5).map(|_| ("work", json!({})))), say("done")]))
            .tool(work)
            .limits(limits)
            .build()
            .unwrap();
        assert_eq!(agent.run("go").await.unwrap().executed("work"), 5);
        assert_eq!(crowd.most(), most);
    }
}

/// A tool whose lane is its `lane`.
struct Laned {
    spec: ToolSpec,
    log: Log,
    meet: Arc<Barrier>,
}

#[async_trait::async_trait]
impl Tool for Laned {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn lane(&self, input: &Value) -> Option<String> {
        input["lane"].as_str().map(str::to_owned)
    }
    async fn call(&self, _: ToolContext, input: Value) -> Result<ToolOutcome, ToolError> {
        let name = input["name"].as_str().unwrap_or_default();
        self.log.add(format!("{name}>"));
        if input["meets"] == true {
            self.meet.wait().await;
        }
        self.log.add(format!("<{name}"));
        Ok(ToolOutput::text(name).into())
    }
}

/// CORE-TOOL-02: calls of one lane run one after another in call order; other lanes, and calls without one, do not wait for them.
#[tokio::test]
async fn calls_of_a_lane_run_in_call_order_and_lanes_side_by_side() {
    let log = Log::default();
    let laned = Laned {
        spec: ToolSpec::new("write", "Writes.", Value::Null),
        log: log.clone(),
        meet: Arc::new(Barrier::new(3)),
    };
    let write =
        |name: &str, lane: Option<&str>, meets: bool| ("write", json!({"name": name, "lane": lane, "meets": meets}));
    let batch = [
        write("a1", Some("a"), true),
        write("a2", Some("a"), false),
        write("a3", Some("a"), false),
        write("b1", Some("b"), true),
        write("free", None, true),
    ];
    let agent = Agent::builder(scripted([calls(batch), say("done")]))
        .tool(laned)
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    let lines = log.take();
    let lane: Vec<_> = lines.iter().filter(|line| line.contains('a')).cloned().collect();
    assert_eq!(lane, ["a1>", "<a1", "a2>", "<a2", "a3>", "<a3"]);
    assert_eq!(
        lines[..3],
        ["a1>", "b1>", "free>"],
        "the three that meet are at work together"
    );
    assert_eq!(result.executed("write"), 5);
}

/// ZC-TOOL-16: a tool that never returns is given up at its time limit; the model is told, and the run goes on.
#[tokio::test(start_paused = true)]
async fn a_tool_that_never_returns_is_given_up() {
    let hang = |name| tool(name, |_, _| std::future::pending::<()>());
    let agent = Agent::builder(scripted([
        calls([("short", json!({})), ("usual", json!({}))]),
        say("done"),
    ]))
    .tool(hang("short").configure(|spec| spec.time_limit(Duration::from_secs(5))))
    .tool(hang("usual"))
    .build()
    .unwrap();
    let started = tokio::time::Instant::now();
    let result = agent.run("go").await.unwrap();
    assert_eq!(started.elapsed(), ToolSpec::TIME_LIMIT);
    assert_eq!(
        lines(&result.messages)[2..],
        [
            "short! error: tool `short` took longer than 5s",
            "usual! error: tool `usual` took longer than 120s",
            "agent: done"
        ]
    );
}

/// ZC-TOOL-17: a tool that panics is an error result without the panic's text, and the run goes on.
#[tokio::test]
async fn a_tool_that_panics_is_an_error_result() {
    let broken = tool("broken", |_, _| async {
        if true {
            panic!("a secret");
        }
    });
    let agent = Agent::builder(scripted([
        calls([("broken", json!({})), ("echo", text("x"))]),
        say("done"),
    ]))
    .tool(broken)
    .tool(echo())
    .build()
    .unwrap();
    let (events, result) = watch(&agent, "go").await;
    let result = result.unwrap();
    assert_eq!(
        lines(&result.messages)[2..],
        [
            "broken! error: tool `broken` failed unexpectedly",
            "echo: x",
            "agent: done"
        ]
    );
    assert!(!serde_json::to_string(&events).unwrap().contains("a secret"));
    assert_eq!(result.executed("broken"), 1, "it ran");
}

/// CORE-TOOL-03: results pass after_tool_call one at a time, even when their tools finish together.
#[tokio::test]
async fn results_pass_after_tool_call_one_at_a_time() {
    struct Checks(Crowd);
    #[middleware]
    impl Middleware for Checks {
        fn name(&self) -> &str {
            "checks"
        }
        async fn after_tool_call(&self, _: &mut Turn, _: &ToolCall, output: &mut ToolOutput) -> Result<()> {
            self.0.visit().await;
            *output = ToolOutput::text(format!("checked {}", output.to_text()));
            Ok(())
        }
    }
    let crowd = Crowd::default();
    let agent = Agent::builder(scripted([
        calls(["a", "b", "c"].map(|t| ("echo", text(t)))),
        say("done"),
    ]))
    .tool(echo())
    .with(Checks(crowd.clone()))
    .build()
    .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(crowd.most(), 1);
    assert_eq!(
        lines(&result.messages)[2..5],
        ["echo: checked a", "echo: checked b", "echo: checked c"]
    );
}

/// CORE-TOOL-04: a call that a wrap tries again counts once.
#[tokio::test]
async fn a_call_that_is_tried_again_counts_once() {
    let tries = Arc::new(AtomicUsize::new(0));
    let flaky = {
        let tries = tries.clone();
        tool("flaky", move |_, _| {
            let nth = tries.fetch_add(1, SeqCst);
            async move { if nth == 0 { Err("not yet") } else { Ok("at last") } }
        })
    };
    let retry = wrap_tool_fn("retry", |call, next| {
        Box::pin(async move {
            match next.call(call.clone()).await {
                Err(Error::Tool(error)) if error.retryable => next.call(call).await,
                other => other,
            }
        })
    });
    let agent = Agent::builder(scripted([call("flaky", json!({})), say("done")]))
        .tool(flaky)
        .with(retry)
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!((tries.load(SeqCst), result.executed("flaky")), (2, 1));
    assert_eq!(lines(&result.messages)[2], "flaky: at last");
}

/// LC-TOOL-12: when one call ends the run, the result of a sibling at work is kept, nothing more starts, and no call is left open.
#[tokio::test]
async fn a_fatal_call_lets_its_siblings_finish_and_starts_nothing_more() {
    let log = Log::default();
    let fatal_is_over = Arc::new(Notify::new());
    let guard = wrap_tool_fn("guard", |call, next| {
        Box::pin(async move {
            if call.name == "fatal" {
                return Err(Error::Ended {
                    kind: "quota".into(),
                    message: "no money left".into(),
                });
            }
            next.call(call).await
        })
    });
    let sibling = {
        let fatal_is_over = fatal_is_over.clone();
        tool("sibling", move |_, _| {
            let fatal_is_over = fatal_is_over.clone();
            async move {
                fatal_is_over.notified().await;
                "finished"
            }
        })
    };
    struct Tells(Arc<Notify>);
    #[middleware]
    impl Middleware for Tells {
        fn name(&self) -> &str {
            "tells"
        }
        async fn after_tool_call(&self, _: &mut Turn, call: &ToolCall, _: &mut ToolOutput) -> Result<()> {
            if call.name == "fatal" {
                self.0.notify_one();
            }
            Ok(())
        }
    }
    let limits = Limits {
        parallel_tools: 2,
        ..Limits::default()
    };
    let batch = calls([("sibling", json!({})), ("fatal", json!({})), ("late", text("x"))]);
    let agent = Agent::builder(scripted([batch]))
        .tool(sibling)
        .tool(tool("fatal", |_, _| async { "never" }))
        .tool(crate::kit::noting("late", &log))
        .limits(limits)
        .with(guard)
        .with(at(900, Tells(fatal_is_over)))
        .build()
        .unwrap();
    let error = agent.run(Input::new("go").thread("t")).await.unwrap_err();
    assert_eq!(error.kind(), "quota");
    assert_eq!(log.take(), [""; 0]);
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(
        lines(&thread.view())[2..],
        [
            "sibling: finished",
            "fatal! error: no money left",
            "late! not run: no money left"
        ]
    );
    let statuses: Vec<_> = thread.run().unwrap().calls().iter().map(|call| call.status).collect();
    assert_eq!(statuses, [CallStatus::Error, CallStatus::Ok, CallStatus::NotRun]);
}

/// CORE-TOOL-05: a tool says how far it is; the share is kept between 0 and 1.
#[tokio::test]
async fn a_tool_says_how_far_it_is() {
    let dig = tool("dig", |_, context: ToolContext| async move {
        context.progress("started", None);
        context.progress("half", Some(0.5));
        context.progress("too far", Some(7.0));
        context.run().emit("found", json!({"gold": true}));
        "done"
    });
    let agent = Agent::builder(scripted([call("dig", json!({})), say("done")]))
        .tool(dig)
        .build()
        .unwrap();
    let (events, _) = watch(&agent, "go").await;
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolStarted { call, tool, .. } => Some(format!("{call} {tool} started")),
            EventKind::ToolProgress {
                call,
                message,
                fraction,
            } => Some(format!("{call} {message} {fraction:?}")),
            EventKind::ToolEnded {
                call,
                status,
                duration_us,
                ..
            } => Some(format!("{call} {status:?} {}", duration_us.is_some())),
            EventKind::Custom { source, name, .. } => Some(format!("{source} {name}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            "call_1 dig started",
            "call_1 started None",
            "call_1 half Some(0.5)",
            "call_1 too far Some(1.0)",
            "dig found",
            "call_1 Ok true"
        ]
    );
}

/// CORE-TOOL-06: a tool that only reads may be repeated; what a tool does not say about itself is assumed to be the careful thing.
#[test]
fn marks_say_what_may_be_done_with_a_tool() {
    let plain = ToolSpec::new("a", "", Value::Null);
    assert!(!plain.read_only && !plain.repeatable && !plain.ends_run && plain.lane.is_none());
    assert_eq!(
        (plain.class, plain.trust, plain.time_limit),
        (ToolClass::Other, Trust::Local, ToolSpec::TIME_LIMIT)
    );
    let reads = ToolSpec::new("b", "", Value::Null).read_only();
    assert!(reads.read_only && reads.repeatable);
    let idempotent = ToolSpec::new("c", "", Value::Null).repeatable();
    assert!(!idempotent.read_only && idempotent.repeatable);
    assert_eq!(ToolSpec::new("d", "", Value::Null).remote().trust, Trust::Remote);
}
