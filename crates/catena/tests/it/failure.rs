//! The failure table: an error, a panic or a spent budget in every hook, failing closed and open.

use catena::event::{EventKind, RunEvent};
use catena::message::{Message, Part, ToolCall};
use catena::middleware::{Hook, OnFailure, wrap_tool_fn};
use catena::prelude::*;
use catena::record::OutcomeRecord;
use catena::state::Slot;
use catena::testing::{Reply, ScriptedModel, call, say, scripted};
use std::sync::Arc;

use crate::kit::{AGES, End, Log, at, echo, lines, of_hook, open, text, watch};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Error,
    Panic,
    Stall,
}

const LEFT: Slot<u32> = Slot::run("faulty.left");
const MARK: &str = "left behind";
const SECRET: &str = "the payload of a panic";

/// Changes whatever it can in one hook, and then fails there.
struct Faulty {
    hook: Hook,
    fault: Fault,
    on_failure: OnFailure,
}

impl Faulty {
    async fn at(&self, hook: Hook, run: &RunContext, change: impl FnOnce()) -> Result<()> {
        if self.hook != hook {
            return Ok(());
        }
        change();
        let taken_back = match hook {
            // They cannot change state.
            Hook::Tools | Hook::BeforeToolCall => false,
            // An error that they return may be one that they pass on.
            Hook::WrapModelCall | Hook::WrapToolCall => !matches!(self.fault, Fault::Error),
            _ => true,
        };
        if taken_back {
            run.update(&LEFT, |left| *left += 1)?;
        }
        match self.fault {
            Fault::Error => Err(Error::other("out of order")),
            Fault::Panic => panic!("{SECRET}"),
            Fault::Stall => {
                tokio::time::sleep(AGES).await;
                Ok(())
            }
        }
    }
}

fn mark() -> Arc<Message> {
    Arc::new(Message::user(MARK))
}

#[middleware]
impl Middleware for Faulty {
    fn name(&self) -> &str {
        "faulty"
    }
    fn on_failure(&self) -> OnFailure {
        self.on_failure
    }
    async fn tools(&self, run: &RunContext) -> Result<Vec<Arc<dyn catena::tool::Tool>>> {
        self.at(Hook::Tools, run, || {}).await.map(|()| Vec::new())
    }
    async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
        let run = intake.run().clone();
        let change = || {
            intake.input_mut().push(mark());
            intake.prompt.push("faulty", Stability::PerRun, MARK);
        };
        self.at(Hook::BeforeAgent, &run, change).await.map(|()| Flow::Continue)
    }
    async fn before_model(&self, turn: &mut Turn) -> Result<Flow> {
        let run = turn.run().clone();
        let change = || {
            turn.request.messages_mut().push(mark());
            turn.request.prompt.push("faulty", Stability::PerTurn, MARK);
            turn.request.tools_mut().clear();
        };
        self.at(Hook::BeforeModel, &run, change).await.map(|()| Flow::Continue)
    }
    async fn wrap_model_call(
        &self,
        mut request: ModelRequest,
        next: catena::chain::NextModel<'_>,
    ) -> Result<ModelResponse> {
        let change = || request.messages_mut().push(mark());
        self.at(Hook::WrapModelCall, next.run(), change).await?;
        next.call(request).await
    }
    async fn after_model(&self, turn: &mut Turn, response: &mut ModelResponse) -> Result<AfterModel> {
        let change = || response.message.parts = vec![Part::text(MARK)];
        self.at(Hook::AfterModel, &turn.run().clone(), change)
            .await
            .map(|()| AfterModel::Continue)
    }
    async fn before_tool_call(&self, turn: &Turn, _: &ToolCall) -> Result<ToolDecision> {
        self.at(Hook::BeforeToolCall, turn.run(), || {})
            .await
            .map(|()| ToolDecision::Allow)
    }
    async fn wrap_tool_call(&self, mut call: ToolCall, next: catena::chain::NextTool<'_>) -> Result<ToolOutcome> {
        self.at(Hook::WrapToolCall, next.run(), || call.input = text(MARK))
            .await?;
        next.call(call).await
    }
    async fn after_tool_call(&self, turn: &mut Turn, _: &ToolCall, output: &mut ToolOutput) -> Result<()> {
        let change = || *output = ToolOutput::text(MARK);
        self.at(Hook::AfterToolCall, &turn.run().clone(), change).await
    }
    async fn after_agent(&self, run: &RunContext, _: &OutcomeRecord) -> Result<()> {
        self.at(Hook::AfterAgent, run, || {}).await
    }
    fn observe(&self, _: &RunContext, _: &RunEvent) {
        assert!(self.hook != Hook::Observe, "{SECRET}");
    }
}

