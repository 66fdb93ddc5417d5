//! What a scenario scripts, built once and shared by the agent and its middlewares.

use std::collections::BTreeMap;
use std::sync::Arc;

use catena_core::model::Model;
use catena_core::tool::Tool;

use super::log::Log;
use super::model::QueueModel;
use super::tool::SteppedTool;
use crate::scenario::Scenario;

/// The scripted models and tools of one scenario, and the log of what they see.
pub(super) struct Stage {
    log: Arc<Log>,
    models: BTreeMap<String, Arc<dyn Model>>,
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Stage {
    pub(super) fn new(scenario: &Scenario, log: Arc<Log>) -> Self {
        let models = scenario.models.iter().map(|(name, replies)| {
            let profile = scenario.model_profiles.get(name);
            let model: Arc<dyn Model> = Arc::new(QueueModel::new(name, replies.clone(), profile, log.clone()));
            (name.clone(), model)
        });
        let tools = scenario.tools.iter().map(|spec| {
            let tool: Arc<dyn Tool> = Arc::new(SteppedTool::new(spec.clone(), log.clone()));
            (spec.name.clone(), tool)
        });
        Self {
            models: models.collect(),
            tools: tools.collect(),
            log,
        }
    }

    /// Where probes note their visits.
    pub(super) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The model of that name; one that has nothing to say if the scenario scripts none, for an agent that must not ask.
    pub(super) fn model(&self, name: &str) -> Arc<dyn Model> {
        let scripted = self.models.get(name).cloned();
        scripted.unwrap_or_else(|| Arc::new(QueueModel::new(name, Vec::new(), None, self.log.clone())))
    }

    /// All scripted models with their names.
    pub(super) fn models(&self) -> &BTreeMap<String, Arc<dyn Model>> {
        &self.models
    }

    /// The scripted tool of that name, private ones included.
    pub(super) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.get(name).cloned()
    }
}
