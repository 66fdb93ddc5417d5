//! What comes next: a pure function of the record.

use crate::agent::{Limits, OnMaxTurns};
use crate::error::ErrorReport;
use crate::middleware::{Ending, EndingOutcome, Say};
use crate::record::{CallState, EndReason, Last, OutcomeRecord, RunRecord};

/// The next step of a run. The runner does every one of them, so this is exhaustive on purpose.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Run `before_agent` and admit the input.
    Admit,
    /// Ask the model.
    Ask(Question),
    /// Judge the open calls, and run those that may.
    Calls,
    /// The process died while tools worked.
    Recover,
    /// End the run for a reason of the loop's own.
    End(Ending),
    /// Answer the calls that are still open: the run is ended.
    CloseCalls,
    /// Pause.
    Wait,
    /// Run `after_agent` and close the run.
    Finish(OutcomeRecord),
}

/// What the model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// Whatever comes next: calls, or an answer.
    Next,
    /// The object that every run of the agent must give, when its tools have ended the run: no tools.
    Object,
    /// The last word of a run that is ended: no tools, no object.
    LastWord,
}

/// `wants_object`: the agent answers with one JSON object.
pub(super) fn next_step(run: &RunRecord, limits: &Limits, wants_object: bool) -> Step {
    if let Some((by, ending)) = &run.ending {
        return after_ending(run, by, ending);
    }
    if !run.admitted {
        return Step::Admit;
    }
    if !run.open.is_empty() {
        return with_open_calls(run);
    }
    let object_is_due = wants_object && run.structured.is_none() && run.last == Last::EndingResults;
    let wants_more = run.last == Last::Input && run.structured.is_none();
    if !wants_more && !object_is_due {
        return Step::Finish(OutcomeRecord::Done {
            structured: run.structured.clone(),
        });
    }
    if run.invalid_in_a_row >= limits.invalid_calls {
        let times = run.invalid_in_a_row;
        let message =
            format!("the model sent {times} messages in a row whose calls cannot be run (`invalid_calls`: {times})");
        return Step::End(Ending::failed("invalid_calls", message));
    }
    if run.turns() >= limits.max_turns {
        return Step::End(at_max_turns(limits));
    }
    Step::Ask(match object_is_due {
        true => Question::Object,
        false => Question::Next,
    })
}

fn with_open_calls(run: &RunRecord) -> Step {
    let any = |test: fn(&CallState) -> bool| run.open.iter().any(|open| test(&open.state));
    if any(|state| *state == CallState::Started) {
        return Step::Recover;
    }
    // Nothing of a message runs before all its calls are decided, so one unanswered gate holds them all.
    if run
        .pauses()
        .any(|pause| pause.asked_by != crate::interrupt::Asker::Tool)
    {
        return Step::Wait;
    }
    if any(|state| matches!(state, CallState::Undecided | CallState::Answered(..))) {
        Step::Calls
    } else {
        Step::Wait
    }
}

fn after_ending(run: &RunRecord, by: &str, ending: &Ending) -> Step {
    if !run.open.is_empty() {
        return Step::CloseCalls;
    }
    if ending.say == Say::Model && !run.spoke && run.admitted {
        return Step::Ask(Question::LastWord);
    }
    Step::Finish(match &ending.outcome {
        EndingOutcome::Stopped => OutcomeRecord::Stopped {
            by: by.to_owned(),
            reason: ending.reason.clone(),
        },
        EndingOutcome::Failed(error) => OutcomeRecord::Failed { error: error.clone() },
        EndingOutcome::Cancelled => OutcomeRecord::Cancelled,
    })
}

fn at_max_turns(limits: &Limits) -> Ending {
    let message = format!(
        "the run reached its limit of {} model turns (`max_turns`)",
        limits.max_turns
    );
    let reason = EndReason {
        kind: "max_turns".into(),
        message: message.clone(),
    };
    match limits.on_max_turns {
        OnMaxTurns::Answer => Ending {
            outcome: EndingOutcome::Stopped,
            reason,
            say: Say::Model,
        },
        OnMaxTurns::Error => {
            let error = ErrorReport {
                kind: "max_turns".into(),
                message,
                status: None,
                retryable: false,
            };
            Ending {
                outcome: EndingOutcome::Failed(error),
                reason,
                say: Say::Nothing,
            }
        }
    }
}
