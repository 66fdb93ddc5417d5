//! Commands within a conversation.

use std::path::PathBuf;

use crate::output::Paint;

/// What begins with `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    New,
    Thread(Option<String>),
    Threads,
    Fork,
    Undo,
    Answer,
    File(PathBuf),
    Chain,
    Tools,
    Model,
    Verbose,
    Quit,
}

/// Names, what follows them, what they do. The parser and the help are made from it; an alias has no help.
const COMMANDS: [(&str, &str, &str); 15] = [
    ("help", "", "show this"),
    ("new", "", "begin a new thread"),
    ("thread", "[ID]", "show the thread's id, or go to another"),
    ("threads", "", "list the threads used last"),
    ("fork", "", "go on in a copy of the thread"),
    ("undo", "", "take your last message and what followed back"),
    ("answer", "", "answer questions that were left open"),
    ("file", "PATH", "attach a file to your next message"),
    ("chain", "", "show the agent's chain"),
    ("tools", "", "list the agent's tools"),
    ("model", "", "show the model's name"),
    ("verbose", "", "show or hide middleware and tokens"),
    ("quit", "", "leave; Ctrl-D does the same"),
    ("exit", "", ""),
    ("q", "", ""),
];

/// The names, with the slash, for completion.
pub(super) fn names() -> impl Iterator<Item = String> {
    COMMANDS
        .iter()
        .filter(|(_, _, help)| !help.is_empty())
        .map(|(name, _, _)| format!("/{name}"))
}

/// Reads a line; none if it is a message.
///
/// # Errors
/// What is wrong with a line that is meant as a command.
pub(super) fn parse(line: &str) -> Result<Option<Slash>, String> {
    let Some(rest) = line.trim().strip_prefix('/') else {
        return Ok(None);
    };
    let (name, argument) = rest
        .split_once(char::is_whitespace)
        .map_or((rest, ""), |(name, rest)| (name, rest.trim()));
    // A path, a doubled slash and a comment are no commands.
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphabetic()) {
        return Ok(None);
    }
    let Some((name, takes, _)) = COMMANDS.iter().find(|(known, _, _)| *known == name) else {
        return Err(format!(
            "there is no command `/{name}`{}; `/help` lists them",
            nearest(name)
        ));
    };
    if takes.is_empty() && !argument.is_empty() {
        return Err(format!("`/{name}` takes nothing after it"));
    }
    Ok(Some(match *name {
        "help" => Slash::Help,
        "new" => Slash::New,
        "thread" => Slash::Thread(Some(argument.to_owned()).filter(|id| !id.is_empty())),
        "threads" => Slash::Threads,
        "fork" => Slash::Fork,
        "undo" => Slash::Undo,
        "answer" => Slash::Answer,
        "file" if argument.is_empty() => return Err("`/file` needs a path".into()),
        "file" => Slash::File(unquoted(argument).into()),
        "chain" => Slash::Chain,
        "tools" => Slash::Tools,
        "model" => Slash::Model,
        "verbose" => Slash::Verbose,
        _ => Slash::Quit,
    }))
}

/// A message that begins with a slash is written with two.
pub(super) fn unescaped(line: &str) -> &str {
    line.strip_prefix('/')
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(line)
}

/// The list of commands.
pub(super) fn help(paint: Paint) -> String {
    let mut text = String::new();
    for (name, takes, help) in COMMANDS.iter().filter(|(_, _, help)| !help.is_empty()) {
        let call = format!("/{name} {takes}");
        text.push_str(&format!("  {} {}\n", paint.cyan(&format!("{call:15}")), help));
    }
    text.push_str(&paint.dim(
        "  Enter sends; Alt-Enter or a \\ at the end of a line goes on to the next. Pasted lines stay together.\n  Ctrl-C cancels an answer and keeps the conversation. Ctrl-R searches what you typed before.\n",
    ));
    text
}

fn unquoted(path: &str) -> &str {
    let inner = |quote: char| path.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(path)
}

/// The command whose name is most like it.
fn nearest(name: &str) -> String {
    /// Letters that may be wrong; more would be a guess.
    const SLIPS: usize = 2;
    COMMANDS
        .iter()
        .filter(|(_, _, help)| !help.is_empty())
        .map(|(known, _, _)| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(slips, known)| *slips <= SLIPS.min(known.len() / 2))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, known)| format!(", did you mean `/{known}`?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_begin_with_a_slash_are_commands() {
        assert_eq!(parse("/new"), Ok(Some(Slash::New)));
        assert_eq!(parse("  /thread abc "), Ok(Some(Slash::Thread(Some("abc".into())))));
        assert_eq!(
            parse("/file \"my notes.txt\""),
            Ok(Some(Slash::File("my notes.txt".into())))
        );
        assert_eq!(parse("/exit"), Ok(Some(Slash::Quit)));
    }

    #[test]
    fn paths_and_doubled_slashes_are_messages() {
        assert_eq!(parse("/etc/hosts is what?"), Ok(None));
        assert_eq!(parse("//help"), Ok(None));
        assert_eq!(unescaped("//help"), "/help");
        assert_eq!(unescaped("/etc/hosts"), "/etc/hosts");
    }

    #[test]
    fn an_unknown_command_is_answered_with_a_near_one() {
        assert!(parse("/thred").is_err_and(|text| text.contains("`/thread`")));
        assert!(parse("/new one").is_err());
        assert!(parse("/file").is_err());
    }

    #[test]
    fn every_command_with_help_is_understood() {
        for (name, takes, _) in COMMANDS {
            let line = format!("/{name} {}", if takes.is_empty() { "" } else { "x" });
            assert!(matches!(parse(&line), Ok(Some(_))), "{line}");
        }
    }
}
