//! `catena threads`: conversations that were had.

mod show;

use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use catena_core::Agent;
use catena_core::checkpoint::{Checkpointer, ThreadInfo};
use catena_core::id::{MessageId, ThreadId};
use catena_core::message::Role;
use catena_core::record::Thread;
use catena_models::scripted::ScriptedModel;
use serde::Serialize;

use crate::app::App;
use crate::args;
use crate::error::{CliError, Exit, Result};
use crate::output::Paint;
use crate::render::clean;
use crate::render::clean::one_line;
use crate::threads;

/// Columns of a conversation's first words.
const TITLE: usize = 60;

/// Does what was asked.
///
/// # Errors
/// If the thread does not exist, or the store fails.
pub(crate) async fn threads(app: &App, args: args::Threads) -> Result<Exit> {
    let store = app.store().await?;
    match args {
        args::Threads::List { limit, json } => list(app, store.as_ref(), limit, json).await?,
        args::Threads::Show { id, record } => {
            let id = threads::find(store.as_ref(), &id).await?;
            let text = match record {
                true => show::record(&store.load(&id, 0).await?, app.output.answer_paint),
                false => show::conversation(&threads::read(store.as_ref(), &id).await?, app.output.answer_paint),
            };
            app.output.answer(&text)?;
        }
        args::Threads::Fork { id, at } => {
            let id = threads::find(store.as_ref(), &id).await?;
            let fork = fork(&librarian(store)?, &id, at.as_deref()).await?;
            app.output.line(fork.as_str())?;
            app.output
                .hint(&format!("`catena chat --thread {fork}` goes on from there"));
        }
        args::Threads::Export { id, output } => {
            let id = threads::find(store.as_ref(), &id).await?;
            export(app, store.as_ref(), &id, output.as_deref()).await?;
        }
        args::Threads::Delete { ids, yes } => delete(app, store, ids, yes).await?,
    }
    Ok(Exit::Done)
}

/// The threads used last, for a person in the middle of something else.
///
/// # Errors
/// If the store fails.
pub(super) async fn brief(app: &App, store: &dyn Checkpointer) -> Result<()> {
    /// What fits a screen beside a conversation.
    const FEW: usize = 10;
    for row in rows(store, FEW).await? {
        app.output.note_line(&line(&row, app.output.paint));
    }
    Ok(())
}

/// A line of the list.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    info: ThreadInfo,
    /// Messages that still count.
    messages: usize,
    /// `running`, `waiting`, `unfinished` or `idle`.
    state: &'static str,
    /// The first thing a person said.
    first: String,
}

async fn list(app: &App, store: &dyn Checkpointer, limit: usize, json: bool) -> Result<()> {
    let rows = rows(store, limit).await?;
    if rows.is_empty() && !json {
        app.output.hint("no threads yet; `catena chat` begins one");
    }
    for row in rows {
        let text = match json {
            true => serde_json::to_string(&row)
                .map_err(|error| CliError::Internal(format!("a thread cannot be written: {error}")))?,
            false => line(&row, app.output.answer_paint),
        };
        app.output.line(&text)?;
    }
    Ok(())
}

async fn rows(store: &dyn Checkpointer, limit: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for info in store.list(limit).await? {
        // One thread that cannot be read must not hide the others.
        rows.push(match threads::read(store, &info.thread).await {
            Ok(thread) => row(info, &thread),
            Err(error) => Row {
                first: format!("({error})"),
                messages: 0,
                state: "unreadable",
                info,
            },
        });
    }
    Ok(rows)
}

fn line(row: &Row, paint: Paint) -> String {
    let when = age(jiff::Timestamp::now(), row.info.updated);
    let state = match row.state {
        "idle" => String::new(),
        state => format!(" {}", paint.yellow(&format!("({state})"))),
    };
    let (id, when) = (
        paint.cyan(&clean(row.info.thread.as_str())),
        paint.dim(&format!("{when:>10}")),
    );
    format!("{id}  {when}  {:>3} msg{state}  {}", row.messages, clean(&row.first))
}

/// How long ago it was, near enough to find a conversation again; the day, if it was long ago.
fn age(now: jiff::Timestamp, then: jiff::Timestamp) -> String {
    match now.as_second() - then.as_second() {
        ..60 => "just now".to_owned(),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h ago", seconds / 3_600),
        seconds @ 86_400..864_000 => format!("{} d ago", seconds / 86_400),
        _ => then.to_string().chars().take("2026-01-01".len()).collect(),
    }
}

