//! Whether the agents are whole: what they name is there, and nobody delegates in a circle.

use super::names::has;
use super::{Check, output};
use crate::config::{AgentConfig, OutputConfig};
use crate::nearest::instead;
use crate::node::Step;

impl Check<'_> {
    pub(super) fn default_agent(&mut self) {
        let config = self.config;
        if let Some(name) = config
            .default_agent
            .as_deref()
            .filter(|name| !has(&self.names.agents, name))
        {
            let known = self.names.agents.iter().map(String::as_str);
            let problem = config.problem(["default_agent".into()], format!("there is no agent `{name}`"));
            self.problems.push(problem.help(instead(name, known)));
        }
    }

    pub(super) fn agents(&mut self) {
        let config = self.config;
        for (name, agent) in &config.agents {
            let place = ["agents".into(), name.into()];
            self.model_of(name);
            self.tools(agent, place);
            self.subagents(name, agent, place);
            self.middleware(agent, place);
            if let Some(wanted) = &agent.output {
                self.output(wanted, place);
            }
        }
    }

    fn tools(&mut self, agent: &AgentConfig, [agents, name]: [Step<'_>; 2]) {
        let registry = &self.config.origin.registry;
        for (index, tool) in agent.tools.iter().enumerate() {
            if registry.tool(tool).is_none() {
                let place = [agents, name, "tools".into(), index.into()];
                let known = registry.tools().map(|tool| tool.spec().name.as_str());
                let help = instead(tool, known)
                    .unwrap_or_else(|| "this build of catena has no tools to list; remove it".to_owned());
                self.problems.push(
                    self.config
                        .problem(place, format!("there is no tool `{tool}`"))
                        .help(help),
                );
            }
        }
    }

    fn subagents(&mut self, name: &str, agent: &AgentConfig, [agents, own]: [Step<'_>; 2]) {
        for (index, other) in agent.subagents.iter().enumerate() {
            let place = [agents, own, "subagents".into(), index.into()];
            if !has(&self.names.agents, other) {
                let known = self
                    .names
                    .agents
                    .iter()
                    .map(String::as_str)
                    .filter(|known| *known != name);
                let problem = self.config.problem(place, format!("there is no agent `{other}`"));
                self.problems.push(problem.help(instead(other, known)));
            } else if let Some(circle) = self.circle(name, other) {
                let message = format!("agents delegate in a circle: {}", circle.join(" → "));
                let help = "take one of them out of `subagents`".to_owned();
                self.problems.push(self.config.problem(place, message).help(help));
            }
        }
    }

    /// How one gets from `from`, through its subagent `first`, back to it.
    fn circle<'a>(&'a self, from: &'a str, first: &'a str) -> Option<Vec<&'a str>> {
        let mut seen = vec![first];
        let mut open = vec![vec![from, first]];
        while let Some(way) = open.pop() {
            let here = way.last().copied()?;
            if here == from {
                return Some(way);
            }
            let next = self
                .config
                .agents
                .get(here)
                .map(|agent| agent.subagents.as_slice())
                .unwrap_or_default();
            for other in next {
                if other == from || !seen.contains(&other.as_str()) {
                    seen.push(other);
                    open.push([way.as_slice(), &[other]].concat());
                }
            }
        }
        None
    }

    fn output(&mut self, wanted: &OutputConfig, [agents, name]: [Step<'_>; 2]) {
        if let Err(message) = output::read(wanted, &self.config.origin.source) {
            self.problems
                .push(self.config.problem([agents, name, "output".into()], message));
        }
    }
}
