//! An answer of rig's, as catena's deltas.
//!
//! rig numbers the parts of an answer; catena's [`Fold`](catena_core::model::Fold) puts pieces in the order in which they come. So a thought
//! is closed as soon as something else begins, and its proof must be at hand then.

use catena_core::id::CallId;
use catena_core::message::{Data, Image, InvalidInput, Part, ProviderBlock, Reasoning, ToolCall};
use catena_core::model::{ModelDelta, ModelError, ModelErrorKind, StopReason, Usage};
use rig_core::catalog::ModelSpec;
use rig_core::completion::{CompletionResponse, FinishReason, Usage as RigUsage};
use rig_core::message::{AssistantContent, DocumentSourceKind, Image as RigImage, MimeType, ToolCall as RigCall};
use rig_core::streaming::{PartKind, StreamEvent};
use rig_core::wire::Secret;
use serde_json::{Map, Value, json};

use super::failure;
use super::http::Tap;
use super::native::{Native, OF_CALL, OF_TEXT};

/// Reads one answer.
pub(super) struct Decoder {
    pub(super) native: Native,
    pub(super) provider: String,
    pub(super) listed: Option<&'static ModelSpec>,
    pub(super) tap: Option<Tap>,
    /// A thought is being written.
    thinking: bool,
}

impl Decoder {
    pub(super) fn new(native: Native, provider: String, listed: Option<&'static ModelSpec>, tap: Option<Tap>) -> Self {
        Self {
            native,
            provider,
            listed,
            tap,
            thinking: false,
        }
    }

    /// Takes one event.
    pub(super) fn event(&mut self, event: StreamEvent, out: &mut impl Extend<ModelDelta>) {
        match event {
            StreamEvent::Start {
                part,
                kind: PartKind::ToolCall,
                name,
            } => {
                self.other(part.index(), out);
                if self.native != Native::Gemini {
                    out.extend([piece(part.index(), None, name.map(String::from), String::new())]);
                }
            }
            StreamEvent::Start {
                part,
                kind: PartKind::Reasoning,
                ..
            } => self.proofs(part.index(), out),
            StreamEvent::Start { part, .. } => self.other(part.index(), out),
            StreamEvent::Text { part, text } => {
                self.other(part.index(), out);
                out.extend([ModelDelta::Text { text }]);
            }
            StreamEvent::Reasoning { part, text } => {
                self.proofs(part.index(), out);
                self.thinking = true;
                out.extend([ModelDelta::Reasoning { text }]);
            }
            StreamEvent::Arguments { part, json } => {
                self.other(part.index(), out);
                if self.native != Native::Gemini {
                    out.extend([piece(part.index(), None, None, json)]);
                }
            }
            StreamEvent::End { part, content } => self.end(part.index(), content, out),
        }
    }

    fn end(&mut self, at: usize, content: AssistantContent, out: &mut impl Extend<ModelDelta>) {
        let item = content.native_item().cloned();
        match content {
            AssistantContent::Text(_) => {
                let beside = item.as_ref().and_then(|item| self.native.beside_text(item));
                out.extend(beside.map(|fields| self.block(json!({"type": OF_TEXT, "item": fields}))));
            }
            AssistantContent::Reasoning(_) => self.thought(item.as_ref(), out),
            AssistantContent::ToolCall(call) if self.native == Native::Gemini => {
                out.extend([ModelDelta::Part(Part::ToolCall(whole(&call, item.as_ref())))]);
            }
            AssistantContent::ToolCall(call) => {
                let id = call.id.wire().into_owned();
                out.extend([piece(at, Some(id.as_str().into()), None, String::new())]);
                let beside = item.as_ref().and_then(|item| self.native.beside_call(item));
                out.extend(beside.map(|fields| self.block(json!({"type": OF_CALL, "call": id, "item": fields}))));
            }
            AssistantContent::Image(image) => out.extend(picture(image).map(ModelDelta::Part)),
            AssistantContent::Opaque(opaque) if opaque.replay => out.extend([self.block(opaque.item)]),
            _ => {}
        }
    }

    /// The end of a thought.
    fn thought(&mut self, item: Option<&Value>, out: &mut impl Extend<ModelDelta>) {
        // Its proof came through the tap, in its place.
        if self.tap.is_some() {
            return;
        }
        let end = item.map(|item| self.native.thought(item, &self.provider));
        match end {
            // A chat's thought ends when the message does; by then it is closed, and what is left is its signed form.
            Some(end) if self.native == Native::Chat => {
                if end.signature.is_some() {
                    self.close(out);
                    out.extend([ModelDelta::Part(Part::Reasoning(end))]);
                }
            }
            Some(end) => {
                self.thinking = false;
                out.extend([ModelDelta::ReasoningEnd(end)]);
            }
            None => self.close(out),
        }
    }

    /// Something that is not a thought begins.
    fn other(&mut self, at: usize, out: &mut impl Extend<ModelDelta>) {
        self.proofs(at, out);
        self.close(out);
    }

