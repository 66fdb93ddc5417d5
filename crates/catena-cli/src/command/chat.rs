//! `catena chat`: a conversation.
//!
//! A line is a message, or a command that begins with `/`. While a run goes on, Ctrl-C cancels it and the conversation stays; at an empty
//! prompt, Ctrl-C twice or Ctrl-D leaves. What a run asks is asked here. Without a terminal, lines come from standard input and answers go to
//! standard output, so a conversation can be scripted.

mod slash;

use std::path::Path;

use catena_core::agent::OnInterrupt;
use catena_core::id::ThreadId;
use catena_core::interrupt::Pause;
use catena_core::message::{Message, Part, Role};
use catena_core::{Input, Outcome, Resume, RunHandle};

use crate::app::{App, explain};
use crate::args;
use crate::ask::{self, Line, Lines};
use crate::attach;
use crate::drive::{self, Watch};
use crate::error::{CliError, Exit, Result};
use crate::output::Modes;
use crate::render::clean;
use crate::session::Session;
use crate::threads;
use slash::Slash;

/// Has it.
///
/// # Errors
/// If it cannot begin; what goes wrong within it is said and the conversation goes on.
pub(crate) async fn chat(app: &App, args: args::Chat) -> Result<Exit> {
    if args.files.iter().any(|file| file == Path::new("-")) {
        return Err(CliError::Usage(
            "in a conversation, standard input is for messages; attach a file by its name".into(),
        ));
    }
    let files = attach::attach_all(&args.files).await?;
    let session = Session::open_for(app, &args.choice, args.thread.as_deref()).await?;
    session.warn_unseen(app, &files);
    let thread = match &args.thread {
        Some(name) => Some(threads::find_or_new(session.store().as_ref(), name).await?),
        None => None,
    };
    let lines = Lines::new(app, app.data_dir()?, slash::names().collect())?;
    let mut chat = Chat {
        app,
        session,
        thread,
        files,
        lines,
        open: Vec::new(),
        verbose: app.global.verbose,
    };
    chat.greet();
    // The line editor cannot be called off: if the process is asked to end, the terminal must not stay as the editor has it.
    let modes = chat.lines.is_terminal().then(Modes::keep);
    let ended = tokio::select! {
        ended = chat.converse() => ended,
        () = drive::terminated() => {
            // The prompt stands on the line.
            app.output.note("\n");
            Err(catena_core::Error::Cancelled.into())
        }
    };
    drop(modes);
    chat.lines.close();
    if let (Ok(_), Some(thread), true) = (&ended, &chat.thread, chat.lines.is_terminal()) {
        app.output.hint(&format!(
            "`catena chat --thread {thread}` goes on with this conversation"
        ));
    }
    chat.session.close().await;
    ended
}

/// A conversation under way.
struct Chat<'a> {
    app: &'a App,
    session: Session,
    /// The thread; none before the first message.
    thread: Option<ThreadId>,
    /// Files for the next message.
    files: Vec<Part>,
    lines: Lines,
    /// Questions that were left open.
    open: Vec<Pause>,
    verbose: u8,
}

