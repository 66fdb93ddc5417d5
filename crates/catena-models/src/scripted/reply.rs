//! What a scripted model says.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use catena_core::id::CallId;
use catena_core::message::Part;
use catena_core::model::{ModelDelta, ModelError, ModelErrorKind, ModelRequest, StopReason, Usage};
use catena_core::output::OutputStrategy;
use serde_json::Value;

/// One reply of a [`ScriptedModel`](super::ScriptedModel).
#[derive(Debug)]
#[must_use]
pub struct Reply {
    parts: Vec<Piece>,
    usage: Usage,
    stop: Option<StopReason>,
    error: Option<ModelError>,
    ends: Ends,
    delay: Option<Duration>,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Reasoning(String),
    Part(Part),
    Call {
        id: Option<CallId>,
        name: String,
        arguments: String,
    },
    Structured(Value),
}

#[derive(Debug, PartialEq, Eq)]
enum Ends {
    Properly,
    Cut,
    Never,
}

/// A reply of words.
pub fn say(text: impl Into<String>) -> Reply {
    Reply::new(vec![Piece::Text(text.into())])
}

/// A reply that calls a tool. The call's id is made up: `call_1`, `call_2`, ….
pub fn call(name: impl Into<String>, input: Value) -> Reply {
    Reply::new(Vec::new()).and_call(name, input)
}

/// A reply that calls several tools.
pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Reply {
    calls.into_iter().fold(Reply::new(Vec::new()), |reply, (name, input)| {
        reply.and_call(name, input)
    })
}

impl Reply {
    fn new(parts: Vec<Piece>) -> Self {
        Self {
            parts,
            usage: Usage::default(),
            stop: None,
            error: None,
            ends: Ends::Properly,
            delay: None,
        }
    }

    /// A failure with an HTTP status instead of an answer; the kind follows from status and text.
    pub fn error(status: u16, message: impl Into<String>) -> Self {
        Self::fail(ModelError::from_status(status, message))
    }

    /// A failure instead of an answer.
    pub fn fail(error: ModelError) -> Self {
        Self {
            error: Some(error),
            ..Self::new(Vec::new())
        }
    }

    /// An answer that says nothing at all.
    pub fn nothing() -> Self {
        Self::new(Vec::new())
    }

    /// The object that a structured request asks for, in whatever way it asks.
    pub fn structured(object: Value) -> Self {
        Self::new(vec![Piece::Structured(object)])
    }

