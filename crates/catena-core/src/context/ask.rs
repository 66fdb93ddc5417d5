//! A middleware's own model call.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures::StreamExt;

use super::RunContext;
use crate::error::Result;
use crate::event::EventKind;
use crate::id::MessageId;
use crate::message::AssistantMessage;
use crate::model::{Fold, Model, ModelError, ModelErrorKind, ModelRequest, filtered};
use crate::record::Entry;

/// A model that a middleware may ask something for purposes of its own: a summary, a title, a selection.
///
/// Such a call never goes through the chain, so it cannot recurse. It has a time limit, ends with the run or, in background work, with the
/// agent's shutdown, is counted under the middleware's name, and is never streamed as the answer.
#[derive(Clone)]
pub struct ModelHandle {
    run: RunContext,
    model: Arc<dyn Model>,
    limit: Duration,
}

impl ModelHandle {
    /// A summary of a long conversation takes a slow model about a minute.
    pub const TIME_LIMIT: Duration = Duration::from_secs(120);

    pub(super) fn new(run: RunContext, model: Arc<dyn Model>) -> Self {
        Self {
            run,
            model,
            limit: Self::TIME_LIMIT,
        }
    }

    /// With another time limit. The hook's own [budget](crate::Middleware::budget) must be longer.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The model.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// Asks. The request's model is set to this one.
    ///
    /// # Errors
    /// A [`ModelError`], of kind `timeout` or `cancelled` among others.
    ///
    /// # Cancel safety
    /// Dropping the future ends the call; its tokens are then not counted.
    pub async fn ask(&self, mut request: ModelRequest) -> Result<AssistantMessage> {
        if self.run.spawned().is_none() && self.run.shared.is_over() {
            let message = "the run is over; ask through the handle that `spawn` gives";
            return Err(ModelError::new(ModelErrorKind::Cancelled, message).into());
        }
        request.model = self.model.clone();
        let call = tokio::time::timeout(self.limit, self.collect(&request));
        let message = tokio::select! {
            biased;
            () = self.run.cancelled() => return Err(ModelError::new(ModelErrorKind::Cancelled, "the run was cancelled").into()),
            done = call => done.map_err(|_| ModelError::new(
                ModelErrorKind::Timeout,
                format!("`{}` did not answer within {:?}", self.model.name(), self.limit),
            ))??,
        };
        self.account(&message);
        Ok(message)
    }

    async fn collect(&self, request: &ModelRequest) -> Result<AssistantMessage, ModelError> {
        let mut stream = filtered(self.model.stream(request).await?, &request.filters);
        let mut fold = Fold::default();
        while let Some(delta) = stream.next().await {
            fold.push(delta?);
            if fold.is_full() {
                // As for the answer itself: what may come after it is not wanted, and `finish` says why.
                break;
            }
        }
        fold.finish(MessageId::fresh(), self.model.name())
    }

    fn account(&self, message: &AssistantMessage) {
        let by = self.run.source().unwrap_or("catena").to_owned();
        let model = self.model.name().to_owned();
        let usage = message.usage;
        let entry = Entry::InternalCall {
            by: by.clone(),
            model: model.clone(),
            usage,
        };
        match self.run.spawned() {
            Some(spawned) => spawned.account(entry),
            None => self
                .run
                .shared
                .internal
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(entry),
        }
        self.run.emit_kind(EventKind::Usage {
            by: Some(by),
            model,
            usage,
        });
    }
}
