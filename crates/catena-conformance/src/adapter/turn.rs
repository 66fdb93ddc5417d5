//! One turn: what is given to the agent, and how its run comes out.

use std::time::Duration;

use catena_core::{Agent, Error, ErrorReport, Input, Outcome as CoreOutcome, Resume};
use tokio::time::Instant;

use super::{decisions, message};
use crate::observed::{ErrorRecord, Outcome, TurnRecord};
use crate::scenario::{Turn, TurnInput};

/// How long a turn may take, on the clock of the scenario. The longest wait in a scenario is a minute.
const TURN_LIMIT: Duration = Duration::from_secs(3600);

/// Plays a turn. How many requests it makes is for the log to say.
pub(super) async fn play(agent: &Agent, turn: &Turn) -> TurnRecord {
    let started = Instant::now();
    let run = async {
        match &turn.input {
            TurnInput::User(text) => agent.run(Input::new(text.as_str()).thread(turn.thread.as_str())).await,
            TurnInput::Messages(messages) => {
                agent
                    .run(Input::messages(message::input(messages)).thread(turn.thread.as_str()))
                    .await
            }
            TurnInput::Resume(value) => match decisions::read(value) {
                Ok(decisions) => {
                    agent
                        .run(Resume::thread(turn.thread.as_str()).decisions(decisions))
                        .await
                }
                Err(reason) => Err(Error::InvalidAnswer {
                    pause: "".into(),
                    reason,
                }),
            },
        }
    };
    let result = tokio::time::timeout(TURN_LIMIT, run).await.unwrap_or_else(|_| {
        Err(Error::Timeout {
            what: "the turn".to_owned(),
            limit: TURN_LIMIT,
        })
    });
    let record = match result {
        Ok(result) => ended(&result.outcome),
        Err(error) => failed(&error),
    };
    TurnRecord {
        elapsed: started.elapsed(),
        ..record
    }
}

fn ended(outcome: &CoreOutcome) -> TurnRecord {
    match outcome {
        // The format has no word of its own for an end on purpose: it is one of the ways to be done.
        CoreOutcome::Done | CoreOutcome::Stopped { .. } => TurnRecord::default(),
        CoreOutcome::Interrupted(pauses) => TurnRecord {
            outcome: Outcome::Interrupted,
            interrupt: Some(decisions::asked(pauses)),
            ..TurnRecord::default()
        },
        CoreOutcome::Cancelled => failed(&Error::Cancelled),
        other => failed(&Error::other(format!(
            "the runner has no record for the outcome {other:?}"
        ))),
    }
}

/// The record of a turn that ends with this error. The kinds of catena's errors are the words of the format.
pub(super) fn failed(error: &Error) -> TurnRecord {
    let ErrorReport {
        kind, message, status, ..
    } = ErrorReport::from(error);
    TurnRecord {
        outcome: Outcome::Error,
        error: Some(ErrorRecord { kind, status, message }),
        ..TurnRecord::default()
    }
}

#[cfg(test)]
mod tests;
