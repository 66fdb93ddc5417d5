//! The model of a script.

use std::time::Duration;

use async_trait::async_trait;
use catena_core::message::Role;
use catena_core::model::{Model, ModelError, ModelErrorKind, ModelProfile, ModelRequest, ModelStream};
use catena_models::scripted::{Reply, ScriptedModel};

use super::Line;

/// Gives the reply whose number is that of its own messages in the conversation.
pub(crate) struct Playback {
    /// Knows the profile; every reply is a model of its own.
    base: ScriptedModel,
    lines: Vec<Line>,
    pace: Duration,
}

impl Playback {
    /// A model of that name with these replies.
    pub(crate) fn new(name: &str, lines: Vec<Line>, pace_ms: u64) -> Self {
        Self {
            base: ScriptedModel::new(name, []),
            lines,
            pace: Duration::from_millis(pace_ms),
        }
    }
}

#[async_trait]
impl Model for Playback {
    fn name(&self) -> &str {
        self.base.name()
    }

    fn profile(&self) -> &ModelProfile {
        Model::profile(&self.base)
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let number = replies_so_far(request);
        let line = self.lines.get(number).ok_or_else(|| {
            let text = format!("the script of `{}` has no reply left", self.name());
            ModelError::new(ModelErrorKind::InvalidRequest, text)
        })?;
        let mut model = ScriptedModel::new(self.name(), [line.reply()]).forgetful();
        if !self.pace.is_zero() {
            model = model.pace(self.pace);
        }
        model.stream(request).await
    }
}

/// How many replies the conversation has: a script follows it from there, whichever process plays it.
pub(crate) fn replies_so_far(request: &ModelRequest) -> usize {
    let replies = request
        .messages
        .iter()
        .filter(|message| message.role() == Role::Assistant);
    replies.count()
}

impl Line {
    fn reply(&self) -> Reply {
        let delay = Duration::from_millis(self.delay_ms);
        if let Some(status) = self.fail {
            return Reply::error(status, self.say.as_deref().unwrap_or("the script says so")).after(delay);
        }
        let mut reply = Reply::nothing();
        for word in self.think.iter().flat_map(|text| text.split_inclusive(' ')) {
            reply = reply.and_think(word);
        }
        // Word by word, as a real model's answer would come.
        for word in self.say.iter().flat_map(|text| text.split_inclusive(' ')) {
            reply = reply.and_say(word);
        }
        for call in &self.calls {
            reply = reply.and_call(&call.tool, call.input.clone());
        }
        if let Some([input, output]) = self.usage {
            reply = reply.usage(input, output);
        }
        let reply = if self.hang { reply.hang() } else { reply };
        if delay.is_zero() { reply } else { reply.after(delay) }
    }
}
