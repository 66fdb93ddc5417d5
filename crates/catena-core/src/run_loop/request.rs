//! What a model call starts from: the view, the prompt, and the tools there are now.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::model_step::forget_messages;
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
            None => {
                let mut turn = Turn::new(self.run.clone(), self.request().await?);
                forget_messages(&mut turn);
                Ok(turn)
            }
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
        let told = self.run.live().get_or_insert_with("catena.offered", Offered::default);
        let mut owners = HashMap::new();
        let mut tools = Vec::with_capacity(own.len() + offered.len());
        // The agent's own were checked when it was built.
        let own = own.iter().map(|tool| (None, tool));
        let offered = offered.iter().map(|(owner, tool)| (Some(owner), tool));
        for (owner, tool) in own.chain(offered).filter(|(_, tool)| visible(tool)) {
            let name = &tool.spec().name;
            let problem = match owners.get(name) {
                Some(first) => Some(format!(
                    "two tools are named `{name}`, that of {} and that of {}",
                    shown(*first),
                    shown(owner)
                )),
                None => owner.and_then(|_| told.check(tool).err()),
            };
            match problem {
                None => {
                    owners.insert(name.clone(), owner);
                    tools.push(tool.clone());
                }
                Some(problem) if told.is_news(&problem) => self
                    .run
                    .warn(format!("{problem}; the one that {} offers is left out", shown(owner))),
                Some(_) => {}
            }
        }
        Ok(Arc::new(tools))
    }
}

/// What is wrong with a tool, if anything is.
type Check = std::result::Result<(), String>;

/// A tool that was checked last under its name.
type Checked = (Arc<dyn Tool>, Check);

/// What is known in a run about the tools that middlewares offer: they offer them anew for every turn.
#[derive(Default)]
struct Offered {
    checked: Mutex<HashMap<String, Checked>>,
    told: Mutex<HashSet<String>>,
}

impl Offered {
    /// Whether the tool's name and schema can be sent to a provider. A schema is compiled once.
    fn check(&self, tool: &Arc<dyn Tool>) -> Check {
        let spec = tool.spec();
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, fits)) = checked.get(&spec.name) {
            let known = known.spec();
            if std::ptr::eq(known, spec) || known.input_schema == spec.input_schema {
                return fits.clone();
            }
        }
        let fits = spec.check();
        checked.insert(spec.name.clone(), (tool.clone(), fits.clone()));
        fits
    }

    fn is_news(&self, problem: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(problem.to_owned())
    }
}

fn shown(owner: Option<&Arc<str>>) -> String {
    owner.map_or_else(|| "the agent".to_owned(), |owner| format!("`{owner}`"))
}
