//! What the keys of an agent come to, together with defaults and presets.

use catena_core::agent::{Limits, OnMaxTurns};
use catena_core::chain::Order;

use super::{AgentConfig, Compat, Config};

/// Which model an agent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelChoice<'a> {
    /// That one of `[models]`.
    Named(&'a str),
    /// `provider:model`, written on the agent.
    Direct(&'a str),
    /// The one that the program chooses.
    Program,
    /// None: there is none of that name.
    Unknown(&'a str),
    /// None: several could be meant.
    Several,
}

impl Config {
    /// The model named `default`, when an agent names none.
    const DEFAULT_MODEL: &'static str = "default";

    /// Which model an agent has. One that does not exist has the model of one that says nothing.
    pub(crate) fn model_choice(&self, agent: &str) -> ModelChoice<'_> {
        match self.agents.get(agent).and_then(|agent| agent.model.as_deref()) {
            Some(name) => match self.models.get_key_value(name) {
                Some((name, _)) => ModelChoice::Named(name),
                None if name.contains(':') => ModelChoice::Direct(name),
                None => ModelChoice::Unknown(name),
            },
            None => match (self.models.get_key_value(Self::DEFAULT_MODEL), self.models.len()) {
                (Some((name, _)), _) => ModelChoice::Named(name),
                (None, 0) => ModelChoice::Program,
                (None, 1) => self
                    .models
                    .keys()
                    .next()
                    .map_or(ModelChoice::Program, |name| ModelChoice::Named(name)),
                (None, _) => ModelChoice::Several,
            },
        }
    }
}

/// What holds for an agent.
pub(crate) struct Resolved {
    pub(crate) order: Order,
    pub(crate) base: bool,
    pub(crate) limits: Limits,
}

/// The values that hold where an agent says nothing. A framework is one of these and nothing else: no code asks which it is.
struct Preset {
    order: Order,
    base: bool,
    max_turns: u32,
    on_max_turns: OnMaxTurns,
}

/// LangChain's recursion limit is 25 and an error.
const LANGCHAIN: Preset = Preset {
    order: Order::Listed,
    base: false,
    max_turns: 25,
    on_max_turns: OnMaxTurns::Error,
};

/// Deep Agents raises it to 9,999.
const DEEPAGENTS: Preset = Preset {
    max_turns: 9_999,
    ..LANGCHAIN
};

impl Preset {
    fn own() -> Self {
        let limits = Limits::default();
        Self {
            order: Order::default(),
            base: true,
            max_turns: limits.max_turns,
            on_max_turns: limits.on_max_turns,
        }
    }
}

impl AgentConfig {
    /// What holds for this agent.
    pub(crate) fn resolved(&self) -> Resolved {
        let preset = match self.compat {
            None => Preset::own(),
            Some(Compat::Langchain) => LANGCHAIN,
            Some(Compat::Deepagents) => DEEPAGENTS,
        };
        let limits = Limits::default();
        let parallel = self.parallel_tools.and_then(|tools| usize::try_from(tools).ok());
        Resolved {
            order: self.order.unwrap_or(preset.order),
            base: self.base.unwrap_or(preset.base),
            limits: Limits {
                max_turns: self.max_turns.unwrap_or(preset.max_turns),
                on_max_turns: self.on_max_turns.unwrap_or(preset.on_max_turns),
                parallel_tools: parallel.unwrap_or(limits.parallel_tools),
                ..limits
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_what_holds_where_the_agent_says_nothing() {
        let mut agent = AgentConfig::default();
        assert!(agent.resolved().base);
        assert_eq!(agent.resolved().limits.max_turns, 50);
        agent.compat = Some(Compat::Langchain);
        agent.base = Some(true);
        let resolved = agent.resolved();
        assert_eq!(
            (resolved.order, resolved.base, resolved.limits.max_turns),
            (Order::Listed, true, 25)
        );
        assert_eq!(resolved.limits.on_max_turns, OnMaxTurns::Error);
    }
}