    /// The proofs of the thoughts before `at`.
    fn proofs(&mut self, at: usize, out: &mut impl Extend<ModelDelta>) {
        for item in self.tap.as_ref().map(|tap| tap.before(at)).unwrap_or_default() {
            self.thinking = false;
            out.extend([ModelDelta::ReasoningEnd(self.native.thought(&item, &self.provider))]);
        }
    }

    fn close(&mut self, out: &mut impl Extend<ModelDelta>) {
        if std::mem::take(&mut self.thinking) {
            let end = Reasoning {
                provider: Some(self.provider.clone()),
                ..Reasoning::default()
            };
            out.extend([ModelDelta::ReasoningEnd(end)]);
        }
    }

    /// Takes the end of the answer.
    ///
    /// # Errors
    /// What the provider says went wrong, if the end is one in name only.
    pub(super) fn finish(
        &mut self,
        response: &CompletionResponse,
        key: &Secret,
        out: &mut impl Extend<ModelDelta>,
    ) -> Result<(), ModelError> {
        let stop = stop(response, key)?;
        self.other(usize::MAX, out);
        let usage = usage(&response.usage, self.listed);
        if !usage.is_empty() {
            out.extend([ModelDelta::Usage(usage)]);
        }
        out.extend([ModelDelta::End { stop }]);
        Ok(())
    }

    fn block(&self, block: Value) -> ModelDelta {
        ModelDelta::Part(Part::Provider(ProviderBlock {
            provider: self.provider.clone(),
            block,
        }))
    }
}

fn piece(at: usize, id: Option<CallId>, name: Option<String>, arguments: String) -> ModelDelta {
    ModelDelta::ToolCall {
        index: u32::try_from(at).ok(),
        id,
        name,
        arguments,
    }
}

/// A call that came whole, with its signature.
fn whole(call: &RigCall, item: Option<&Value>) -> ToolCall {
    let input = Value::Object(match call.function.invalid_arguments {
        Some(_) => Map::new(),
        None => call.function.arguments.clone(),
    });
    let invalid = call.function.invalid_arguments.as_ref().map(|text| InvalidInput {
        text: text.clone(),
        reason: "the arguments must be a JSON object".to_owned(),
    });
    let signature = item
        .and_then(|item| item["thoughtSignature"].as_str())
        .map(str::to_owned);
    ToolCall {
        invalid,
        signature,
        ..ToolCall::new(&*call.id.wire(), call.function.name.as_str(), input)
    }
}

fn picture(image: RigImage) -> Option<Part> {
    let data = match image.data {
        DocumentSourceKind::Base64(data) => Data::Base64(data),
        DocumentSourceKind::Url(url) => Data::Url(url),
        _ => return None,
    };
    let media_type = image
        .media_type
        .map_or("image/png", |kind| kind.to_mime_type())
        .to_owned();
    Some(Part::Image(Image { media_type, data }))
}

fn stop(response: &CompletionResponse, key: &Secret) -> Result<StopReason, ModelError> {
    // A turn that Anthropic paused in its own tools: rig calls it a stop, but it is to be sent back.
    if response.raw["stop_reason"] == "pause_turn" {
        return Ok(StopReason::Paused);
    }
    Ok(match (response.finish_reason(), &response.error) {
        (Some(FinishReason::ContentFilter), Some(_)) => StopReason::Refusal,
        (_, Some(error)) => return Err(failure::reported(error, key)),
        (Some(FinishReason::Stop) | None, None) => StopReason::End,
        (Some(FinishReason::Length), None) => StopReason::Length,
        (Some(FinishReason::ToolCalls), None) => StopReason::ToolCalls,
        (Some(FinishReason::ContentFilter), None) => StopReason::ContentFilter,
        (Some(FinishReason::Other(reason)), None) => return other(&reason),
        _ => StopReason::Other,
    })
}

/// Reasons that only one provider gives.
fn other(reason: &str) -> Result<StopReason, ModelError> {
    let failed = |kind| {
        Err(ModelError::new(
            kind,
            format!("the provider ended the answer with `{reason}`"),
        ))
    };
    match reason {
        "insufficient_system_resource" | "error" | "network_error" => failed(ModelErrorKind::Overloaded),
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => failed(ModelErrorKind::Malformed),
        "RECITATION" | "LANGUAGE" | "sensitive" => Ok(StopReason::ContentFilter),
        "refusal" => Ok(StopReason::Refusal),
        _ => Ok(StopReason::Other),
    }
}

fn usage(usage: &RigUsage, listed: Option<&ModelSpec>) -> Usage {
    let cost = usage.cost.or_else(|| listed?.pricing.as_ref()?.cost(usage));
    Usage {
        input: usage.input_tokens.unwrap_or(0),
        output: usage.output_tokens.unwrap_or(0),
        cached: usage.cached_input_tokens.unwrap_or(0),
        cache_write: usage.cache_creation_input_tokens.unwrap_or(0),
        reasoning: usage.reasoning_tokens.unwrap_or(0),
        micro_usd: cost.map_or(0, |cost| micros(cost.total)),
    }
}

/// A cost in millionths; nothing that is not a price becomes one.
fn micros(usd: f64) -> u64 {
    let micros = (usd * 1e6).round();
    match micros.is_finite() && micros > 0.0 && micros < 1e15 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        true => micros as u64,
        false => 0,
    }
}
