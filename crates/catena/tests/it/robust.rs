//! What goes wrong around a run stays within it: panics, questions that cannot be asked, silent models, readers who went away.

mod ends;
mod waits;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use catena::checkpoint::StoreError;
use catena::event::EventKind;
use catena::interrupt::{DecisionKind, InterruptRequest};
use catena::middleware::{ToolDecision, before_model_fn};
use catena::model::{
    DeltaFilter, Model, ModelDelta, ModelError, ModelProfile, ModelRequest, ModelStream, StreamFilter,
};
use catena::prelude::*;
use catena::principal::{ResourceKind, Resources};
use catena::record::{CallStatus, Entry, OutcomeRecord};
use catena::testing::{Reply, call, say, scripted};
use catena::tool::{Tool, ToolSpec, json_tool};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::support::{Watch, Watched, spec, valid_thread};

/// A run that a panic ends fails, says so as its last event, and leaves a thread that can be used.
async fn fails_and_goes_on(agent: &Agent, input: Input) {
    let mut handle = agent.start(input.thread("t"));
    let mut last = None;
    while let Some(event) = handle.next().await {
        last = Some(event.kind);
    }
    let error = handle.outcome().await.unwrap_err();
    assert_eq!(error.kind(), "panic", "{error}");
    let failed = |kind: &EventKind| matches!(kind, EventKind::RunEnded { outcome: Some(OutcomeRecord::Failed { error }), .. } if error.kind == "panic");
    assert!(last.as_ref().is_some_and(failed), "{last:?}");
    goes_on(agent).await;
}

async fn goes_on(agent: &Agent) {
    let next = agent.run(Input::new("again").thread("t")).await.unwrap();
    assert_eq!((next.outcome.clone(), next.text().as_str()), (Outcome::Done, "fine"));
    valid_thread(agent.store(), "t").await;
}

/// Where a model panics, once.
struct Panics {
    at_once: bool,
    done: AtomicBool,
    profile: ModelProfile,
}

impl Panics {
    fn new(at_once: bool) -> Self {
        let (done, profile) = (AtomicBool::new(false), ModelProfile::default());
        Self { at_once, done, profile }
    }
}

#[async_trait]
impl Model for Panics {
    fn name(&self) -> &str {
        "test:panics"
    }

    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        if self.done.swap(true, Ordering::SeqCst) {
            return scripted([say("fine")]).stream(request).await;
        }
        assert!(!self.at_once, "as the test wants");
        let item = |n: u32| match n {
            0 => Ok(ModelDelta::Text { text: "half".into() }),
            _ => panic!("as the test wants"),
        };
        Ok(futures::stream::iter(0..2).map(item).boxed())
    }
}

#[tokio::test]
async fn a_model_that_panics_fails_the_run_and_the_thread_can_be_used() {
    for at_once in [true, false] {
        let agent = Agent::builder(Panics::new(at_once)).build().unwrap();
        fails_and_goes_on(&agent, Input::new("go")).await;
    }
}

#[tokio::test]
async fn a_filter_that_panics_fails_the_run_and_the_thread_can_be_used() {
    struct Bad;
    impl StreamFilter for Bad {
        fn start(&self) -> Box<dyn DeltaFilter> {
            panic!("as the test wants")
        }
    }
    let once = AtomicBool::new(false);
    let add = before_model_fn("bad", move |turn| {
        if !once.swap(true, Ordering::SeqCst) {
            turn.request.filters.push(Arc::new(Bad));
        }
        Ok(Flow::Continue)
    });
    let agent = Agent::builder(scripted([say("lost"), say("fine")]))
        .with(add)
        .build()
        .unwrap();
    fails_and_goes_on(&agent, Input::new("go")).await;
}

/// A tool that panics outside of its call.
struct BadTool {
    spec: ToolSpec,
    lane: bool,
    /// Set when the agent is built, which asks for the spec as well.
    spec_panics: Arc<AtomicBool>,
}

#[async_trait]
impl Tool for BadTool {
    fn spec(&self) -> &ToolSpec {
        assert!(!self.spec_panics.swap(false, Ordering::SeqCst), "as the test wants");
        &self.spec
    }

    fn lane(&self, _: &Value) -> Option<String> {
        assert!(!self.lane, "as the test wants");
        None
    }

    async fn call(&self, _: ToolContext, _: Value) -> Result<ToolOutcome, ToolError> {
        Ok(ToolOutput::text("worked").into())
    }
}

