//! Running cargo and the programs it built.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use crate::error::{Doing, Error, Result};

/// How much of a program's output is forwarded at once, in bytes.
const CHUNK: usize = 8 * 1024;

/// What a program said and how it ended.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    /// Standard output, without colours.
    pub(crate) out: String,
    /// Standard error, without colours.
    pub(crate) err: String,
}

/// `cargo`, the one that runs us, in the workspace's root.
pub(crate) fn cargo(root: &Path) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo tells its children which cargo runs them; xtask has no configuration to read it from"
    )]
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

/// Runs a command whose output is only for us.
///
/// # Errors
/// If it cannot be started or fails; the text holds what it wrote on standard error.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command.output().doing(format_args!("cannot start `{shown}`"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Error::new(format!(
            "`{shown}` failed ({}): {}",
            output.status,
            said.trim()
        )))
    }
}

/// Runs a command in sight of the person: both outputs are forwarded as they come, and kept.
///
/// # Errors
/// If it cannot be started. A command that fails is not an error here: look at `status`.
pub(crate) fn tee(command: &mut Command) -> Result<Finished> {
    println!("$ {}", show(command));
    watch(command)
}

/// As [`tee`], with standard output kept but not shown.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn capture(command: &mut Command) -> Result<Finished> {
    let shown = show(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .doing(format_args!("cannot start `{shown}`"))?;
    Ok(Finished {
        status: output.status,
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::new(),
    })
}

fn watch(command: &mut Command) -> Result<Finished> {
    let shown = show(command);
    let mut child: Child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .doing(format_args!("cannot start `{shown}`"))?;
    let out = child.stdout.take();
    let err = child.stderr.take();
    // Two pipes need two readers: a program that fills one while we wait for the other would hang.
    let (out, err) = thread::scope(|scope| {
        let out = scope.spawn(move || forward(out, &mut io::stdout()));
        let err = scope.spawn(move || forward(err, &mut io::stderr()));
        (out.join().unwrap_or_default(), err.join().unwrap_or_default())
    });
    let status = child.wait().doing(format_args!("cannot wait for `{shown}`"))?;
    Ok(Finished {
        status,
        out: without_colours(&out),
        err: without_colours(&err),
    })
}

/// Copies until the program closes its end. A closed terminal does not stop the copy: the totals are still wanted.
fn forward(from: Option<impl Read>, to: &mut impl Write) -> String {
    let Some(mut from) = from else {
        return String::new();
    };
    let mut kept = Vec::new();
    let mut chunk = vec![0; CHUNK];
    while let Ok(length) = from.read(&mut chunk) {
        let Some(bytes) = chunk.get(..length).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        let _ = to.write_all(bytes).and_then(|()| to.flush());
        kept.extend_from_slice(bytes);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// The text without ANSI escape sequences, which a forced colour setting puts between the words we look for.
pub(crate) fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(letter);
        }
    }
    plain
}

fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn colours_are_taken_out_and_everything_else_stays() {
        assert_eq!(
            without_colours("\u{1b}[32;1m   Summary\u{1b}[0m 3 tests"),
            "   Summary 3 tests"
        );
        assert_eq!(without_colours("plain → text"), "plain → text");
    }

    #[test]
    fn what_is_forwarded_is_also_kept_whatever_its_length() {
        let text = "line\n".repeat(CHUNK);
        let mut shown = Vec::new();
        assert_eq!(forward(Some(text.as_bytes()), &mut shown), text);
        assert_eq!(shown, text.as_bytes());
    }

    #[test]
    fn a_failed_read_says_which_command_failed() {
        let error = read(cargo(Path::new(".")).arg("--no-such-flag")).unwrap_err();
        assert!(error.to_string().starts_with("`cargo --no-such-flag`"), "{error}");
    }
}