fn row(info: ThreadInfo, thread: &Thread) -> Row {
    let view = thread.view();
    let unfinished = thread.run().filter(|run| run.outcome().is_none());
    let state = match unfinished {
        _ if info.active => "running",
        Some(run) if run.pauses().next().is_some() => "waiting",
        Some(_) => "unfinished",
        None => "idle",
    };
    let first = thread.messages().iter().find(|message| message.role() == Role::User);
    let first = first
        .map(|message| one_line(&message.text(), TITLE))
        .unwrap_or_default();
    Row {
        messages: view.len(),
        state,
        first,
        info,
    }
}

/// An agent that never asks a model: forks and deletions are an agent's business, for it knows which threads are in use.
///
/// # Errors
/// None that can be expected.
pub(super) fn librarian(store: Arc<dyn Checkpointer>) -> Result<Agent> {
    Ok(Agent::builder(ScriptedModel::new("scripted:none", []))
        .name("librarian")
        .store(store)
        .build()?)
}

/// Copies a thread up to a message.
///
/// # Errors
/// If there is no such message.
pub(super) async fn fork(agent: &Agent, id: &ThreadId, at: Option<&str>) -> Result<ThreadId> {
    let thread = threads::read(agent.store().as_ref(), id).await?;
    let at = message(&thread, at)?;
    Ok(agent.fork(id, &at).await?)
}

fn message(thread: &Thread, named: Option<&str>) -> Result<MessageId> {
    let ids = || thread.messages().iter().map(|message| message.id());
    let Some(named) = named else {
        return ids()
            .next_back()
            .cloned()
            .ok_or_else(|| CliError::Usage(format!("thread `{}` has no message yet", thread.id())));
    };
    if let Some(id) = ids().find(|id| id.as_str() == named) {
        return Ok(id.clone());
    }
    let fitting: Vec<_> = ids()
        .filter(|id| named.len() >= 4 && (id.as_str().starts_with(named) || id.as_str().ends_with(named)))
        .collect();
    match fitting[..] {
        [id] => Ok(id.clone()),
        [] => Err(CliError::Usage(format!(
            "thread `{}` has no message `{named}`; `catena threads show {} --record` shows their ids",
            thread.id(),
            thread.id()
        ))),
        _ => Err(CliError::Usage(format!(
            "`{named}` could be several messages; give more of the id"
        ))),
    }
}

async fn export(app: &App, store: &dyn Checkpointer, id: &ThreadId, file: Option<&Path>) -> Result<()> {
    let mut text = String::new();
    for entry in store.load(id, 0).await? {
        let line = serde_json::to_string(&*entry)
            .map_err(|error| CliError::Internal(format!("an entry cannot be written: {error}")))?;
        text.push_str(&line);
        text.push('\n');
    }
    match file {
        None => app.output.answer(&text),
        Some(file) => {
            tokio::fs::write(file, text)
                .await
                .map_err(CliError::file("write", file))?;
            app.output.hint(&format!("thread {id} written to {}", file.display()));
            Ok(())
        }
    }
}

async fn delete(app: &App, store: Arc<dyn Checkpointer>, names: Vec<String>, yes: bool) -> Result<()> {
    let mut ids = Vec::new();
    for name in &names {
        ids.push(threads::find(store.as_ref(), name).await?);
    }
    if !yes {
        if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
            return Err(CliError::Usage(
                "nobody is here to confirm; add `--yes` to delete".into(),
            ));
        }
        if !confirmed(app, &ids) {
            return Err(CliError::Usage("nothing was deleted".into()));
        }
    }
    let agent = librarian(store)?;
    for id in ids {
        agent.delete_thread(&id).await?;
        app.output.hint(&format!("deleted {id}"));
    }
    Ok(())
}

fn confirmed(app: &App, ids: &[ThreadId]) -> bool {
    let names: Vec<_> = ids.iter().map(ThreadId::as_str).collect();
    app.output
        .note(&format!("Delete {} for ever? [y/N] ", names.join(", ")));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn ages_are_told_as_people_tell_them() {
        let at = |seconds: i64| Timestamp::from_second(1_790_000_000 - seconds).unwrap_or_default();
        let ages = [0, 59, 61, 7_200, 200_000, 9_000_000].map(|seconds| age(at(0), at(seconds)));
        assert_eq!(
            ages,
            ["just now", "just now", "1 min ago", "2 h ago", "2 d ago", "2026-06-09"]
        );
    }
}