/// How one run with a faulty middleware went.
struct Went {
    model: Arc<ScriptedModel>,
    events: Vec<RunEvent>,
    result: Result<catena::RunResult>,
    thread: catena::record::Thread,
    end: Vec<String>,
}

async fn run(hook: Hook, fault: Fault, on_failure: OnFailure) -> Went {
    let log = Log::default();
    let model = scripted([call("echo", text("hi")), say("done")]);
    let agent = Agent::builder(model.clone())
        .tool(echo())
        .with(Faulty {
            hook,
            fault,
            on_failure,
        })
        .with(End {
            name: "end",
            log: log.clone(),
        })
        .build()
        .unwrap();
    let (events, result) = watch(&agent, Input::new("go").thread("t")).await;
    let thread = agent.thread(&"t".into()).await.unwrap();
    Went {
        model,
        events,
        result,
        thread,
        end: log.take(),
    }
}

impl Went {
    fn messages(&self) -> Vec<String> {
        lines(self.thread.messages())
    }

    /// Nothing of what the failed hook did is anywhere, and nobody reads a panic's payload.
    fn assert_clean(&self, context: &str) {
        let slots: Vec<_> = self.thread.slots().collect();
        assert!(slots.is_empty(), "{context}: {slots:?}");
        let mut texts = self.messages();
        for request in self.model.requests() {
            texts.push(request.prompt.render());
            texts.extend(lines(&request.messages));
            assert_eq!(request.tools.len(), 1, "{context}");
        }
        texts.extend(self.events.iter().map(|event| serde_json::to_string(event).unwrap()));
        texts.extend(self.result.as_ref().err().map(|error| catena::chain_text(error)));
        for text in texts {
            assert!(!text.contains(MARK) && !text.contains(SECRET), "{context}: {text}");
        }
    }

    fn assert_done(&self, context: &str) {
        let result = self
            .result
            .as_ref()
            .unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(result.outcome, Outcome::Done, "{context}");
        assert_eq!(self.end, ["end: done"], "{context}");
    }
}

const FAULTS: [Fault; 3] = [Fault::Error, Fault::Panic, Fault::Stall];

/// What the error of a run says about a fault of `faulty` in `hook`.
fn assert_named(error: &Error, hook: Hook, fault: Fault) {
    let Error::Middleware {
        middleware,
        hook: at,
        source,
    } = error
    else {
        panic!("{hook}: {error:?}")
    };
    assert_eq!((middleware.as_str(), *at), ("faulty", hook.as_str()));
    let (kind, said) = match fault {
        Fault::Error => ("middleware", "out of order"),
        Fault::Panic => ("panic", "the hook panicked"),
        Fault::Stall => ("timeout", "the hook took longer than 10s"),
    };
    assert_eq!((error.kind(), source.to_string().as_str()), (kind, said));
}

/// ZC-CHAIN-24, ZC-CHAIN-25, ZC-CHAIN-26: a hook that fails closed fails the run, and the error names middleware and hook; a spent budget
/// is a failure like an error; a panic's text is in no request, no event and no error.
#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_closed_fails_the_run_and_is_named() {
    for hook in [Hook::Tools, Hook::BeforeAgent, Hook::BeforeModel, Hook::AfterModel] {
        for fault in FAULTS {
            let context = format!("{hook} {fault:?}");
            let went = run(hook, fault, OnFailure::Close).await;
            went.assert_clean(&context);
            assert_named(went.result.as_ref().unwrap_err(), hook, fault);
            assert_eq!(went.end.len(), 1, "{context}: after_agent runs once");
            assert!(went.end[0].starts_with("end: failed"), "{context}");
            let stored = if hook == Hook::BeforeAgent { 0 } else { 1 };
            assert_eq!(
                went.messages().len(),
                stored,
                "{context}: the input is kept once it is admitted"
            );
            assert!(
                of_hook(&went.events, "faulty", hook)[0].starts_with("failed"),
                "{context}"
            );
        }
    }
}

/// ZC-CHAIN-22, ZC-CHAIN-23: what a hook changed before it failed open is invisible to the rest of the run; a panic in a hook that fails
/// open does not end the run, and an event tells of it.
#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_open_is_as_if_it_had_not_been_called() {
    for hook in [Hook::Tools, Hook::BeforeAgent, Hook::BeforeModel, Hook::AfterModel] {
        for fault in FAULTS {
            let context = format!("{hook} {fault:?}");
            let went = run(hook, fault, OnFailure::Open).await;
            went.assert_clean(&context);
            went.assert_done(&context);
            assert_eq!(
                went.messages(),
                ["user: go", r#"agent: [echo {"text":"hi"}]"#, "echo: hi", "agent: done"],
                "{context}"
            );
            assert!(
                of_hook(&went.events, "faulty", hook)[0].starts_with("failed"),
                "{context}"
            );
        }
    }
}

