//! A model with settings of its own.

use std::sync::Arc;

use async_trait::async_trait;
use catena_core::model::{Model, ModelError, ModelProfile, ModelRequest, ModelSettings, ModelStream};

/// A model whose calls start from settings. They belong to the model, not to the agent: a fallback and a middleware's own call get those
/// of the model that they ask.
struct WithSettings {
    model: Arc<dyn Model>,
    settings: ModelSettings,
}

/// The model, with settings for what a call leaves open.
pub(super) fn with_settings(model: Arc<dyn Model>, settings: ModelSettings) -> Arc<dyn Model> {
    match settings == ModelSettings::default() {
        true => model,
        false => Arc::new(WithSettings { model, settings }),
    }
}

#[async_trait]
impl Model for WithSettings {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn profile(&self) -> &ModelProfile {
        self.model.profile()
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let mut request = request.clone();
        let settings = &mut request.settings;
        settings.temperature = settings.temperature.or(self.settings.temperature);
        settings.max_tokens = settings.max_tokens.or(self.settings.max_tokens);
        self.model.stream(&request).await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use catena_models::{say, scripted};

    use super::*;

    #[tokio::test]
    async fn what_a_call_leaves_open_comes_from_the_model() {
        let scripted = scripted([say("a"), say("b")]);
        let mut own = ModelSettings::default();
        own.temperature = Some(0.5);
        own.max_tokens = Some(10);
        let model = with_settings(scripted.clone(), own);
        let mut request = ModelRequest::new(model.clone(), Vec::new());
        drop(model.stream(&request).await.unwrap());
        request.settings.temperature = Some(1.0);
        drop(model.stream(&request).await.unwrap());
        let seen: Vec<_> = scripted
            .requests()
            .iter()
            .map(|request| (request.settings.temperature, request.settings.max_tokens))
            .collect();
        assert_eq!(seen, [(Some(0.5), Some(10)), (Some(1.0), Some(10))]);
    }
}
