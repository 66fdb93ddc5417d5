//! A thread as people read it: the conversation, or the record entry by entry.

use std::sync::Arc;

use catena_core::message::{Message, Part};
use catena_core::record::{Entry, OutcomeRecord, Thread};

use crate::output::Paint;
use crate::render::question::question;
use crate::render::{clean, compact};

/// Columns of a line.
const WIDTH: usize = 100;

/// What still counts, and what the thread waits for.
pub(super) fn conversation(thread: &Thread, paint: Paint) -> String {
    let mut text = format!("{}\n", paint.dim(&format!("thread {}", thread.id())));
    for message in thread.view().iter() {
        text.push('\n');
        text.push_str(&of_message(message, paint));
    }
    if let Some(run) = thread.run() {
        for pause in run.pauses() {
            text.push_str(&format!("\n{}", question(pause, paint)));
        }
        match run.outcome() {
            None => text.push_str(&format!(
                "\n{}\n",
                paint.yellow(&format!("not finished: `catena resume --thread {}`", thread.id()))
            )),
            Some(outcome) if !matches!(outcome, OutcomeRecord::Done { .. }) => {
                text.push_str(&format!("\n{}\n", paint.yellow(&of_outcome(outcome))))
            }
            Some(_) => {}
        }
    }
    text
}

fn of_message(message: &Message, paint: Paint) -> String {
    let who = match message {
        Message::System(_) => paint.bold("system"),
        Message::User(user) => match (&user.name, &user.written_by) {
            (_, Some(by)) => paint.dim(&format!("({})", clean(by))),
            (Some(name), None) => paint.bold(&clean(name)),
            (None, None) => paint.bold("you"),
        },
        Message::Assistant(answer) => paint.bold(&paint.cyan(&clean(answer.name.as_deref().unwrap_or("assistant")))),
        Message::Tool(result) => {
            let line = format!("  └ {}: {}", clean(&result.name), compact::result(message, WIDTH));
            return format!("{}\n", paint.dim(&line));
        }
    };
    let parts: Vec<String> = message.parts().iter().filter_map(|part| of_part(part, paint)).collect();
    format!("{who}\n{}\n", parts.join("\n"))
}

fn of_part(part: &Part, paint: Paint) -> Option<String> {
    Some(match part {
        Part::Text(text) => clean(&text.text).trim_end().to_owned(),
        Part::ToolCall(call) => format!(
            "● {} {}",
            paint.cyan(&clean(&call.name)),
            paint.dim(&compact::input(&call.input, WIDTH))
        ),
        Part::Reasoning(thought) if !thought.text.is_empty() => paint.dim(clean(&thought.text).trim_end()),
        other => paint.dim(&compact::not_text(other)?),
    })
}

/// Everything, in the order in which it happened.
pub(super) fn record(entries: &[Arc<Entry>], paint: Paint) -> String {
    let mut text = String::new();
    for (position, entry) in entries.iter().enumerate() {
        let (kind, lines) = (kind(entry), contents(entry, paint));
        text.push_str(&format!(
            "{} {}\n",
            paint.dim(&format!("{position:>4}")),
            paint.bold(kind)
        ));
        for line in lines.iter().flat_map(|line| line.lines()) {
            text.push_str(&format!("       {line}\n"));
        }
    }
    text
}

/// What an entry is.
fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::RunStarted(_) => "run started",
        Entry::Admitted { .. } => "input",
        Entry::Message { .. } => "message",
        Entry::Model(_) => "model",
        Entry::CallInput { .. } => "call changed",
        Entry::CallStarted { .. } => "call started",
        Entry::CallEnded { .. } => "call ended",
        Entry::Paused { .. } => "paused",
        Entry::Answered { .. } => "answered",
        Entry::Folded { .. } => "folded",
        Entry::Superseded { .. } => "superseded",
        Entry::State { .. } => "state",
        Entry::InternalCall { .. } => "internal call",
        Entry::ChildSpent { .. } => "child stopped",
        Entry::FailedAttempts { .. } => "failed attempts",
        Entry::Ending { .. } => "ending",
        Entry::RunEnded { .. } => "run ended",
        Entry::Forked { .. } => "forked",
    }
}

/// What is in it. Every text in an entry may come from outside.
fn contents(entry: &Entry, paint: Paint) -> Vec<String> {
    let message = |message: &Message| format!("{} {}", paint.dim(message.id().as_str()), of_message(message, paint));
    match entry {
        Entry::RunStarted(start) => vec![format!(
            "{} by agent {} at {}",
            start.run,
            clean(&start.agent),
            start.at
        )],
        Entry::Admitted { input, prompt } => {
            let sections = prompt
                .iter()
                .map(|section| format!("prompt section of {}", clean(section.owner())));
            input
                .iter()
                .map(|input| message(input))
                .chain(sections.map(|line| paint.dim(&line)))
                .collect()
        }
        Entry::Message { message: said } => vec![message(said)],
        Entry::Model(step) => {
            let model = step
                .message
                .as_assistant()
                .and_then(|answer| answer.model.as_deref())
                .unwrap_or_default();
            let model = format!("{} ({} attempt(s))", clean(model), step.attempts);
            vec![paint.dim(&model), message(&step.message)]
        }
        Entry::CallEnded {
            message: result,
            status,
            by,
            ..
        } => {
            let by = by.as_deref().map(|by| format!(" by {}", clean(by))).unwrap_or_default();
            vec![
                format!("{}{by}", compact::status(*status)),
                clean(&result.text()).into_owned(),
            ]
        }
        Entry::Paused { pauses } => pauses
            .iter()
            .map(|pause| format!("{} {}", paint.dim(pause.id.as_str()), question(pause, paint)))
            .collect(),
        Entry::Folded { up_to, summary, by } => vec![format!("up to {up_to} by {}", clean(by)), message(summary)],
        Entry::Superseded { messages } => messages.iter().map(ToString::to_string).collect(),
        other => vec![clean(&in_a_line(other)).into_owned()],
    }
}

/// An entry that is told in a line.
fn in_a_line(entry: &Entry) -> String {
    match entry {
        Entry::CallInput { tool, input, by, .. } => format!("by {by}: {tool} {input}"),
        Entry::CallStarted { call } => call.to_string(),
        Entry::Answered { answer } => format!("{} {}", answer.pause, json(&answer.decision)),
        Entry::State { key, value, .. } => format!("{key} = {value}"),
        Entry::InternalCall { by, model, usage } => format!("{by} asked {model} ({} tokens)", usage.total()),
        Entry::FailedAttempts { attempts, .. } => attempts.to_string(),
        Entry::Ending { by, ending } => format!("by {by}: {}", ending.reason.message),
        Entry::RunEnded { outcome, .. } => of_outcome(outcome),
        Entry::ChildSpent { run, agent, totals } => {
            format!(
                "{agent} ({run}), {} turn(s), {} tokens",
                totals.turns,
                totals.usage.total()
            )
        }
        Entry::Forked { from, at } => format!("from {from} at {at}"),
        _ => String::new(),
    }
}

fn of_outcome(outcome: &OutcomeRecord) -> String {
    match outcome {
        OutcomeRecord::Done { .. } => "done".to_owned(),
        OutcomeRecord::Stopped { by, reason } => format!("stopped by {}: {}", clean(by), clean(&reason.message)),
        OutcomeRecord::Cancelled => "cancelled".to_owned(),
        OutcomeRecord::Failed { error } => format!("failed: {}", clean(&error.message)),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
