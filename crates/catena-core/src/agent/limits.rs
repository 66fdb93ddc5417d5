//! The bounds of a run. Every wait and every loop has one.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bounds of an agent's runs.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Model turns in one run. Default: 50, enough for long work, few enough to notice a circle.
    pub max_turns: u32,
    /// What happens at the last one. Default: one answer without tools.
    pub on_max_turns: OnMaxTurns,
    /// Tools at work at once. Default: 8.
    pub parallel_tools: usize,
    /// Model messages in a row that hold nothing but calls that cannot run. Default: 3.
    pub invalid_calls: u32,
    /// How long a model may send nothing. Default: 5 minutes, which the slowest reasoning models need.
    pub model_idle: Duration,
    /// How long a thread stays taken when its process is gone and the store cannot tell. Default: 30 seconds, renewed every 10.
    pub lease: Duration,
    /// How long a queued run waits for its thread. Default: 10 minutes.
    pub queue_wait: Duration,
}

impl Limits {
    /// The values with which no run could do anything, one sentence each.
    pub(crate) fn problems(&self) -> Vec<String> {
        let positive = [
            (
                self.max_turns == 0,
                "`max_turns` is 0, so the model could never be asked; it must be at least 1",
            ),
            (
                self.parallel_tools == 0,
                "`parallel_tools` is 0, so no tool could run; it must be at least 1",
            ),
            (
                self.invalid_calls == 0,
                "`invalid_calls` is 0, so every run would fail at once; it must be at least 1",
            ),
            (
                self.model_idle.is_zero(),
                "`model_idle` is 0, so no model could answer in time; it must be longer",
            ),
            (
                self.lease < Self::SHORTEST_LEASE,
                "`lease` is too short to be renewed in time; it must be at least 30 ms",
            ),
        ];
        let wrong = positive.into_iter().filter(|(wrong, _)| *wrong);
        wrong.map(|(_, problem)| problem.to_owned()).collect()
    }

    /// It is renewed three times as often, which takes a store some milliseconds.
    const SHORTEST_LEASE: Duration = Duration::from_millis(30);
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_turns: 50,
            on_max_turns: OnMaxTurns::Answer,
            parallel_tools: 8,
            invalid_calls: 3,
            model_idle: Duration::from_secs(300),
            lease: Duration::from_secs(30),
            queue_wait: Duration::from_secs(600),
        }
    }
}

/// What happens when a run has used up its turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnMaxTurns {
    /// The model gives one more answer, without tools; the run ends as stopped.
    #[default]
    Answer,
    /// The run fails.
    Error,
}
