//! Holds what was observed against what was expected, and finds the first difference.
//!
//! The parts are judged in the order in which a reader would ask: did something happen that must never happen, how did the turns end, what
//! was sent to the models, what was executed, which hooks ran, and what is left in the thread and the state.

mod pairing;
mod sequence;

#[cfg(test)]
mod tests;

pub use sequence::check_messages;

use crate::expect::{EndingPattern, ExecutionPattern, Expect, TurnPattern};
use crate::mismatch::Mismatch;
use crate::observed::{Execution, ModelCall, Observed, TurnRecord};
use crate::pattern::{Check, Keys, ModelCallPattern, ValuePattern, describe_error, describe_message};

/// What the order of model calls means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallsOrder {
    /// All requests are in the listed order.
    #[default]
    Listed,
    /// The requests of each model are in the listed order: subagents may run in parallel.
    PerModel,
}

/// What the order of tool executions means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionsOrder {
    /// The executions are in the listed order.
    #[default]
    Listed,
    /// Nothing: calls may run in parallel.
    Any,
}

/// What the order of adjacent tool messages means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultsOrder {
    /// The messages are in the listed order.
    #[default]
    Listed,
    /// Nothing within a run of adjacent tool messages.
    Any,
}

/// Compares a record with what a scenario expects.
///
/// # Errors
/// The first difference, with its path from `expect` on.
pub fn compare(expect: &Expect, observed: &Observed) -> Check {
    if let Some(violation) = observed.violations.first() {
        return Err(Mismatch::new("a run that keeps to the script", violation).at("scenario"));
    }
    check_expect(expect, observed).map_err(|mismatch| mismatch.at("expect"))
}

fn check_expect(expect: &Expect, observed: &Observed) -> Check {
    if let Some(turns) = &expect.turns {
        check_turns(turns, &observed.turns).map_err(|mismatch| mismatch.at("turns"))?;
    }
    let last = observed
        .turns
        .last()
        .ok_or_else(|| Mismatch::new("a turn", "no turn"))?;
    check_ending(&expect.last, last)?;
    if let Some(patterns) = &expect.model_calls {
        check_model_calls(patterns, &observed.model_calls, expect).map_err(|mismatch| mismatch.at("model_calls"))?;
    }
    if let Some(patterns) = &expect.tool_executions {
        check_executions(patterns, &observed.tool_executions, expect.tool_executions_order)
            .map_err(|mismatch| mismatch.at("tool_executions"))?;
    }
    if let Some(hooks) = &expect.hooks {
        check_list(
            hooks,
            &observed.hooks,
            |hook| format!("{hook:?}"),
            |hook| format!("{hook:?}"),
            |wanted, got| {
                if wanted == got {
                    Ok(())
                } else {
                    Err(Mismatch::new(format!("{wanted:?}"), format!("{got:?}")))
                }
            },
        )
        .map_err(|mismatch| mismatch.at("hooks"))?;
    }
    if let Some(messages) = &expect.final_messages {
        check_messages(messages, &observed.final_messages, expect.tool_results_order)
            .map_err(|mismatch| mismatch.at("final_messages"))?;
    }
    check_state(expect, observed).map_err(|mismatch| mismatch.at("state"))
}

fn check_turns(patterns: &[TurnPattern], turns: &[TurnRecord]) -> Check {
    let wanted = |_: &TurnPattern| "a turn".to_owned();
    check_list(
        patterns,
        turns,
        wanted,
        |turn| turn.outcome.name().to_owned(),
        |pattern, turn| {
            check_ending(&pattern.ending, turn)?;
            let calls = turn.model_calls as u64;
            if let Some(wanted) = pattern.model_calls.filter(|&wanted| wanted != calls) {
                return Err(Mismatch::new(wanted.to_string(), calls.to_string()).at("model_calls"));
            }
            let elapsed = turn.elapsed.as_millis();
            match pattern.min_elapsed_ms.filter(|&least| u128::from(least) > elapsed) {
                Some(least) => {
                    Err(Mismatch::new(format!("at least {least} ms"), format!("{elapsed} ms")).at("min_elapsed_ms"))
                }
                None => Ok(()),
            }
        },
    )
}

fn check_ending(pattern: &EndingPattern, turn: &TurnRecord) -> Check {
    if let Some(outcome) = pattern.outcome.filter(|&outcome| outcome != turn.outcome) {
        let why = turn
            .error
            .as_ref()
            .map_or_else(String::new, |error| format!(": {}", describe_error(error)));
        return Err(Mismatch::new(outcome.name(), format!("{}{why}", turn.outcome.name())).at("outcome"));
    }
    if let Some(error) = &pattern.error {
        error.check(turn).map_err(|mismatch| mismatch.at("error"))?;
    }
    let Some(interrupt) = &pattern.interrupt else {
        return Ok(());
    };
    match &turn.interrupt {
        Some(value) => interrupt.check(value).map_err(|mismatch| mismatch.at("interrupt")),
        None => Err(Mismatch::new("a pause", format!("none, outcome {}", turn.outcome.name())).at("interrupt")),
    }
}

