//! Runs a helper program to its end, line by line, within a limit.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::{LocalError, tail::Tail};

/// Bytes of one line that are looked at; a program that writes no line end costs no more than this.
const MAX_LINE: usize = 8 * 1024;

/// A program that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) status: ExitStatus,
    pub(super) stdout: Tail,
    pub(super) stderr: Tail,
}

impl Finished {
    /// What a person needs to see of it: what it complained about, or else what it said last.
    pub(super) fn tail(&self) -> &Tail {
        if self.stderr.is_empty() {
            &self.stdout
        } else {
            &self.stderr
        }
    }

    pub(super) fn tells_of_full_disk(&self) -> bool {
        self.stderr.tells_of_full_disk() || self.stdout.tells_of_full_disk()
    }
}

/// Runs `command`, which is killed if it outlives `limit` or if this future is dropped. `on_line` sees each line of its standard output; a
/// carriage return ends a line too, since bars are drawn with it.
pub(super) async fn run(
    mut command: Command,
    what: &'static str,
    limit: Duration,
    mut on_line: impl FnMut(&str) + Send,
) -> Result<Finished, LocalError> {
    let program = PathBuf::from(command.as_std().get_program());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(LocalError::io("run", &program))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (mut stdout, mut stderr) = (Tail::default(), Tail::default());
    let work = async {
        let read_out = each_line(out, |line| {
            on_line(line);
            stdout.push(line);
        });
        let read_err = each_line(err, |line| stderr.push(line));
        let (_, _, status) = tokio::join!(read_out, read_err, child.wait());
        status
    };
    match timeout(limit, work).await {
        Ok(status) => Ok(Finished {
            status: status.map_err(LocalError::io("wait for", &program))?,
            stdout,
            stderr,
        }),
        Err(_) => {
            let last = if stderr.is_empty() { stdout } else { stderr };
            let tail = if last.is_empty() {
                String::new()
            } else {
                format!("; its output ended with:\n{last}")
            };
            Err(LocalError::TimedOut { what, limit, tail })
        }
    }
}

/// Feeds the lines of a pipe to `on_line` until its end. A read error is an end too: the exit status tells the rest.
pub(super) async fn each_line(pipe: Option<impl AsyncRead + Unpin>, mut on_line: impl FnMut(&str)) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; MAX_LINE];
    let mut line = Vec::new();
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        for byte in buffer.iter().take(count) {
            match byte {
                b'\n' | b'\r' => {
                    on_line(&String::from_utf8_lossy(&line));
                    line.clear();
                }
                byte if line.len() < MAX_LINE => line.push(*byte),
                _ => {}
            }
        }
    }
    if !line.is_empty() {
        on_line(&String::from_utf8_lossy(&line));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn both_outputs_are_kept_apart_and_lines_end_at_either_return() {
        let mut seen = Vec::new();
        let run = run(
            shell(r"printf 'a\rb\nc'; echo bad >&2; exit 3"),
            "a test",
            Duration::from_secs(60),
            |line| seen.push(line.to_owned()),
        );
        let finished = run.await.unwrap();
        assert_eq!(seen, ["a", "b", "c"]);
        assert_eq!(
            (finished.status.code(), finished.tail().to_string()),
            (Some(3), "bad".to_owned())
        );
    }

    #[tokio::test]
    async fn a_program_that_outlives_its_limit_is_an_error_with_its_tail() {
        let mut spoke = false;
        let run = run(
            shell("echo working; exec sleep 60"),
            "a test",
            Duration::from_millis(300),
            |_| spoke = true,
        );
        let error = run.await.unwrap_err();
        assert_eq!(error.kind(), "timed_out");
        assert_eq!(error.to_string().contains("working"), spoke, "{error}");
    }
}
