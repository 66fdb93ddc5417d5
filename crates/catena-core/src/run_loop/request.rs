//! What a model call starts from: the view, the prompt, and the tools there are now.

use std::collections::HashMap;
use std::sync::Arc;

use super::runner::Runner;
use crate::context::Turn;
use crate::error::Result;
use crate::middleware::Hook;
use crate::model::{ModelRequest, ToolChoice};
use crate::principal::ResourceKind;
use crate::tool::Tool;

impl Runner {
    /// The turn of the last model call, or one made anew for a run that was resumed.
    pub(super) async fn take_turn(&mut self) -> Result<Turn> {
        match self.turn.take() {
            Some(turn) => Ok(turn),
            None => Ok(Turn::new(self.run.clone(), self.request().await?)),
        }
    }

    pub(super) async fn request(&self) -> Result<ModelRequest> {
        let tools = self.tools().await?;
        let thread = self.run.shared.thread();
        let mut prompt = self.agent.prompt.clone();
        if let Some(run) = thread.run().filter(|run| !run.prompt.is_empty()) {
            prompt.extend(run.prompt.iter().cloned());
        }
        Ok(ModelRequest {
            model: self.agent.model.clone(),
            prompt,
            messages: thread.view(),
            tools,
            tool_choice: ToolChoice::Auto,
            output: self.agent.output.clone(),
            settings: self.agent.settings.clone(),
            filters: Vec::new(),
        })
    }

    /// The agent's own tools and those of middlewares, as far as the run may see them.
    async fn tools(&self) -> Result<Arc<Vec<Arc<dyn Tool>>>> {
        let own = &self.agent.tools;
        let visible = |tool: &Arc<dyn Tool>| self.run.resources().visible(ResourceKind::Tool, &tool.spec().name);
        if !self.agent.chain.has(Hook::Tools) && own.iter().all(visible) {
            return Ok(own.clone());
        }
        let offered = self.agent.chain.tools(&self.run).await?;
        let mut owners = HashMap::new();
        let mut tools = Vec::with_capacity(own.len() + offered.len());
        let own = own.iter().map(|tool| (None, tool));
        let offered = offered.iter().map(|(owner, tool)| (Some(owner), tool));
        for (owner, tool) in own.chain(offered).filter(|(_, tool)| visible(tool)) {
            let name = &tool.spec().name;
            match owners.get(name) {
                None => {
                    owners.insert(name.clone(), owner);
                    tools.push(tool.clone());
                }
                Some(first) => self.run.warn(format!(
                    "two tools are named `{name}`, that of {} and that of {}; the second one is not offered",
                    shown(*first),
                    shown(owner)
                )),
            }
        }
        Ok(Arc::new(tools))
    }
}

fn shown(owner: Option<&Arc<str>>) -> String {
    owner.map_or_else(|| "the agent".to_owned(), |owner| format!("`{owner}`"))
}
