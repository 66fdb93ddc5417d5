//! What the tests share: a log, tools and middlewares that write to it, and ways to read a run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use catena::agent::{Invocation, RunResult};
use catena::event::{EventKind, RunEvent};
use catena::message::{Message, ToolStatus};
use catena::middleware::{Hook, OnFailure};
use catena::prelude::*;
use catena::tool::{FnTool, ToolSpec, json_tool};
use serde_json::{Value, json};

/// Far beyond every limit: under paused time a wait of this length costs nothing.
pub(crate) const AGES: Duration = Duration::from_secs(1_000_000);

/// What happened, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// What happened since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    pub(crate) fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|l| *l == line).count()
    }
}

/// A middleware with every hook. Each hook notes that it was called; after that it may do something of its own.
#[derive(Clone)]
pub(crate) struct Spy {
    pub(crate) name: String,
    pub(crate) priority: u16,
    pub(crate) log: Log,
}

/// A spy of this name and priority.
pub(crate) fn spy(name: &str, priority: u16, log: &Log) -> Spy {
    Spy {
        name: name.into(),
        priority,
        log: log.clone(),
    }
}

impl Spy {
    fn note(&self, hook: &str) {
        self.log.add(format!("{}.{hook}", self.name));
    }
}

#[middleware]
impl Middleware for Spy {
    fn name(&self) -> &str {
        &self.name
    }
    fn priority(&self) -> Priority {
        Priority(self.priority)
    }
    async fn before_agent(&self, _: &mut Intake) -> Result<Flow> {
        self.note("before_agent");
        Ok(Flow::Continue)
    }
    async fn before_model(&self, _: &mut Turn) -> Result<Flow> {
        self.note("before_model");
        Ok(Flow::Continue)
    }
    async fn wrap_model_call(
        &self,
        request: ModelRequest,
        next: catena::chain::NextModel<'_>,
    ) -> Result<ModelResponse> {
        self.note("model>");
        let response = next.call(request).await;
        self.note("<model");
        response
    }
    async fn after_model(&self, _: &mut Turn, _: &mut ModelResponse) -> Result<AfterModel> {
        self.note("after_model");
        Ok(AfterModel::Continue)
    }
    async fn before_tool_call(&self, _: &Turn, _: &catena::message::ToolCall) -> Result<ToolDecision> {
        self.note("gate");
        Ok(ToolDecision::Allow)
    }
    async fn wrap_tool_call(
        &self,
        call: catena::message::ToolCall,
        next: catena::chain::NextTool<'_>,
    ) -> Result<ToolOutcome> {
        self.note("tool>");
        let outcome = next.call(call).await;
        self.note("<tool");
        outcome
    }
    async fn after_tool_call(&self, _: &mut Turn, _: &catena::message::ToolCall, _: &mut ToolOutput) -> Result<()> {
        self.note("after_tool_call");
        Ok(())
    }
    async fn after_agent(&self, _: &RunContext, _: &catena::record::OutcomeRecord) -> Result<()> {
        self.note("after_agent");
        Ok(())
    }
}

/// A middleware that only notes `after_agent`, and how the run ended.
pub(crate) struct End {
    pub(crate) name: &'static str,
    pub(crate) log: Log,
}

#[middleware]
impl Middleware for End {
    fn name(&self) -> &str {
        self.name
    }
    async fn after_agent(&self, _: &RunContext, outcome: &catena::record::OutcomeRecord) -> Result<()> {
        use catena::record::OutcomeRecord;
        let how = match outcome {
            OutcomeRecord::Done { .. } => "done".to_owned(),
            OutcomeRecord::Stopped { by, reason } => format!("stopped by {by}: {}", reason.kind),
            OutcomeRecord::Cancelled => "cancelled".to_owned(),
            OutcomeRecord::Failed { error } => format!("failed: {}", error.kind),
        };
        self.log.add(format!("{}: {how}", self.name));
        Ok(())
    }
}

/// A middleware from one hook's closure, with a priority and a way to fail: what closures alone do not have.
pub(crate) struct At<M> {
    pub(crate) inner: M,
    pub(crate) priority: u16,
    pub(crate) on_failure: OnFailure,
}

/// `inner` at this priority.
pub(crate) fn at<M: Middleware>(priority: u16, inner: M) -> At<M> {
    At {
        inner,
        priority,
        on_failure: OnFailure::Close,
    }
}

/// `inner`, failing open.
pub(crate) fn open<M: Middleware>(inner: M) -> At<M> {
    At {
        inner,
        priority: 500,
        on_failure: OnFailure::Open,
    }
}

// Written out: `hooks` is that of the inner one.
#[async_trait::async_trait]
impl<M: Middleware> Middleware for At<M> {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn hooks(&self) -> &'static [&'static str] {
        self.inner.hooks()
    }
    fn priority(&self) -> Priority {
        Priority(self.priority)
    }
    fn on_failure(&self) -> OnFailure {
        self.on_failure
    }
    async fn tools(&self, run: &RunContext) -> Result<Vec<Arc<dyn catena::tool::Tool>>> {
        self.inner.tools(run).await
    }
    async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
        self.inner.before_agent(intake).await
    }
    async fn before_model(&self, turn: &mut Turn) -> Result<Flow> {
        self.inner.before_model(turn).await
    }
    async fn wrap_model_call(
        &self,
        request: ModelRequest,
        next: catena::chain::NextModel<'_>,
    ) -> Result<ModelResponse> {
        self.inner.wrap_model_call(request, next).await
    }
    async fn after_model(&self, turn: &mut Turn, response: &mut ModelResponse) -> Result<AfterModel> {
        self.inner.after_model(turn, response).await
    }
    async fn before_tool_call(&self, turn: &Turn, call: &catena::message::ToolCall) -> Result<ToolDecision> {
        self.inner.before_tool_call(turn, call).await
    }
    async fn wrap_tool_call(
        &self,
        call: catena::message::ToolCall,
        next: catena::chain::NextTool<'_>,
    ) -> Result<ToolOutcome> {
        self.inner.wrap_tool_call(call, next).await
    }
    async fn after_tool_call(
        &self,
        turn: &mut Turn,
        call: &catena::message::ToolCall,
        output: &mut ToolOutput,
    ) -> Result<()> {
        self.inner.after_tool_call(turn, call, output).await
    }
    async fn after_agent(&self, run: &RunContext, outcome: &catena::record::OutcomeRecord) -> Result<()> {
        self.inner.after_agent(run, outcome).await
    }
    fn observe(&self, run: &RunContext, event: &RunEvent) {
        self.inner.observe(run, event);
    }
}