impl Chat<'_> {
    fn greet(&self) {
        if !self.lines.is_terminal() {
            return;
        }
        let (output, agent) = (&self.app.output, &self.session.agent);
        let name = output.paint.bold("catena");
        output.note_line(&format!(
            "{name} · {} · {}",
            clean(agent.name()),
            clean(agent.model().name())
        ));
        output.hint("/help shows what can be done; Ctrl-C cancels an answer, Ctrl-D leaves");
    }

    async fn converse(&mut self) -> Result<Exit> {
        self.pick_up().await?;
        let mut warned = false;
        loop {
            let line = self.lines.message(!self.open.is_empty()).await?;
            match line {
                Line::End => break,
                Line::Interrupted if warned => break,
                Line::Interrupted => {
                    warned = true;
                    self.app.output.hint("Ctrl-C again leaves");
                    continue;
                }
                Line::Text(text) => {
                    warned = false;
                    match slash::parse(&text) {
                        Err(problem) => self.app.output.note_line(&self.app.output.paint.yellow(&problem)),
                        Ok(Some(Slash::Quit)) => break,
                        Ok(Some(command)) => self.obey(command).await?,
                        Ok(None) if text.trim().is_empty() && self.files.is_empty() => {}
                        Ok(None) => self.say(slash::unescaped(&text)).await?,
                    }
                }
            }
        }
        // A script should know that its last question was not answered.
        Ok(if self.open.is_empty() || self.lines.is_terminal() {
            Exit::Done
        } else {
            Exit::Interrupted
        })
    }

    /// What an earlier process left on the thread: questions, or a run that was cut off.
    async fn pick_up(&mut self) -> Result<()> {
        let Some(id) = self.thread.clone() else { return Ok(()) };
        let Ok(thread) = threads::read(self.session.store().as_ref(), &id).await else {
            return Ok(());
        };
        let Some(run) = thread.run().filter(|run| run.outcome().is_none()) else {
            return Ok(());
        };
        let pauses: Vec<Pause> = run.pauses().cloned().collect();
        if !pauses.is_empty() {
            return self.ask(&id, pauses).await;
        }
        self.app.output.hint("a run on this thread was cut off; it goes on now");
        let resume = Resume::thread(id.clone()).principal(self.session.principal.clone());
        self.watch(self.session.agent.start(resume), &id).await
    }

    /// Sends a message.
    async fn say(&mut self, text: &str) -> Result<()> {
        let files = std::mem::take(&mut self.files);
        let thread = self.thread.clone().unwrap_or_else(ThreadId::fresh);
        // A new message instead of an answer drops the questions: the person was told.
        let on_interrupt = if self.open.is_empty() {
            OnInterrupt::Reject
        } else {
            OnInterrupt::Cancel
        };
        let input = Input::messages(vec![attach::message(text, files)])
            .thread(thread.clone())
            .principal(self.session.principal.clone())
            .on_interrupt(on_interrupt);
        self.thread = Some(thread.clone());
        self.open.clear();
        self.watch(self.session.agent.start(input), &thread).await
    }

    /// Watches a run, and asks what it asks, until it is over. What goes wrong is said; only what ends the conversation is an error.
    async fn watch(&mut self, handle: RunHandle, thread: &ThreadId) -> Result<()> {
        let output = &self.app.output;
        let watch = Watch::fitting(output, false);
        let unechoed = self.lines.is_terminal().then(Modes::without_echo);
        let watched = drive::watch(handle, output, watch, self.verbose).await;
        drop(unechoed);
        let watched = match watched {
            Ok(watched) => watched,
            // It is cancelled all the same, and ends behind the prompt.
            Err(CliError::Core(catena_core::Error::Cancelled)) if self.lines.is_terminal() => return Ok(()),
            Err(error) => return Err(error),
        };
        let pauses = match &watched.result {
            Ok(result) => result.pauses().to_vec(),
            Err(_) => Vec::new(),
        };
        let (usage, took) = (watched.usage, watched.took);
        let done =
            matches!(&watched.result, Ok(result) if matches!(result.outcome, Outcome::Done | Outcome::Stopped { .. }));
        match drive::conclude(output, watch, watched) {
            Ok(_) => {}
            Err(CliError::Closed) => return Err(CliError::Closed),
            Err(error) => explain(output, &error),
        }
        let cost = drive::cost(usage, took);
        if done && self.lines.is_terminal() && !cost.is_empty() {
            output.hint(&cost);
        }
        if pauses.is_empty() {
            Ok(())
        } else {
            self.ask(thread, pauses).await
        }
    }

    /// Asks a person, and resumes with the answers.
    async fn ask(&mut self, thread: &ThreadId, pauses: Vec<Pause>) -> Result<()> {
        let Some(answers) = ask::decide(&self.app.output, &mut self.lines, &pauses).await? else {
            self.app
                .output
                .hint("left open: /answer asks again, a new message drops the question");
            self.open = pauses;
            return Ok(());
        };
        self.open.clear();
        let resume = Resume::thread(thread.clone()).principal(self.session.principal.clone());
        let resume = answers
            .into_iter()
            .fold(resume, |resume, answer| resume.answer(answer.pause, answer.decision));
        Box::pin(self.watch(self.session.agent.start(resume), thread)).await
    }

    /// Does what a slash command says. What goes wrong is said.
    async fn obey(&mut self, command: Slash) -> Result<()> {
        match self.try_to(command).await {
            Err(CliError::Closed) => Err(CliError::Closed),
            Err(error) => {
                explain(&self.app.output, &error);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    async fn try_to(&mut self, command: Slash) -> Result<()> {
        let output = &self.app.output;
        match command {
            Slash::Help => output.note(&slash::help(output.paint)),
            Slash::New => {
                self.thread = None;
                self.open.clear();
                output.hint("a new thread begins with your next message");
            }
            Slash::Thread(None) => match &self.thread {
                Some(thread) => output.note_line(thread.as_str()),
                None => output.hint("no thread yet; it begins with your first message"),
            },
            Slash::Thread(Some(name)) => {
                let thread = threads::find_or_new(self.session.store().as_ref(), &name).await?;
                output.hint(&format!("now on thread {thread}"));
                self.thread = Some(thread);
                self.open.clear();
                self.pick_up().await?;
            }
            Slash::Threads => super::threads::brief(self.app, self.session.store().as_ref()).await?,
            Slash::Fork => {
                let thread = super::threads::fork(&self.session.agent, &self.begun()?, None).await?;
                output.hint(&format!("now on {thread}, a copy"));
                self.thread = Some(thread);
                self.open.clear();
            }
            Slash::Undo => self.undo().await?,
            Slash::Answer => {
                let (thread, open) = (self.begun()?, std::mem::take(&mut self.open));
                match open.is_empty() {
                    true => output.hint("no question is open"),
                    false => self.ask(&thread, open).await?,
                }
            }
            Slash::File(path) => {
                self.files.push(attach::attach(path.as_ref()).await?);
                self.session.warn_unseen(
                    self.app,
                    self.files.last().map(std::slice::from_ref).unwrap_or_default(),
                );
                output.hint(&format!("attached to your next message ({} in all)", self.files.len()));
            }
            Slash::Chain => output.note(&super::chain::render(&self.session.report)),
            Slash::Tools => self.tools(),
            Slash::Model => output.note_line(&clean(self.session.agent.model().name())),
            Slash::Verbose => {
                self.verbose = u8::from(self.verbose == 0);
                output.hint(if self.verbose > 0 {
                    "middleware and tokens are shown"
                } else {
                    "middleware and tokens are hidden"
                });
            }
            Slash::Quit => {}
        }
        Ok(())
    }

    fn begun(&self) -> Result<ThreadId> {
        self.thread
            .clone()
            .ok_or_else(|| CliError::Usage("there is no conversation yet".into()))
    }

    /// Takes the last question and everything after it back.
    async fn undo(&mut self) -> Result<()> {
        let id = self.begun()?;
        let thread = threads::read(self.session.store().as_ref(), &id).await?;
        let view = thread.view();
        let asked =
            |message: &&std::sync::Arc<Message>| message.role() == Role::User && !thread.is_superseded(message.id());
        let last = view
            .iter()
            .rev()
            .find(asked)
            .ok_or_else(|| CliError::Usage("there is nothing to take back".into()))?;
        self.session.agent.rewind(&id, last.id()).await?;
        self.app
            .output
            .hint(&format!("taken back: {}", clean::one_line(&last.text(), 60)));
        Ok(())
    }

    fn tools(&self) {
        let output = &self.app.output;
        let tools = self.session.agent.tools();
        if tools.is_empty() {
            output.hint("the agent has no tools of its own; middlewares may add some");
        }
        for tool in tools {
            let spec = tool.spec();
            output.note_line(&format!(
                "{} {}",
                output.paint.cyan(&clean(&spec.name)),
                output.paint.dim(&clean::one_line(&spec.description, 80))
            ));
        }
    }
}