fn check_model_calls(patterns: &[ModelCallPattern], calls: &[ModelCall], expect: &Expect) -> Check {
    let patterns: Vec<_> = patterns.iter().enumerate().collect();
    let calls: Vec<_> = calls.iter().collect();
    if expect.model_calls_order == CallsOrder::Listed {
        return check_call_list(&patterns, &calls, expect.tool_results_order);
    }
    let mut models: Vec<&str> = Vec::new();
    for model in patterns
        .iter()
        .map(|(_, pattern)| &pattern.model)
        .chain(calls.iter().map(|call| &call.model))
    {
        if !models.contains(&model.as_str()) {
            models.push(model);
        }
    }
    for model in models {
        let patterns: Vec<_> = patterns
            .iter()
            .copied()
            .filter(|(_, pattern)| pattern.model == model)
            .collect();
        let calls: Vec<_> = calls.iter().copied().filter(|call| call.model == model).collect();
        check_call_list(&patterns, &calls, expect.tool_results_order)?;
    }
    Ok(())
}

/// Patterns come with their index in `expect`, which a selection by model would lose.
fn check_call_list(patterns: &[(usize, &ModelCallPattern)], calls: &[&ModelCall], order: ResultsOrder) -> Check {
    for ((index, pattern), call) in patterns.iter().zip(calls) {
        pattern
            .check(call, order)
            .map_err(|mismatch| mismatch.at_index(*index))?;
    }
    if let Some((index, missing)) = patterns.get(calls.len()) {
        return Err(Mismatch::new(
            format!("a request to {}", missing.model),
            format!("only {} requests", calls.len()),
        )
        .at_index(*index));
    }
    match calls.get(patterns.len()) {
        Some(extra) => {
            let last = extra.messages.last().map_or_else(String::new, |message| {
                format!(", ending with {}", describe_message(message))
            });
            let got = format!("a request to {}{last}", extra.model);
            Err(Mismatch::new(format!("{} requests", patterns.len()), got)
                .at_index(patterns.last().map_or(0, |(index, _)| index + 1)))
        }
        None => Ok(()),
    }
}

fn check_executions(patterns: &[ExecutionPattern], executions: &[Execution], order: ExecutionsOrder) -> Check {
    let wanted = |pattern: &ExecutionPattern| format!("an execution of {}", pattern.name);
    let got = |execution: &Execution| format!("{}({})", execution.name, execution.args);
    if order == ExecutionsOrder::Listed {
        return check_list(patterns, executions, wanted, got, check_execution);
    }
    let pairs = pairing::pair(patterns.len(), executions.len(), |p, e| {
        check_execution(&patterns[p], &executions[e]).is_ok()
    });
    let extra = pairs.unused().next().map(|index| &executions[index]);
    match (pairs.unmet().next(), extra) {
        (Some(index), Some(extra)) => match check_execution(&patterns[index], extra) {
            Err(mismatch) => Err(mismatch.at_index(index)),
            Ok(()) => Ok(()),
        },
        (Some(index), None) => Err(Mismatch::new(wanted(&patterns[index]), "no further execution").at_index(index)),
        (None, Some(extra)) => Err(Mismatch::new("no further execution", got(extra)).at_index(patterns.len())),
        (None, None) => Ok(()),
    }
}

fn check_execution(pattern: &ExecutionPattern, execution: &Execution) -> Check {
    if pattern.name != execution.name {
        return Err(Mismatch::new(&pattern.name, format!("{}({})", execution.name, execution.args)).at("name"));
    }
    pattern
        .args
        .check(&execution.args, Keys::Same)
        .map_err(|mismatch| mismatch.at("args"))
}

fn check_state(expect: &Expect, observed: &Observed) -> Check {
    if let Some(todos) = &expect.todos {
        check_list(
            todos,
            &observed.todos,
            ValuePattern::to_string,
            |todo| todo.to_string(),
            |pattern, todo| pattern.check(todo, Keys::Listed),
        )
        .map_err(|mismatch| mismatch.at("todos"))?;
    }
    match &expect.files {
        Some(files) => files.check(&observed.files).map_err(|mismatch| mismatch.at("files")),
        None => Ok(()),
    }
}

/// Two lists, item by item; then the first item that one of them lacks.
fn check_list<P, G>(
    patterns: &[P],
    got: &[G],
    show_pattern: impl Fn(&P) -> String,
    show_got: impl Fn(&G) -> String,
    check: impl Fn(&P, &G) -> Check,
) -> Check {
    for (index, (pattern, item)) in patterns.iter().zip(got).enumerate() {
        check(pattern, item).map_err(|mismatch| mismatch.at_index(index))?;
    }
    match (patterns.get(got.len()), got.get(patterns.len())) {
        (Some(missing), _) => Err(Mismatch::new(show_pattern(missing), "nothing more").at_index(got.len())),
        (None, Some(extra)) => Err(Mismatch::new("nothing more", show_got(extra)).at_index(patterns.len())),
        (None, None) => Ok(()),
    }
}