#[tokio::test]
async fn a_tool_whose_lane_panics_is_not_run_and_the_model_is_told() {
    let tool = BadTool {
        spec: spec("bad"),
        lane: true,
        spec_panics: Arc::default(),
    };
    let model = scripted([call("bad", json!({})), say("I see"), say("fine")]);
    let agent = Agent::builder(model).tool(tool).build().unwrap();
    let done = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(done.text(), "I see");
    let thread = valid_thread(agent.store(), "t").await;
    let calls = thread.run().unwrap().calls().clone();
    assert_eq!(calls[0].status, CallStatus::NotRun);
    assert_eq!(
        thread.result(&calls[0].id).unwrap().text(),
        "not run: tool `bad` failed unexpectedly"
    );
    goes_on(&agent).await;
}

#[tokio::test]
async fn a_tool_whose_spec_panics_fails_the_run_and_the_thread_can_be_used() {
    let spec_panics = Arc::new(AtomicBool::new(false));
    let tool = BadTool {
        spec: spec("bad"),
        lane: false,
        spec_panics: spec_panics.clone(),
    };
    let agent = Agent::builder(scripted([say("fine")])).tool(tool).build().unwrap();
    spec_panics.store(true, Ordering::SeqCst);
    fails_and_goes_on(&agent, Input::new("go")).await;
}

#[tokio::test]
async fn resources_that_panic_fail_the_run_and_the_thread_can_be_used() {
    struct Bad;
    impl Resources for Bad {
        fn visible(&self, _: ResourceKind, _: &str) -> bool {
            panic!("as the test wants")
        }
    }
    let agent = Agent::builder(scripted([say("fine")]))
        .tool(crate::support::counting("work").0)
        .build()
        .unwrap();
    fails_and_goes_on(&agent, Input::new("go").resources(Bad)).await;
}

#[tokio::test]
async fn a_store_that_panics_does_not_keep_the_thread() {
    struct Panicking;
    #[async_trait]
    impl Watch for Panicking {
        async fn before(&self, append: usize, _: &[Arc<Entry>]) -> Result<(), StoreError> {
            assert!(append != 2, "as the test wants");
            Ok(())
        }
    }
    let store = Watched::new(catena::checkpoint::MemoryCheckpointer::new(), Panicking);
    // The first answer is lost with its append; the failure is journalled by the next one.
    let agent = Agent::builder(scripted([say("lost"), say("fine")]))
        .store(store)
        .build()
        .unwrap();
    fails_and_goes_on(&agent, Input::new("go")).await;
}

fn unanswerable() -> InterruptRequest {
    InterruptRequest::question("how many?")
        .allow([DecisionKind::Respond])
        .answer_schema(json!({"type": "whole number"}))
}

#[tokio::test]
async fn a_tool_whose_question_has_a_broken_schema_fails_in_place_of_asking() {
    let ask = json_tool(spec("ask"), |_, _| async { ToolOutcome::Interrupt(unanswerable()) });
    let agent = Agent::builder(scripted([call("ask", json!({})), say("fine")]))
        .tool(ask)
        .build()
        .unwrap();
    let done = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!((done.outcome.clone(), done.text().as_str()), (Outcome::Done, "fine"));
    let thread = valid_thread(agent.store(), "t").await;
    let call = &thread.run().unwrap().calls()[0];
    assert_eq!(call.status, CallStatus::Error);
    let told = thread.result(&call.id).unwrap().text();
    assert!(told.contains("`answer_schema` is not valid"), "{told}");
}

struct AskingGate;

#[middleware]
impl Middleware for AskingGate {
    fn name(&self) -> &str {
        "asking"
    }

    async fn before_tool_call(&self, _: &Turn, _: &catena::message::ToolCall) -> Result<ToolDecision> {
        Ok(ToolDecision::Interrupt(unanswerable()))
    }
}

#[tokio::test]
async fn a_gate_whose_question_has_a_broken_schema_blocks_the_call() {
    let (tool, count) = crate::support::counting("work");
    let agent = Agent::builder(scripted([Reply::nothing().and_call("work", json!({})), say("fine")]))
        .tool(tool)
        .with(AskingGate)
        .build()
        .unwrap();
    let done = agent.run(Input::new("go").thread("t")).await.unwrap();
    assert_eq!(done.outcome, Outcome::Done);
    let thread = valid_thread(agent.store(), "t").await;
    assert_eq!(thread.run().unwrap().calls()[0].status, CallStatus::Blocked);
    assert_eq!(count.load(Ordering::SeqCst), 0);
}
