//! Filters between a model's stream and everyone who watches it.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt;

use super::{ModelDelta, ModelStream};

/// A filter that a middleware puts on a request, such as a redaction.
///
/// The answer is folded from the filtered deltas, so what a filter removes is nowhere: not in the events, not in the record.
pub trait StreamFilter: Send + Sync + 'static {
    /// A fresh filter for one call.
    fn start(&self) -> Box<dyn DeltaFilter>;
}

/// The state of a filter during one call.
pub trait DeltaFilter: Send {
    /// Takes one delta and emits any number, in order. May hold text back, as long as the look-behind is bounded.
    ///
    /// # Errors
    /// An error ends the call; nothing held back is emitted.
    fn push(&mut self, delta: ModelDelta, emit: &mut dyn FnMut(ModelDelta)) -> Result<(), super::ModelError>;

    /// Emits what was held back; called before the end of the answer passes.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    fn finish(&mut self, emit: &mut dyn FnMut(ModelDelta)) -> Result<(), super::ModelError>;
}

/// Puts `filters` on a stream, the first one nearest to the model.
pub fn filtered(stream: ModelStream, filters: &[Arc<dyn StreamFilter>]) -> ModelStream {
    filters
        .iter()
        .fold(stream, |stream, filter| one(stream, filter.start()))
}

struct State {
    stream: ModelStream,
    filter: Box<dyn DeltaFilter>,
    ready: VecDeque<ModelDelta>,
}

fn one(stream: ModelStream, filter: Box<dyn DeltaFilter>) -> ModelStream {
    let state = State {
        stream,
        filter,
        ready: VecDeque::new(),
    };
    futures::stream::unfold(Some(state), |state| async move {
        let mut state = state?;
        loop {
            if let Some(delta) = state.ready.pop_front() {
                return Some((Ok(delta), Some(state)));
            }
            let ready = &mut state.ready;
            let mut emit = |delta| ready.push_back(delta);
            match state.stream.next().await? {
                Err(error) => return Some((Err(error), None)),
                Ok(end @ ModelDelta::End { .. }) => {
                    if let Err(error) = state.filter.finish(&mut emit) {
                        return Some((Err(error), None));
                    }
                    state.ready.push_back(end);
                }
                Ok(delta) => {
                    if let Err(error) = state.filter.push(delta, &mut emit) {
                        return Some((Err(error), None));
                    }
                }
            }
        }
    })
    .boxed()
}
