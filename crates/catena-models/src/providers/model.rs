//! A model behind a provider.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use async_trait::async_trait;
use catena_core::model::{Model, ModelDelta, ModelError, ModelProfile, ModelRequest, ModelStream};
use futures::stream::{self, StreamExt};
use rig_core::operation::Completion;
use rig_core::streaming::{Item, Streamed};
use rig_core::wire::Secret;
use serde_json::Value;

use super::decode::Decoder;
use super::dialect::Known;
use super::encode::Encoder;
use super::failure;
use super::http::{Http, Tap};
use super::native::Native;
use super::profile;
use super::wire::Wire;

/// What a model is made of.
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) row: &'static Known,
    pub(super) model: String,
    pub(super) profile: ModelProfile,
    pub(super) wire: Wire,
    pub(super) http: Http,
    pub(super) key: Secret,
    pub(super) extra: BTreeMap<String, Value>,
    pub(super) prefill: bool,
}

/// A model behind a provider; see [`connect`](super::connect).
pub(super) struct ProviderModel(Parts);

impl ProviderModel {
    pub(super) fn new(parts: Parts) -> Self {
        Self(parts)
    }

    fn encoder(&self, native: Native, request: &ModelRequest) -> Encoder<'_> {
        let parts = &self.0;
        Encoder {
            native,
            profile: &parts.profile,
            origin: parts.wire.origin(),
            extra: &parts.extra,
            prefill: parts.prefill,
            forces_one_tool: parts.row.quirks.forces_one_tool,
            thoughts_unbound: self.thoughts_unbound(request),
        }
    }

    /// Newer Claude models bind a thought to the tools and the prompt of its call. With adaptive thinking the provider drops what no longer
    /// fits; with a fixed mode it refuses, and rig, which cannot tell either, would send the thought as the model's own words.
    fn thoughts_unbound(&self, request: &ModelRequest) -> bool {
        let parts = &self.0;
        let binds = profile::listed(parts.row, &parts.model).is_some_and(|known| known.compat.binds_context);
        let thinking = request
            .settings
            .extra
            .get("thinking")
            .or_else(|| parts.extra.get("thinking"));
        binds && thinking.is_some_and(|thinking| thinking["type"] != "adaptive")
    }
}

impl fmt::Debug for ProviderModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderModel")
            .field("name", &self.0.name)
            .field("profile", &self.0.profile)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for ProviderModel {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn profile(&self) -> &ModelProfile {
        &self.0.profile
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let parts = &self.0;
        let native = Native::of(&parts.wire.target().api());
        let encoded = self.encoder(native, request).request(request)?;
        let tap = (native == Native::Responses).then(Tap::default);
        let streamed = parts
            .wire
            .stream(parts.http.with_tap(tap.clone()), encoded, &parts.key)?;
        let decoder = Decoder::new(
            native,
            parts.profile.provider.clone(),
            profile::listed(parts.row, &parts.model),
            tap,
        );
        let mut deltas = Box::pin(deltas(streamed, decoder, parts.key.clone()).peekable());
        // Only now is the request sent. A call that cannot be started is an error of this function and not of the stream.
        match deltas.as_mut().peek().await {
            Some(Err(_)) => match deltas.next().await {
                Some(Err(error)) => Err(error),
                first => Ok(stream::iter(first).chain(deltas).boxed()),
            },
            _ => Ok(deltas),
        }
    }
}

struct State {
    streamed: Option<Streamed<Completion>>,
    decoder: Decoder,
    ready: VecDeque<ModelDelta>,
    key: Secret,
}

fn deltas(
    streamed: Streamed<Completion>,
    decoder: Decoder,
    key: Secret,
) -> impl futures::Stream<Item = Result<ModelDelta, ModelError>> + Send + 'static {
    let state = State {
        streamed: Some(streamed),
        decoder,
        ready: VecDeque::new(),
        key,
    };
    stream::unfold(Some(state), |state| async move {
        let mut state = state?;
        loop {
            if let Some(delta) = state.ready.pop_front() {
                return Some((Ok(delta), Some(state)));
            }
            if let Err(error) = state.next().await? {
                return Some((Err(error), None));
            }
        }
    })
}

impl State {
    /// Reads until there is something ready or the answer is over.
    async fn next(&mut self) -> Option<Result<(), ModelError>> {
        match self.streamed.as_mut()?.next().await {
            Some(Ok(Item::Event(event))) => self.decoder.event(event, &mut self.ready),
            // A kind of event that rig does not know yet: the answer goes on.
            Some(Ok(Item::Unknown(_))) => {}
            Some(Err(error)) => return Some(Err(failure::model_error(&error, &self.key))),
            None => {
                let finished = self.streamed.take()?.finish().await;
                let ended = finished.map_err(|error| failure::model_error(&error, &self.key));
                return Some(ended.and_then(|response| self.decoder.finish(&response, &self.key, &mut self.ready)));
            }
        }
        Some(Ok(()))
    }
}
