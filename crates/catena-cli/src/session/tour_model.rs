//! The model of a machine that has none: scripted, and saying so.

use async_trait::async_trait;
use catena_core::model::{Model, ModelError, ModelProfile, ModelRequest, ModelStream};
use catena_models::scripted::{ScriptedModel, say};

use crate::script::replies_so_far;

/// What a person is told before anything else.
pub(crate) const ANNOUNCEMENT: &str =
    "No model is configured, so the scripted tour model answers. It is not an AI: its words are fixed.";

/// How to get a real one.
pub(crate) const HINT: &str = "\
  For a real one, set OPENAI_API_KEY, ANTHROPIC_API_KEY or another provider's key,
  or use `--local`: very small, on this machine, fetched once,
  or use `--base-url URL --model NAME`: a server of yours.
  `catena tour` shows what catena does without any.";

/// What it says, turn after turn; the last one stays.
const WORDS: [&str; 3] = [
    "Hello. I am the scripted tour model: these words are fixed, and I cannot understand what you wrote. Everything else here is real: your \
     message went through an agent's chain and was written to a journal before this answer came. To talk to a real model, set a provider's key \
     (for example OPENAI_API_KEY) or start again with `--local`.",
    "Your second message is in the same thread; `catena threads show last` prints the conversation, and `catena chain` shows what it passes \
     through. I still cannot answer it.",
    "I am still scripted. `catena tour` has more to show than I have to say.",
];

/// Says [`WORDS`].
pub(crate) struct TourModel {
    base: ScriptedModel,
}

impl TourModel {
    /// The tour model.
    pub(crate) fn new() -> Self {
        Self {
            base: ScriptedModel::new("scripted:tour", []),
        }
    }
}

#[async_trait]
impl Model for TourModel {
    fn name(&self) -> &str {
        self.base.name()
    }

    fn profile(&self) -> &ModelProfile {
        Model::profile(&self.base)
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let number = replies_so_far(request);
        let words = WORDS[number.min(WORDS.len() - 1)];
        ScriptedModel::new(self.name(), [say(words)])
            .forgetful()
            .stream(request)
            .await
    }
}
