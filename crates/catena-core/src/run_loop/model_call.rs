//! The model call itself: streamed, filtered, folded.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;

use crate::chain::{BaseModel, protect};
use crate::context::RunContext;
use crate::error::Result;
use crate::event::EventKind;
use crate::id::MessageId;
use crate::message::AssistantMessage;
use crate::model::{
    Fold, ModelDelta, ModelError, ModelErrorKind, ModelRequest, ModelResponse, ModelStream, Usage, filtered,
};
use crate::output::OutputFormat;
use crate::record::{Entry, fold_messages};

use super::structured;

/// What all attempts of one model step share.
pub(super) struct ModelCall {
    run: RunContext,
    turn: u32,
    idle: Duration,
    attempts: AtomicU32,
    /// Text has been seen that is not the answer yet.
    flowed: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Tokens of all attempts.
    usage: Usage,
    /// Each request that was answered, and the last one.
    asked: Vec<Asked>,
    /// The message that those who watch have seen.
    message: Option<MessageId>,
    /// Folds of wraps.
    staged: Vec<Entry>,
}

/// What is kept of a request.
struct Asked {
    answer: Option<MessageId>,
    offer: Arc<[String]>,
    output: Option<OutputFormat>,
}

impl ModelCall {
    pub(super) fn new(run: RunContext, turn: u32, idle: Duration) -> Self {
        Self {
            run,
            turn,
            idle,
            attempts: AtomicU32::new(0),
            flowed: AtomicBool::new(false),
            seen: Mutex::default(),
        }
    }

    fn seen<R>(&self, use_it: impl FnOnce(&mut Seen) -> R) -> R {
        use_it(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What wraps want journalled with the step.
    pub(super) fn take_staged(&self) -> Vec<Entry> {
        self.seen(|seen| std::mem::take(&mut seen.staged))
    }

    /// Does in `request` what wraps have folded so far.
    pub(super) fn fold(&self, request: &mut ModelRequest) {
        let folds = self.seen(|seen| seen.staged.clone());
        for entry in folds {
            if let Entry::Folded { up_to, summary, .. } = entry {
                fold_messages(request.messages_mut(), &up_to, &summary);
            }
        }
    }

    /// Tokens of all attempts so far.
    pub(super) fn usage(&self) -> Usage {
        self.seen(|seen| seen.usage)
    }

    /// The tools of the request that `answer` answers; of the last request, if a wrap wrote the answer itself.
    pub(super) fn offer(&self, answer: &MessageId) -> Arc<[String]> {
        self.asked(answer, |asked| asked.offer.clone()).unwrap_or_default()
    }

    /// The object that `answer` was asked for, and how. Each request says it anew: a fallback may be asked in another way.
    pub(super) fn output(&self, answer: &MessageId) -> Option<OutputFormat> {
        self.asked(answer, |asked| asked.output.clone()).flatten()
    }

    fn asked<R>(&self, answer: &MessageId, read: impl FnOnce(&Asked) -> R) -> Option<R> {
        self.seen(|seen| {
            let of_answer = seen.asked.iter().find(|asked| asked.answer.as_ref() == Some(answer));
            of_answer.or(seen.asked.last()).map(read)
        })
    }

    /// Tells those who watch to forget what they saw, if it is not `answer`; there is none if the call failed.
    pub(super) fn settle(&self, answer: Option<&MessageId>) {
        let is_answer = answer.is_some() && self.seen(|seen| seen.message.as_ref() == answer);
        if !is_answer {
            self.reset();
        }
    }

    fn reset(&self) {
        if self.flowed.swap(false, Ordering::Relaxed) {
            self.run.emit_kind(EventKind::ModelReset);
        }
    }

    async fn attempt(&self, request: ModelRequest) -> Result<ModelResponse> {
        let request = structured::prepared(request);
        let attempt = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
        self.reset();
        self.seen(|seen| {
            seen.asked.push(Asked {
                answer: None,
                offer: request.tool_specs().map(|spec| spec.name.clone()).collect(),
                output: request.output.clone(),
            });
            seen.message = None;
        });
        if self.run.shared.events.is_watched() {
            let model = request.model.name().to_owned();
            self.run.emit_kind(EventKind::ModelStarted {
                turn: self.turn,
                attempt,
                model,
            });
        }
        let message = self.collect(&request).await?;
        self.seen(|seen| {
            seen.message = Some(message.id.clone());
            if let Some(asked) = seen.asked.last_mut() {
                asked.answer = Some(message.id.clone());
            }
        });
        Ok(ModelResponse::new(message))
    }

    async fn collect(&self, request: &ModelRequest) -> Result<AssistantMessage, ModelError> {
        let model = request.model.name();
        let started = tokio::time::timeout(self.idle, request.model.stream(request)).await;
        let started = started.map_err(|_| silent(model, self.idle))??;
        let mut stream = filtered(never_idle(started, model.to_owned(), self.idle), &request.filters);
        let mut fold = Fold::default();
        let collected = loop {
            match stream.next().await {
                None => break Ok(()),
                Some(Err(error)) => break Err(error),
                Some(Ok(delta)) => {
                    self.show(&delta).await;
                    fold.push(delta);
                }
            }
            if fold.is_full() {
                // What may come after it is not wanted; `finish` says why.
                break Ok(());
            }
        };
        let usage = fold.usage();
        self.seen(|seen| seen.usage += usage);
        collected?;
        fold.finish(MessageId::fresh(), model)
    }

    async fn show(&self, delta: &ModelDelta) {
        if !self.run.shared.events.is_watched() {
            return;
        }
        let kind = match delta {
            ModelDelta::Text { text } => EventKind::Text { text: text.clone() },
            ModelDelta::Reasoning { text } => EventKind::Reasoning { text: text.clone() },
            ModelDelta::ToolCall {
                id, name, arguments, ..
            } => EventKind::ToolCallDelta {
                call: id.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
            },
            _ => return,
        };
        self.flowed.store(true, Ordering::Relaxed);
        self.run.shared.events.ready().await;
        self.run.emit_kind(kind);
    }
}

/// The stream of a model, ended by an error when the model is silent. It is watched below the filters: one that holds text back for a
/// while is not silence.
fn never_idle(stream: ModelStream, model: String, idle: Duration) -> ModelStream {
    futures::stream::unfold(Some((stream, model)), move |state| async move {
        let (mut stream, model) = state?;
        match tokio::time::timeout(idle, stream.next()).await {
            Err(_) => Some((Err(silent(&model, idle)), None)),
            Ok(item) => Some((item?, Some((stream, model)))),
        }
    })
    .boxed()
}

fn silent(model: &str, idle: Duration) -> ModelError {
    ModelError::new(ModelErrorKind::Timeout, format!("`{model}` sent nothing for {idle:?}"))
}

impl BaseModel for ModelCall {
    fn call(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelResponse>> {
        let what = format!("model `{}`", request.model.name());
        Box::pin(protect(|| what, None, Box::pin(self.attempt(request))))
    }

    fn stage(&self, entry: Entry) {
        self.seen(|seen| seen.staged.push(entry));
    }

    fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }
}
