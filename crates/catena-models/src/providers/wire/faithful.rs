//! A wire that sends calls as calls, whatever tools a request offers.
//!
//! rig writes the calls of a history out as text when a request offers no tools. A last answer without tools is an ordinary thing here, and
//! a model that reads `[called tool …]` starts to write it. Everything else is left to the wire inside.

use rig_core::completion::options::{OptionFields, OptionMap};
use rig_core::completion::{Accepts, CompletionRequest, LaterSystem, Media, Pairing, ReplayTarget};
use rig_core::error::EncodeError;
use rig_core::message::{Api, AssistantContent, Origin};
use rig_core::operation::Completion;
use rig_core::wire::{Descriptor, Mode, Wire};
use serde_json::{Map, Value};

/// See the [module](self).
#[derive(Clone, Debug)]
pub(in crate::providers) struct Faithful<W>(pub(in crate::providers) W);

impl<W: Wire<Op = Completion> + ReplayTarget> Wire for Faithful<W> {
    type Op = Completion;
    type Payload = W::Payload;
    type Frame = W::Frame;
    type Decoder<'id> = W::Decoder<'id>;
    type Reassembler = W::Reassembler;

    fn describe(&self) -> Descriptor<'_> {
        self.0.describe().replay(self)
    }

    fn encode(&self, request: CompletionRequest, mode: Mode) -> Result<Self::Payload, EncodeError> {
        self.0.encode(request, mode)
    }

    fn decoder<'id>(&self) -> Self::Decoder<'id> {
        self.0.decoder()
    }

    fn reassembler(&self) -> Self::Reassembler {
        self.0.reassembler()
    }
}

impl<W: ReplayTarget> ReplayTarget for Faithful<W> {
    fn declares_tools(&self, _: &CompletionRequest) -> bool {
        true
    }

    fn api(&self) -> Api {
        self.0.api()
    }

    fn provider(&self) -> &str {
        self.0.provider()
    }

    fn model(&self) -> &str {
        self.0.model()
    }

    fn accepts(&self, model: &str) -> Accepts {
        self.0.accepts(model)
    }

    fn map_options(&self, request: &CompletionRequest, fields: OptionFields<'_>) -> OptionMap {
        self.0.map_options(request, fields)
    }

    fn encodes(&self, model: &str, media: Media<'_>) -> bool {
        self.0.encodes(model, media)
    }

    fn normalize_tool_call_id(&self, id: &str, model: &str, source: Option<&Origin>) -> String {
        self.0.normalize_tool_call_id(id, model, source)
    }

    fn continues_stored(&self, request: &CompletionRequest) -> bool {
        self.0.continues_stored(request)
    }

    fn identity(&self, item: &Value) -> Map<String, Value> {
        self.0.identity(item)
    }

    fn call_id_slot(&self) -> Option<&'static str> {
        self.0.call_id_slot()
    }

    fn states_finish_reason(&self) -> bool {
        self.0.states_finish_reason()
    }

    fn binds_context(&self, model: &str) -> bool {
        self.0.binds_context(model)
    }

    fn drops_unbound_items(&self, request: &CompletionRequest) -> bool {
        self.0.drops_unbound_items(request)
    }

    fn takes_documents(&self) -> bool {
        self.0.takes_documents()
    }

    fn needs_next(&self, item: &Value) -> bool {
        self.0.needs_next(item)
    }

    fn hosted_pair(&self, item: &Value) -> Option<(Pairing, String)> {
        self.0.hosted_pair(item)
    }

    fn starts_with_user(&self) -> bool {
        self.0.starts_with_user()
    }

    fn later_system(&self, model: &str) -> LaterSystem {
        self.0.later_system(model)
    }

    fn alternates_roles(&self) -> bool {
        self.0.alternates_roles()
    }

    fn hosted_needs_tools(&self) -> bool {
        self.0.hosted_needs_tools()
    }

    fn result_parts(&self, model: &str) -> bool {
        self.0.result_parts(model)
    }

    fn sends_alone(&self, block: &AssistantContent) -> bool {
        self.0.sends_alone(block)
    }
}