/// ZC-TOOL-11, ZC-TOOL-12: a gate that fails closed blocks the call, and the model is told which one could not be asked; a gate that fails
/// open allows the call, with an event.
#[tokio::test(start_paused = true)]
async fn a_gate_that_fails_blocks_or_allows() {
    for fault in FAULTS {
        let context = format!("{fault:?}");
        let went = run(Hook::BeforeToolCall, fault, OnFailure::Close).await;
        went.assert_clean(&context);
        went.assert_done(&context);
        assert_eq!(went.result.as_ref().unwrap().executed("echo"), 0);
        let result = &went.messages()[2];
        assert!(result.starts_with("echo! this call could not be checked"), "{result}");
        assert!(result.contains("`faulty`"), "{result}");

        let went = run(Hook::BeforeToolCall, fault, OnFailure::Open).await;
        went.assert_clean(&context);
        went.assert_done(&context);
        assert_eq!(went.result.as_ref().unwrap().executed("echo"), 1);
        assert!(of_hook(&went.events, "faulty", Hook::BeforeToolCall)[0].starts_with("failed"));
    }
}

/// CORE-FAIL-01: a result whose after_tool_call fails is withheld when the middleware fails closed, and kept as it was when open.
#[tokio::test(start_paused = true)]
async fn a_result_that_could_not_be_looked_at_is_withheld_or_kept() {
    for fault in FAULTS {
        let context = format!("{fault:?}");
        let went = run(Hook::AfterToolCall, fault, OnFailure::Close).await;
        went.assert_clean(&context);
        went.assert_done(&context);
        let result = &went.messages()[2];
        assert!(
            result.starts_with("echo! the result was withheld") && !result.contains("hi"),
            "{result}"
        );

        let went = run(Hook::AfterToolCall, fault, OnFailure::Open).await;
        went.assert_clean(&context);
        went.assert_done(&context);
        assert_eq!(went.messages()[2], "echo: hi");
    }
}

/// CORE-FAIL-02: a failure in after_agent or observe is an event at most; the run is as it was.
#[tokio::test(start_paused = true)]
async fn a_failure_after_the_run_changes_nothing() {
    for on_failure in [OnFailure::Close, OnFailure::Open] {
        for fault in FAULTS {
            let went = run(Hook::AfterAgent, fault, on_failure).await;
            went.assert_clean("after_agent");
            went.assert_done("after_agent");
            assert!(of_hook(&went.events, "faulty", Hook::AfterAgent)[0].starts_with("failed"));
        }
        let went = run(Hook::Observe, Fault::Panic, on_failure).await;
        went.assert_clean("observe");
        went.assert_done("observe");
    }
}

/// CORE-FAIL-03: a wrap that fails is the failure of the call it wraps, whichever way the middleware fails: the model's, or the tool's.
#[tokio::test]
async fn a_wrap_that_fails_is_the_calls_own_failure() {
    for on_failure in [OnFailure::Close, OnFailure::Open] {
        for fault in [Fault::Error, Fault::Panic] {
            let context = format!("{on_failure:?} {fault:?}");
            let went = run(Hook::WrapModelCall, fault, on_failure).await;
            went.assert_clean(&context);
            let error = went.result.as_ref().unwrap_err();
            match fault {
                Fault::Error => assert!(
                    matches!(error, Error::Other(text) if text == "out of order"),
                    "{error:?}"
                ),
                _ => assert_eq!(error.to_string(), "middleware `faulty` in wrap_model_call panicked"),
            }
            let went = run(Hook::WrapToolCall, fault, on_failure).await;
            went.assert_clean(&context);
            went.assert_done(&context);
            let result = &went.messages()[2];
            match fault {
                Fault::Error => assert_eq!(result, "echo! error: out of order"),
                _ => assert_eq!(
                    result,
                    "echo! error: middleware `faulty` in wrap_tool_call failed unexpectedly"
                ),
            }
        }
    }
}

