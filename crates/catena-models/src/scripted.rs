//! A model that says what it is told: for tests, examples and demonstrations.
//!
//! Each request takes the next [`Reply`]; every request is kept and can be looked at afterwards. Nothing is random and nothing waits
//! unless a reply says so.
//!
//! ```
//! use catena_core::Agent;
//! use catena_models::scripted::{call, say, scripted};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let model = scripted([call("add", json!({"a": 1, "b": 2})), say("Three.")]);
//! let agent = Agent::builder(model.clone()).build()?;
//! // There is no tool `add`, which the model is told; then it answers.
//! assert_eq!(agent.run("1 + 2?").await?.text(), "Three.");
//! assert_eq!(model.requests().len(), 2);
//! # Ok::<(), catena_core::Error>(()) }).unwrap();
//! ```

mod reply;

pub use reply::{Reply, call, calls, say};

use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use catena_core::message::Message;
use catena_core::model::{
    Model, ModelDelta, ModelError, ModelErrorKind, ModelProfile, ModelRequest, ModelStream, NativeOutput,
};
use futures::StreamExt;

/// A model with these replies, in order.
pub fn scripted(replies: impl IntoIterator<Item = Reply>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new("scripted:test", replies))
}

/// See the [module](self).
pub struct ScriptedModel {
    name: String,
    profile: ModelProfile,
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<ModelRequest>>,
    /// Numbers the calls whose ids the script leaves open.
    calls: AtomicU32,
    pace: Option<Duration>,
    keeps_requests: bool,
}

impl ScriptedModel {
    /// A model named `name` (as `provider:model`) with these replies.
    pub fn new(name: impl Into<String>, replies: impl IntoIterator<Item = Reply>) -> Self {
        let profile = ModelProfile {
            provider: "scripted".into(),
            structured_output: NativeOutput::Tool,
            images: true,
            files: true,
            tools: true,
            ..ModelProfile::default()
        };
        Self {
            name: name.into(),
            profile,
            replies: Mutex::new(replies.into_iter().collect()),
            requests: Mutex::default(),
            calls: AtomicU32::new(0),
            pace: None,
            keeps_requests: true,
        }
    }

    /// With another profile.
    #[must_use]
    pub fn profile(mut self, profile: ModelProfile) -> Self {
        self.profile = profile;
        self
    }

    /// With a wait before each delta, for demonstrations. Default: none.
    #[must_use]
    pub fn pace(mut self, wait: Duration) -> Self {
        self.pace = Some(wait);
        self
    }

    /// Without keeping requests, for benches and soak tests.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.keeps_requests = false;
        self
    }

    /// Adds a reply to the end of the script.
    pub fn push(&self, reply: Reply) {
        lock(&self.replies).push_back(reply);
    }

    /// Every request so far, in order.
    pub fn requests(&self) -> Vec<ModelRequest> {
        lock(&self.requests).clone()
    }

    /// The messages of the last request.
    pub fn last_messages(&self) -> Vec<Arc<Message>> {
        lock(&self.requests)
            .last()
            .map(|request| request.messages.to_vec())
            .unwrap_or_default()
    }

    /// How many replies are left.
    pub fn left(&self) -> usize {
        lock(&self.replies).len()
    }
}

// The guarded values are changed by single pushes and pops.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        if self.keeps_requests {
            lock(&self.requests).push(request.clone());
        }
        let reply = lock(&self.replies).pop_front().ok_or_else(|| {
            let text = format!("the script of `{}` has no reply left", self.name);
            ModelError::new(ModelErrorKind::InvalidRequest, text)
        })?;
        let hangs = reply.hangs();
        let stream = futures::stream::iter(reply.into_deltas(request, &self.calls).await?);
        let stream = if hangs {
            stream.chain(futures::stream::pending()).boxed()
        } else {
            stream.boxed()
        };
        Ok(match self.pace {
            None => stream,
            Some(wait) => paced(stream, wait),
        })
    }
}

fn paced(stream: ModelStream, wait: Duration) -> ModelStream {
    stream
        .then(move |delta: Result<ModelDelta, ModelError>| async move {
            tokio::time::sleep(wait).await;
            delta
        })
        .boxed()
}

#[cfg(test)]
mod tests {
    use catena_core::model::{Fold, StopReason};
    use serde_json::json;

    use super::*;

    async fn ask(model: &Arc<ScriptedModel>) -> Result<catena_core::message::AssistantMessage, ModelError> {
        let request = ModelRequest::new(model.clone(), vec![Message::user("hi")]);
        let mut stream = model.stream(&request).await?;
        let mut fold = Fold::default();
        while let Some(delta) = stream.next().await {
            fold.push(delta?);
        }
        fold.finish("m".into(), model.name())
    }

    #[tokio::test]
    async fn replies_come_in_order_and_then_the_script_is_over() {
        let model = scripted([
            say("one"),
            call("f", json!({"a": 1})),
            Reply::error(429, "slow down").retry_after(7),
        ]);
        assert_eq!(ask(&model).await.unwrap().text(), "one");
        let message = ask(&model).await.unwrap();
        assert_eq!(
            (message.stop, message.calls().next().unwrap().name.as_str()),
            (StopReason::ToolCalls, "f")
        );
        let error = ask(&model).await.unwrap_err();
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
        assert!(ask(&model).await.unwrap_err().message.contains("no reply left"));
        assert_eq!(model.requests().len(), 4);
    }

    #[tokio::test]
    async fn a_cut_stream_has_no_end() {
        let model = scripted([say("half an answer").cut()]);
        assert_eq!(ask(&model).await.unwrap_err().kind, ModelErrorKind::Truncated);
    }
}