    /// With more words.
    pub fn and_say(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Piece::Text(text.into()));
        self
    }

    /// With reasoning.
    pub fn and_think(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Piece::Reasoning(text.into()));
        self
    }

    /// With a part as it is.
    pub fn and_part(mut self, part: Part) -> Self {
        self.parts.push(Piece::Part(part));
        self
    }

    /// With a call.
    pub fn and_call(self, name: impl Into<String>, input: Value) -> Self {
        self.raw_call(None, name, input.to_string())
    }

    /// With a call of this id.
    pub fn and_call_id(self, id: impl Into<CallId>, name: impl Into<String>, input: Value) -> Self {
        self.raw_call(Some(id.into()), name, input.to_string())
    }

    /// With a call whose arguments are sent as they are, JSON or not.
    pub fn and_raw_call(self, id: impl Into<CallId>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.raw_call(Some(id.into()), name, arguments.into())
    }

    fn raw_call(mut self, id: Option<CallId>, name: impl Into<String>, arguments: String) -> Self {
        self.parts.push(Piece::Call {
            id,
            name: name.into(),
            arguments,
        });
        self
    }

    /// With reported tokens.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Usage {
            input,
            output,
            ..Usage::default()
        };
        self
    }

    /// With another stop reason.
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.stop = Some(stop);
        self
    }

    /// For a failure: with the wait that the provider asks for, in seconds.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.error = self
            .error
            .map(|error| error.with_retry_after(Some(Duration::from_secs(seconds))));
        self
    }

    /// The stream breaks off before its end.
    pub fn cut(mut self) -> Self {
        self.ends = Ends::Cut;
        self
    }

    /// The stream goes silent before its end and stays open.
    pub fn hang(mut self) -> Self {
        self.ends = Ends::Never;
        self
    }

    /// The failure comes after the words, in the middle of the stream.
    pub fn then_fail(mut self, error: ModelError) -> Self {
        self.ends = Ends::Cut;
        self.error = Some(error);
        self
    }

    /// With a wait before anything comes.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    pub(super) fn hangs(&self) -> bool {
        self.ends == Ends::Never
    }

    pub(super) async fn into_deltas(
        self,
        request: &ModelRequest,
        numbers: &AtomicU32,
    ) -> Result<Vec<Result<ModelDelta, ModelError>>, ModelError> {
        if let Some(delay) = self.delay {
            tokio::time::sleep(delay).await;
        }
        if let (Some(error), true) = (&self.error, self.parts.is_empty()) {
            return Err(copy(error));
        }
        let mut index = 0;
        let mut deltas = Vec::new();
        for piece in self.parts {
            piece.push(request, numbers, &mut index, &mut deltas);
        }
        let stop = self.stop.unwrap_or(if index > 0 {
            StopReason::ToolCalls
        } else {
            StopReason::End
        });
        let mut deltas: Vec<_> = deltas.into_iter().map(Ok).collect();
        match self.ends {
            Ends::Properly => {
                deltas.push(Ok(ModelDelta::Usage(self.usage)));
                deltas.push(Ok(ModelDelta::End { stop }));
            }
            Ends::Cut => deltas.extend(self.error.map(Err)),
            Ends::Never => {}
        }
        Ok(deltas)
    }
}

impl Piece {
    fn push(self, request: &ModelRequest, numbers: &AtomicU32, index: &mut u32, deltas: &mut Vec<ModelDelta>) {
        match self {
            // In two deltas, so that whoever puts them together is tested.
            Self::Text(text) => {
                let middle = text
                    .char_indices()
                    .map(|(at, _)| at)
                    .nth(text.chars().count() / 2)
                    .unwrap_or(0);
                let (first, second) = text.split_at(middle);
                deltas.extend(
                    [first, second]
                        .into_iter()
                        .filter(|t| !t.is_empty())
                        .map(|t| ModelDelta::Text { text: t.into() }),
                );
            }
            Self::Reasoning(text) => deltas.push(ModelDelta::Reasoning { text }),
            Self::Part(part) => deltas.push(ModelDelta::Part(part)),
            Self::Call { id, name, arguments } => {
                let id = id.unwrap_or_else(|| format!("call_{}", numbers.fetch_add(1, Ordering::Relaxed) + 1).into());
                deltas.push(ModelDelta::ToolCall {
                    index: Some(*index),
                    id: Some(id),
                    name: Some(name),
                    arguments: String::new(),
                });
                deltas.push(ModelDelta::ToolCall {
                    index: Some(*index),
                    id: None,
                    name: None,
                    arguments,
                });
                *index += 1;
            }
            Self::Structured(object) => match &request.output {
                Some(format) if format.strategy == OutputStrategy::Tool => {
                    let call = Self::Call {
                        id: None,
                        name: format.spec().name.clone(),
                        arguments: object.to_string(),
                    };
                    call.push(request, numbers, index, deltas);
                }
                _ => deltas.push(ModelDelta::Text {
                    text: object.to_string(),
                }),
            },
        }
    }
}

fn copy(error: &ModelError) -> ModelError {
    let ModelError {
        kind,
        message,
        status,
        retry_after,
        ..
    } = error;
    let (kind, status, retry_after): (ModelErrorKind, _, _) = (*kind, *status, *retry_after);
    ModelError {
        kind,
        message: message.clone(),
        status,
        retry_after,
        source: None,
    }
}
