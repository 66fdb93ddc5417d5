//! An agent before it has a store and subagents, with everything that can go wrong found.

use std::collections::BTreeMap;
use std::sync::Arc;

use catena_core::agent::{Agent, AgentBuilder};
use catena_core::chain::Order;
use catena_core::prompt::Trusted;

use super::chain::links;
use super::{Models, Setup};
use crate::check::read_output;
use crate::config::{AgentConfig, Config};
use crate::problem::{ConfigErrors, Problem};
use crate::registry::BuildContext;

/// An agent that lacks a store and its subagents.
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) builder: AgentBuilder,
    pub(super) subagents: Vec<String>,
    pub(super) off: Vec<(&'static str, String)>,
}

/// Drafts of an agent and of everybody it delegates to, subagents first.
pub(super) struct Drafts {
    pub(super) all: Vec<Draft>,
    pub(super) warnings: Vec<String>,
}

/// Drafts an agent and everybody it delegates to. This blocks while it reads certificates and schemas.
///
/// # Errors
/// Every problem of all of them.
pub(super) fn all(config: Config, name: &str, setup: &Setup) -> Result<Drafts, ConfigErrors> {
    let mut drawing = Drawing {
        models: Models::new(config.clone(), setup.clone()),
        config,
        all: Vec::new(),
        problems: Vec::new(),
    };
    for name in drawing.family(name)? {
        drawing.draw(&name);
    }
    let Drawing {
        models,
        all,
        mut problems,
        ..
    } = drawing;
    problems.extend(models.problems);
    ConfigErrors::check(problems)?;
    Ok(Drafts {
        all,
        warnings: models.warnings,
    })
}

struct Drawing {
    config: Config,
    models: Models,
    all: Vec<Draft>,
    problems: Vec<Problem>,
}

impl Drawing {
    /// The agent and its subagents, theirs included, each after its own.
    fn family(&self, name: &str) -> Result<Vec<String>, ConfigErrors> {
        let (mut done, mut open) = (Vec::new(), Vec::new());
        self.visit(name, &mut open, &mut done)?;
        Ok(done)
    }

    fn visit(&self, name: &str, open: &mut Vec<String>, done: &mut Vec<String>) -> Result<(), ConfigErrors> {
        if done.iter().any(|known| known == name) {
            return Ok(());
        }
        let place = ["agents".into(), name.into()];
        // A file with either of these was refused when it was read; a configuration that was put together in code was not.
        let Some(agent) = self.config.agents.get(name) else {
            return Err(self.config.problem(place, format!("there is no agent `{name}`")).into());
        };
        if open.iter().any(|known| known == name) {
            return Err(self
                .config
                .problem(
                    place,
                    format!("agent `{name}` delegates to itself through its subagents"),
                )
                .into());
        }
        open.push(name.to_owned());
        agent
            .subagents
            .iter()
            .try_for_each(|other| self.visit(other, open, done))?;
        open.pop();
        done.push(name.to_owned());
        Ok(())
    }

    fn draw(&mut self, name: &str) {
        let config = self.config.clone();
        let Some(agent) = config.agents.get(name) else { return };
        let main = self.models.of_agent(name);
        let mut named = BTreeMap::new();
        let mut context = BuildContext {
            agent: name,
            main: main.clone(),
            models: &mut self.models,
            named: &mut named,
        };
        let links = links(&config, agent, &mut context);
        self.problems.extend(links.problems);
        let Some(model) = main else { return };
        let mut builder = started(Agent::builder(model).name(name), agent);
        for (name, model) in named {
            builder = builder.named_model(name, model);
        }
        for middleware in links.on {
            builder = builder.with_shared(middleware);
        }
        for (index, tool) in agent.tools.iter().enumerate() {
            let place = ["agents".into(), name.into(), "tools".into(), index.into()];
            match config.origin.registry.tool(tool) {
                Some(tool) => builder = builder.shared_tool(Arc::clone(tool)),
                None => self
                    .problems
                    .push(config.problem(place, format!("there is no tool `{tool}`"))),
            }
        }
        if let Some(wanted) = &agent.output {
            match read_output(wanted, &config.origin.source) {
                Ok(format) => builder = builder.output(format),
                Err(message) => {
                    let place = ["agents".into(), name.into(), "output".into()];
                    self.problems.push(config.problem(place, message));
                }
            }
        }
        self.all.push(Draft {
            name: name.to_owned(),
            builder,
            subagents: agent.subagents.clone(),
            off: links.off,
        });
    }
}

fn started(builder: AgentBuilder, agent: &AgentConfig) -> AgentBuilder {
    let resolved = agent.resolved();
    let mut builder = builder.limits(resolved.limits);
    if resolved.order == Order::Listed {
        builder = builder.in_listed_order();
    }
    match &agent.prompt {
        Some(prompt) => builder.prompt(Trusted(prompt.clone())),
        None => builder,
    }
}
