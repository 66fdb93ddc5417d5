//! Plays scenarios on catena.
//!
//! Whatever a scenario scripts is built first, as a [stage](stage): models, tools, and the one agent with its chain `in_listed_order`, which
//! is the rule that the scenarios follow. Its store lives in memory and over all turns. Then the [turns](turn) are played on a clock that
//! stands still, and a [log](log) notes what models, tools and probes see.
//!
//! A middleware becomes playable by one line in the [registry](registry).

mod decisions;
mod log;
mod message;
mod model;
mod probe;
mod registry;
mod stage;
mod tool;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use catena_core::Agent;
use catena_core::id::ThreadId;

use crate::observed::Observed;
use crate::report::{RunError, Runner};
use crate::scenario::{Scenario, Turn};
use log::Log;
use registry::BuildError;
use stage::Stage;

/// The name of the agent's own model in a scenario.
const MAIN_MODEL: &str = "main";

/// How long work that outlives a turn may take, on the clock of the scenario.
const DRAIN_LIMIT: Duration = Duration::from_secs(600);

/// Plays scenarios on catena.
#[derive(Clone, Copy, Debug, Default)]
pub struct Catena;

impl Runner for Catena {
    fn run(&self, scenario: &Scenario) -> Result<Observed, RunError> {
        let missing = registry::missing(&scenario.middleware);
        if !missing.is_empty() {
            return Err(RunError::MissingMiddleware(missing));
        }
        if !scenario.files.is_empty() {
            let text = "no middleware that keeps virtual files is in the registry, so they cannot be set up";
            return Err(RunError::Unplayable(text.to_owned()));
        }
        // One thread, so that the order of what is logged is the order of what happened.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .map_err(|error| RunError::Unplayable(format!("there is no runtime: {error}")))?;
        runtime.block_on(play(scenario))
    }
}

async fn play(scenario: &Scenario) -> Result<Observed, RunError> {
    let log = Arc::new(Log::default());
    let stage = Stage::new(scenario, log.clone());
    // Options that an agent cannot be built from are something to observe: every turn fails of them.
    let agent = match agent(scenario, &stage) {
        Ok(agent) => Ok(agent),
        Err(BuildError::Agent(error)) => Err(error),
        Err(BuildError::Scenario(problem)) => return Err(RunError::Unplayable(problem)),
    };
    let mut turns = Vec::with_capacity(scenario.turns.len());
    for turn in &scenario.turns {
        let before = log.model_calls();
        let mut record = match &agent {
            Ok(agent) => turn::play(agent, turn).await,
            Err(error) => turn::failed(error),
        };
        if let Ok(agent) = &agent
            && !agent.shutdown(DRAIN_LIMIT).await
        {
            log.violation(format!("work of a turn is not done {DRAIN_LIMIT:?} after it"));
        }
        record.model_calls = log.model_calls() - before;
        turns.push(record);
    }
    let mut observed = log.take();
    observed.turns = turns;
    if let (Ok(agent), Some(last)) = (&agent, scenario.turns.last()) {
        observe_thread(agent, last, &mut observed).await?;
    }
    Ok(observed)
}

fn agent(scenario: &Scenario, stage: &Stage) -> Result<Agent, BuildError> {
    let mut builder = Agent::builder(stage.model(MAIN_MODEL)).in_listed_order();
    for (name, model) in stage.models() {
        builder = builder.named_model(name, model.clone());
    }
    if let Some(prompt) = &scenario.system_prompt {
        builder = builder.prompt(catena_core::prompt::Trusted(prompt.clone()));
    }
    for tool in scenario.agent_tools().filter_map(|tool| stage.tool(&tool.name)) {
        builder = builder.shared_tool(tool);
    }
    for entry in &scenario.middleware {
        builder = builder.with_shared(registry::middleware(entry, stage)?);
    }
    Ok(builder.build()?)
}

/// The last turn's thread as it is left: the conversation as the next model call would start from it, and its state.
async fn observe_thread(agent: &Agent, last: &Turn, observed: &mut Observed) -> Result<(), RunError> {
    let thread = match agent.thread(&ThreadId::from(last.thread.as_str())).await {
        Ok(thread) => thread,
        // A run that was refused before it began leaves no thread.
        Err(catena_core::Error::NoThread(_)) => return Ok(()),
        Err(error) => return Err(RunError::Unplayable(crate::report::chain(&error))),
    };
    observed.final_messages = thread.view().iter().map(|message| message::observed(message)).collect();
    let todos = thread.slots().find(|(key, _, _)| key == TODOS);
    observed.todos = todos
        .and_then(|(_, _, value)| value.as_array().cloned())
        .unwrap_or_default();
    Ok(())
}

/// The state slot with the to-do list.
const TODOS: &str = "todos";

#[cfg(test)]
mod tests;