/// CORE-FAIL-04: a wrap has no budget of its own: what it wraps has limits.
#[tokio::test(start_paused = true)]
async fn a_wrap_may_wait_longer_than_a_hook() {
    let wait = wrap_tool_fn("wait", |call, next| {
        Box::pin(async move {
            tokio::time::sleep(std::time::Duration::from_secs(3_600)).await;
            next.call(call).await
        })
    });
    let agent = Agent::builder(scripted([call("echo", text("hi")), say("done")]))
        .tool(echo())
        .with(wait)
        .build()
        .unwrap();
    let result = agent.run("go").await.unwrap();
    assert_eq!(lines(&result.messages)[2], "echo: hi");
}

/// CORE-FAIL-05: a middleware may ask for another budget than the default of ten seconds.
#[tokio::test(start_paused = true)]
async fn a_summariser_may_take_its_time() {
    struct Slow;
    #[middleware]
    impl Middleware for Slow {
        fn name(&self) -> &str {
            "slow"
        }
        fn budget(&self) -> std::time::Duration {
            std::time::Duration::from_secs(60)
        }
        async fn before_model(&self, turn: &mut Turn) -> Result<Flow> {
            tokio::time::sleep(std::time::Duration::from_secs(59)).await;
            turn.request.prompt.push("slow", Stability::PerTurn, "A summary.");
            Ok(Flow::Continue)
        }
    }
    let model = scripted([say("done")]);
    Agent::builder(model.clone())
        .with(Slow)
        .build()
        .unwrap()
        .run("go")
        .await
        .unwrap();
    assert_eq!(model.requests()[0].prompt.render(), "A summary.");
}

/// CORE-FAIL-06: the first failing middleware of a hook is the last one that is called, when it fails closed.
#[tokio::test]
async fn a_failure_that_ends_the_run_skips_the_rest_of_the_hook() {
    let log = Log::default();
    let agent = Agent::builder(scripted([]))
        .with(at(
            10,
            catena::middleware::before_model_fn("a", |_| Err(Error::other("broken"))),
        ))
        .with(crate::kit::spy("b", 20, &log))
        .build()
        .unwrap();
    assert!(agent.run("go").await.is_err());
    assert_eq!(log.take(), ["b.before_agent", "b.after_agent"]);
}

/// CORE-FAIL-07: a failed run counts what it spent, for itself and for its thread.
#[tokio::test]
async fn attempts_that_failed_are_counted() {
    let agent = Agent::builder(scripted([say("lost").usage(10, 5)]))
        .with(catena::middleware::after_model_fn("strict", |_, _| {
            Err(Error::other("no"))
        }))
        .build()
        .unwrap();
    assert!(agent.run(Input::new("go").thread("t")).await.is_err());
    let thread = agent.thread(&"t".into()).await.unwrap();
    assert_eq!((thread.totals().turns, thread.totals().attempts), (0, 1));
    assert_eq!(thread.totals().usage.total(), 15);
}

/// CORE-FAIL-08: a model error comes out of the run with its type, and its words are in the record.
#[tokio::test]
async fn a_model_error_keeps_its_type_on_the_way_out() {
    let agent = Agent::builder(scripted([Reply::error(429, "slow down").retry_after(7)]))
        .build()
        .unwrap();
    let (events, result) = watch(&agent, "go").await;
    let error = result.unwrap_err();
    let model = error.as_model().unwrap();
    assert_eq!(model.kind, catena::model::ModelErrorKind::RateLimited);
    assert_eq!(model.retry_after, Some(std::time::Duration::from_secs(7)));
    let Some(EventKind::RunEnded {
        outcome: Some(OutcomeRecord::Failed { error }),
        ..
    }) = events.last().map(|e| e.kind.clone())
    else {
        panic!("{:?}", events.last())
    };
    assert_eq!(
        (error.kind.as_str(), error.status, error.retryable),
        ("model_error", Some(429), true)
    );
}

/// CORE-FAIL-09: a failing open hook that ends nothing still leaves the turn it was given usable for the others.
#[tokio::test]
async fn the_next_hook_sees_the_turn_as_the_failed_one_found_it() {
    let model = scripted([say("done")]);
    let add = |name: &'static str, fails: bool| {
        catena::middleware::before_model_fn(name, move |turn| {
            turn.request.prompt.push(
                name.to_owned(),
                Stability::PerTurn,
                catena::prompt::Trusted(name.to_owned()),
            );
            if fails {
                Err(Error::other("no"))
            } else {
                Ok(Flow::Continue)
            }
        })
    };
    let agent = Agent::builder(model.clone())
        .with(at(1, add("one", false)))
        .with(open(add("two", true)))
        .with(at(900, add("three", false)))
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(model.requests()[0].prompt.render(), "one\n\nthree");
}
