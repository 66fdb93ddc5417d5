//! A request of catena's, as rig's.

mod message;

use std::collections::{BTreeMap, BTreeSet};

use catena_core::message::Message;
use catena_core::model::{ModelError, ModelErrorKind, ModelProfile, ModelRequest, NativeOutput, ToolChoice};
use catena_core::output::{OutputFormat, OutputStrategy};
use catena_core::tool::ToolSpec;
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::{Origin, ToolChoice as RigChoice, ToolName};
use serde_json::{Map, Value, json};

use super::native::Native;

/// What a tool is called that has no name: providers refuse the empty one, and a model did send it.
const UNNAMED: &str = "unnamed_tool";

/// Writes requests for one model.
pub(super) struct Encoder<'a> {
    pub(super) native: Native,
    pub(super) profile: &'a ModelProfile,
    pub(super) origin: Origin,
    pub(super) extra: &'a BTreeMap<String, Value>,
    pub(super) prefill: bool,
    pub(super) forces_one_tool: bool,
    /// Thoughts are bound to the prompt they were thought under, and this request cannot say which that was.
    pub(super) thoughts_unbound: bool,
}

impl Encoder<'_> {
    /// # Errors
    /// [`InvalidRequest`](ModelErrorKind::InvalidRequest) if the conversation cannot be sent as it is.
    pub(super) fn request(&self, request: &ModelRequest) -> Result<CompletionRequest, ModelError> {
        self.check_end(request)?;
        let mut history = Vec::with_capacity(request.messages.len() + 1);
        if !request.prompt.is_empty() {
            history.push(rig_core::message::Message::system(request.prompt.render()));
        }
        for message in request.messages.iter() {
            self.push(message, &mut history);
        }
        let mut out = CompletionRequest::from(history);
        out.temperature = request.settings.temperature;
        out.max_tokens = request.settings.max_tokens;
        let (tools, native) = self.tools(request)?;
        (out.tools, out.tool_choice) = match tools.is_empty() && native.is_empty() {
            true => self.stand_ins(request)?,
            false => (tools, self.choice(&request.tool_choice)?),
        };
        out.output_schema = self.schema(request.output.as_ref())?;
        out.additional_params = self.params(request, native);
        Ok(out)
    }

    /// Most providers refuse a request that ends with the model's own words, and the rest continue them.
    fn check_end(&self, request: &ModelRequest) -> Result<(), ModelError> {
        let last = request
            .messages
            .iter()
            .rev()
            .find(|message| !matches!(***message, Message::System(_)));
        let Some(Message::Assistant(last)) = last.map(|message| &**message) else {
            return Ok(());
        };
        // A turn that the provider paused in its own tools is sent back to be finished.
        let paused = last
            .parts
            .iter()
            .any(|part| self.own_block(part).is_some_and(|block| !is_ours(block)));
        match self.prefill || paused {
            true => Ok(()),
            false => Err(invalid(
                "the conversation ends with a message of the model; add a user message, or set `prefill`",
            )),
        }
    }

    fn tools(&self, request: &ModelRequest) -> Result<(Vec<ToolDefinition>, Vec<Value>), ModelError> {
        let (mut tools, mut native) = (Vec::new(), Vec::new());
        let only = match &request.tool_choice {
            ToolChoice::Tool(name) if !self.forces_one_tool => Some(name),
            _ => None,
        };
        for spec in request
            .tool_specs()
            .filter(|spec| only.is_none_or(|name| *name == spec.name))
        {
            match self.native_tool(spec) {
                Some(descriptor) => native.push(descriptor.clone()),
                None => tools.push(ToolDefinition::new(
                    name(&spec.name)?,
                    spec.description.clone(),
                    spec.input_schema.clone(),
                )),
            }
        }
        Ok((tools, native))
    }

    /// Anthropic refuses calls in a history whose tools are not declared, so a request without tools declares them and forbids their use.
    fn stand_ins(&self, request: &ModelRequest) -> Result<(Vec<ToolDefinition>, Option<RigChoice>), ModelError> {
        let called: BTreeSet<&str> = request
            .messages
            .iter()
            .flat_map(|message| message.calls())
            .map(|call| &*call.name)
            .collect();
        if self.native != Native::Messages || called.is_empty() {
            return Ok((Vec::new(), None));
        }
        let named = called
            .into_iter()
            .map(|tool| if tool.is_empty() { UNNAMED } else { tool });
        let tools = named.map(|tool| {
            Ok(ToolDefinition::new(
                name(tool)?,
                "Not available now.",
                json!({"type": "object"}),
            ))
        });
        Ok((tools.collect::<Result<_, ModelError>>()?, Some(RigChoice::None)))
    }

    fn native_tool<'s>(&self, spec: &'s ToolSpec) -> Option<&'s Value> {
        let descriptor = spec.native.as_ref()?;
        let kind = descriptor["type"].as_str()?;
        self.profile
            .native_tools
            .iter()
            .any(|known| known == kind)
            .then_some(descriptor)
    }

    fn choice(&self, choice: &ToolChoice) -> Result<Option<RigChoice>, ModelError> {
        Ok(match choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some(RigChoice::None),
            ToolChoice::Required => Some(RigChoice::Required),
            // Only that tool is offered then, see `tools`.
            ToolChoice::Tool(_) if !self.forces_one_tool => Some(RigChoice::Required),
            ToolChoice::Tool(tool) => Some(RigChoice::Specific {
                function_names: vec![name(tool)?],
            }),
        })
    }

    fn schema(&self, output: Option<&OutputFormat>) -> Result<Option<schemars::Schema>, ModelError> {
        let Some(output) = output else { return Ok(None) };
        let native = match output.strategy {
            OutputStrategy::Native => true,
            OutputStrategy::Auto => self.profile.structured_output == NativeOutput::Schema,
            OutputStrategy::Tool => false,
        };
        if !native {
            return Ok(None);
        }
        let mut schema = output.spec().input_schema.clone();
        if let Some(fields) = schema.as_object_mut() {
            fields
                .entry("title")
                .or_insert_with(|| output.spec().name.clone().into());
        }
        schemars::Schema::try_from(schema)
            .map(Some)
            .map_err(|_| invalid("the schema of the answer is not a JSON Schema"))
    }

    /// The operator's parameters, then the call's; lists of tools are joined, everything else is replaced.
    fn params(&self, request: &ModelRequest, native: Vec<Value>) -> Option<Value> {
        let mut params = Map::new();
        let mut tools = native;
        // Threads are catena's own; a provider that keeps a copy does so on the operator's word only.
        if self.native == Native::Responses {
            params.insert("store".to_owned(), Value::Bool(false));
        }
        for (key, value) in self.extra.iter().chain(&request.settings.extra) {
            match (key.as_str(), value) {
                ("tools", Value::Array(more)) => tools.extend(more.iter().cloned()),
                _ => {
                    params.insert(key.clone(), value.clone());
                }
            }
        }
        if !tools.is_empty() {
            params.insert("tools".to_owned(), Value::Array(tools));
        }
        (!params.is_empty()).then_some(Value::Object(params))
    }
}

/// Whether a provider block is one of the small ones that complete another, see [`super::native`].
fn is_ours(block: &Value) -> bool {
    block["type"]
        .as_str()
        .is_some_and(|kind| kind == super::native::OF_TEXT || kind == super::native::OF_CALL)
}

fn name(name: &str) -> Result<ToolName, ModelError> {
    ToolName::new(name).map_err(|_| invalid("a tool has no name"))
}

fn invalid(message: &str) -> ModelError {
    ModelError::new(ModelErrorKind::InvalidRequest, message)
}
