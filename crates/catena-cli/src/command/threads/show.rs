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
        let (kind, lines) = of_entry(entry, paint);
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

fn of_entry(entry: &Entry, paint: Paint) -> (&'static str, Vec<String>) {
    let message = |message: &Message| format!("{} {}", paint.dim(message.id().as_str()), of_message(message, paint));
    match entry {
        Entry::RunStarted(start) => (
            "run started",
            vec![format!(
                "{} by agent {} at {}",
                start.run,
                clean(&start.agent),
                start.at
            )],
        ),
        Entry::Admitted { input, prompt } => {
            let sections = prompt
                .iter()
                .map(|section| paint.dim(&format!("prompt section of {}", clean(&section.owner))));
            (
                "input",
                input.iter().map(|input| message(input)).chain(sections).collect(),
            )
        }
        Entry::Message { message: said } => ("message", vec![message(said)]),
        Entry::Model(step) => {
            let model = step
                .message
                .as_assistant()
                .and_then(|answer| answer.model.clone())
                .unwrap_or_default();
            (
                "model",
                vec![
                    paint.dim(&format!("{} ({} attempt(s))", clean(&model), step.attempts)),
                    message(&step.message),
                ],
            )
        }
        Entry::CallInput { tool, input, by, .. } => (
            "call changed",
            vec![format!(
                "by {}: {} {}",
                clean(by),
                clean(tool),
                clean(&input.to_string())
            )],
        ),
        Entry::CallStarted { call } => ("call started", vec![clean(call.as_str()).into_owned()]),
        Entry::CallEnded {
            message: result,
            status,
            by,
            ..
        } => {
            let by = by.as_deref().map(|by| format!(" by {}", clean(by))).unwrap_or_default();
            (
                "call ended",
                vec![
                    format!("{}{by}", compact::status(*status)),
                    clean(&result.text()).into_owned(),
                ],
            )
        }
        Entry::Paused { pauses } => (
            "paused",
            pauses
                .iter()
                .map(|pause| format!("{} {}", paint.dim(pause.id.as_str()), question(pause, paint)))
                .collect(),
        ),
        Entry::Answered { answer } => ("answered", vec![format!("{} {}", answer.pause, json(&answer.decision))]),
        Entry::Folded { up_to, summary, by } => (
            "folded",
            vec![format!("up to {up_to} by {}", clean(by)), message(summary)],
        ),
        Entry::Superseded { messages } => ("superseded", messages.iter().map(ToString::to_string).collect()),
        Entry::State { key, value, .. } => ("state", vec![format!("{} = {}", clean(key), clean(&value.to_string()))]),
        Entry::InternalCall { by, model, usage } => (
            "internal call",
            vec![format!(
                "{} asked {} ({} tokens)",
                clean(by),
                clean(model),
                usage.total()
            )],
        ),
        Entry::FailedAttempts { attempts, .. } => ("failed attempts", vec![attempts.to_string()]),
        Entry::Ending { by, ending } => (
            "ending",
            vec![format!("by {}: {}", clean(by), clean(&ending.reason.message))],
        ),
        Entry::RunEnded { outcome, .. } => ("run ended", vec![of_outcome(outcome)]),
        Entry::Forked { from, at } => ("forked", vec![format!("from {from} at {at}")]),
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
    serde_json::to_string(value)
        .map(|text| clean(&text).into_owned())
        .unwrap_or_default()
}
