//! From the arguments to an exit code.
//!
//! Every way out of the command passes here: the message of an error, the code, what is left running. Nothing below calls `exit`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use catena_core::chain_text;
use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command, Global};
use crate::command;
use crate::environment::Environment;
use crate::error::{CliError, Exit, Result};
use crate::output::Output;
use crate::render::clean;

/// How long work in the background may take after the last word. A line editor that waits for a key never ends.
const GOODBYE: Duration = Duration::from_millis(300);

/// What every command is given.
pub(crate) struct App {
    pub(crate) global: Global,
    pub(crate) environment: Environment,
    pub(crate) output: Output,
}

/// The whole command.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help goes to standard output, which may be closed: no reason to complain.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() {
                Exit::Usage.code()
            } else {
                Exit::Done.code()
            });
        }
    };
    let environment = Environment::of_process();
    let output = Output::new(&environment);
    let output = if cli.global.verbose > 0 { output.calm() } else { output };
    hide_panics();
    log(cli.global.verbose);
    let app = App {
        global: cli.global,
        environment,
        output,
    };
    let ended = catch_unwind(AssertUnwindSafe(|| work(&app, cli.command)));
    let ended = ended.unwrap_or_else(|_| Err(CliError::Internal("catena failed unexpectedly".into())));
    ExitCode::from(match ended {
        Ok(exit) => exit.code(),
        Err(error) => {
            explain(&output, &error);
            error.exit().code()
        }
    })
}

fn work(app: &App, command: Command) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::Internal(format!("the runtime cannot be started: {error}")))?;
    let ended = runtime.block_on(Box::pin(command::dispatch(app, command)));
    runtime.shutdown_timeout(GOODBYE);
    ended
}

/// One clear message, and what to do.
pub(crate) fn explain(output: &Output, error: &CliError) {
    if let CliError::Closed = error {
        return;
    }
    let paint = output.paint;
    if let CliError::Config(_) = error {
        // Every problem says by itself that it is one, and where.
        return output.note_line(&clean(&error.to_string()));
    }
    output.note_line(&format!("{} {}", paint.red("error:"), clean(&chain_text(error))));
    if let Some(hint) = error.hint() {
        output.note_line(&format!("{} {hint}", paint.yellow("hint:")));
    }
}

/// A panic is a bug, and its raw text helps nobody who uses the command: it goes to the log, which `-v` shows.
fn hide_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
}

/// Logs of catena's own crates on standard error; those of libraries might show what passes through them.
fn log(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let crates = [
        "catena",
        "catena_core",
        "catena_config",
        "catena_models",
        "catena_store",
    ];
    let directives: Vec<String> = crates.iter().map(|name| format!("{name}={level}")).collect();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(directives.join(",")))
        .with_writer(std::io::stderr)
        .without_time()
        .finish();
    // Only the first one counts, and there is no other.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
