//! From drafts to agents that know each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use catena_core::agent::Agent;
use catena_core::chain_text;
use catena_core::checkpoint::Checkpointer;
use catena_core::principal::Agents;

use super::Built;
use super::draft::{Draft, Drafts};
use crate::config::Config;
use crate::problem::{ConfigErrors, Problem};

/// The agents that one can delegate to.
struct Subagents(BTreeMap<String, Agent>);

impl Agents for Subagents {
    fn agent(&self, name: &str) -> Option<Agent> {
        self.0.get(name).cloned()
    }

    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

/// Builds all agents over one store, and hands out the last, which is the one that was asked for.
///
/// # Errors
/// Every problem of every chain.
pub(super) fn assemble(config: &Config, drafts: Drafts, store: Arc<dyn Checkpointer>) -> Result<Built, ConfigErrors> {
    let mut built: BTreeMap<String, Agent> = BTreeMap::new();
    let mut problems = Vec::new();
    let mut last = None;
    for draft in drafts.all {
        let Draft {
            name,
            builder,
            subagents,
            off,
        } = draft;
        let known = subagents
            .into_iter()
            .filter_map(|name| Some((name.clone(), built.get(&name)?.clone())));
        let agents = Arc::new(Subagents(known.collect()));
        match builder.store(store.clone()).agents(agents).build() {
            Ok(agent) => {
                built.insert(name, agent.clone());
                last = Some((agent, off));
            }
            Err(error) => problems.extend(told(config, &name, &error)),
        }
    }
    ConfigErrors::check(problems)?;
    let Some((agent, off)) = last else {
        return Err(Problem::of_file(config.origin.source.path(), "there is no agent to build").into());
    };
    let mut report = agent.chain();
    off.into_iter().for_each(|(name, reason)| report.push_off(name, reason));
    Ok(Built {
        agent,
        report,
        warnings: drafts.warnings,
    })
}

/// What the core says about an agent, shown at its chain.
fn told(config: &Config, name: &str, error: &catena_core::Error) -> Vec<Problem> {
    let sentences = match error {
        catena_core::Error::Build { problems } => problems.clone(),
        other => vec![chain_text(other)],
    };
    let middleware = config
        .agents
        .get(name)
        .is_some_and(|agent| !agent.middleware.is_empty());
    let problem = |sentence: String| {
        let place = ["agents".into(), name.into(), "middleware".into()];
        config.problem(place.into_iter().take(if middleware { 3 } else { 2 }), sentence)
    };
    sentences.into_iter().map(problem).collect()
}
