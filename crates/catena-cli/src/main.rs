//! The command `catena`: conversations, single runs, and everything around them at a terminal.
//!
//! `app` is the way from the arguments to an exit code; each command is one file under `command`. Answers go to standard output, everything
//! else to standard error.

mod answers;
mod app;
mod args;
mod ask;
mod attach;
mod command;
mod drive;
mod environment;
mod error;
mod output;
mod render;
mod script;
mod session;
mod stdin;
mod threads;

fn main() -> std::process::ExitCode {
    app::main()
}
