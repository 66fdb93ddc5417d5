//! The commands, one file each.

mod chain;
mod chat;
mod check;
mod local;
mod resume;
mod run;
mod schema;
mod threads;
mod tour;

use crate::app::App;
use crate::args::Command;
use crate::error::{Exit, Result};

/// Does what was asked.
///
/// # Errors
/// Why it cannot be done.
pub(crate) async fn dispatch(app: &App, command: Command) -> Result<Exit> {
    match command {
        Command::Chat(chat) => chat::chat(app, chat).await,
        Command::Run(run) => run::run(app, run).await,
        Command::Resume(resume) => resume::resume(app, resume).await,
        Command::Chain(chain) => chain::chain(app, &chain).await,
        Command::Check(check) => check::check(app, &check).await,
        Command::Schema => schema::schema(app),
        Command::Threads(threads) => threads::threads(app, threads).await,
        Command::Local(local) => local::local(app, local).await,
        Command::Tour(tour) => tour::tour(app, tour).await,
    }
}