/// The input of tools that take one text.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Text {
    pub(crate) text: String,
}

/// A tool that gives its `text` back.
pub(crate) fn echo() -> FnTool {
    tool_fn("echo", "Says it again.", |input: Text, _| async move { input.text })
}

/// A tool that notes its call as `name text` and gives its `text` back.
pub(crate) fn noting(name: &'static str, log: &Log) -> FnTool {
    let log = log.clone();
    tool_fn(name, "Notes and says it again.", move |input: Text, _| {
        log.add(format!("{name} {}", input.text));
        async move { input.text }
    })
}

/// A tool of any object, from a closure.
pub(crate) fn tool<F, Fut, O>(name: &str, f: F) -> FnTool
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = O> + Send + 'static,
    O: catena::tool::IntoToolOutcome + 'static,
{
    json_tool(ToolSpec::new(name, "A tool of a test.", Value::Null), f)
}

/// The input of [`Text`].
pub(crate) fn text(text: &str) -> Value {
    json!({ "text": text })
}

/// A conversation, one line a message.
pub(crate) fn lines(messages: &[Arc<Message>]) -> Vec<String> {
    messages.iter().map(|message| line(message)).collect()
}

fn line(message: &Message) -> String {
    let mut line = match message {
        Message::System(_) => "system:".to_owned(),
        Message::User(_) => "user:".to_owned(),
        Message::Assistant(_) => "agent:".to_owned(),
        Message::Tool(result) if result.status == ToolStatus::Error => format!("{}!", result.name),
        Message::Tool(result) => format!("{}:", result.name),
    };
    let said = message.text();
    if !said.is_empty() {
        line.push_str(&format!(" {said}"));
    }
    for call in message.calls() {
        line.push_str(&format!(" [{} {}]", call.name, call.input));
    }
    line
}

/// Runs and keeps every event.
pub(crate) async fn watch(agent: &Agent, invocation: impl Into<Invocation>) -> (Vec<RunEvent>, Result<RunResult>) {
    let mut handle = agent.start(invocation);
    let mut events = Vec::new();
    while let Some(event) = handle.next().await {
        events.push(event);
    }
    (events, handle.outcome().await)
}

/// The events of this hook and middleware, as `decision changed… detail`.
pub(crate) fn of_hook(events: &[RunEvent], middleware: &str, of: Hook) -> Vec<String> {
    let shown = events.iter().filter_map(|event| match &event.kind {
        EventKind::Middleware {
            name,
            hook,
            decision,
            changed,
            detail,
            ..
        } if **name == *middleware && *hook == of => {
            let mut words = vec![serde_json::to_value(decision).unwrap().as_str().unwrap().to_owned()];
            words.extend(changed.iter().cloned());
            words.extend(detail.clone());
            Some(words.join(" "))
        }
        _ => None,
    });
    shown.collect()
}

/// The words that watchers of the run have on their screens at its end.
pub(crate) fn shown_text(events: &[RunEvent]) -> String {
    let mut shown = String::new();
    for event in events {
        match &event.kind {
            EventKind::Text { text } => shown.push_str(text),
            EventKind::ModelReset => shown.clear(),
            _ => {}
        }
    }
    shown
}

/// The messages that events told about.
pub(crate) fn told(events: &[RunEvent]) -> Vec<Arc<Message>> {
    let messages = events.iter().filter_map(|event| match &event.kind {
        EventKind::Message { message } => Some(message.clone()),
        _ => None,
    });
    messages.collect()
}

/// The warnings among the events.
pub(crate) fn warnings(events: &[RunEvent]) -> Vec<String> {
    let warnings = events.iter().filter_map(|event| match &event.kind {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    });
    warnings.collect()
}

/// Every call of the record has exactly one result, behind its message and before the next one.
pub(crate) fn assert_paired(messages: &[Arc<Message>]) {
    let mut open: Vec<String> = Vec::new();
    let mut answered = Vec::new();
    for message in messages {
        match message.as_tool() {
            Some(result) => {
                let call = result.call.to_string();
                assert!(!answered.contains(&call), "{call} has two results");
                let place = open.iter().position(|open| *open == call);
                open.remove(
                    place.unwrap_or_else(|| panic!("{call} is answered, but not open: {:#?}", lines(messages))),
                );
                answered.push(call);
            }
            None => assert!(open.is_empty(), "{open:?} are open before `{}`", line(message)),
        }
        open.extend(message.calls().map(|call| call.id.to_string()));
    }
    assert!(open.is_empty(), "{open:?} are open at the end: {:#?}", lines(messages));
}

/// The thread's view: what the next model call would start from.
pub(crate) async fn view(agent: &Agent, thread: &str) -> Vec<Arc<Message>> {
    agent.thread(&thread.into()).await.unwrap().view().to_vec()
}
