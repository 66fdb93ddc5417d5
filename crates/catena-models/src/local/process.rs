//! Processes that are not our children: whether one is still the one we mean, and how to end it.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

/// Limit of `ps` and `kill`.
const TOOL_LIMIT: Duration = Duration::from_secs(5);

/// How often an ending process is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A polite or a forced end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Signal {
    Term,
    Kill,
}

/// When the process started, in words that differ for two processes which get the same id one after the other. `None` if there is no such
/// process, or if it has ended and only its exit status is left.
pub(super) async fn started(pid: u32) -> Option<String> {
    if cfg!(target_os = "linux") {
        let stat = tokio::fs::read_to_string(format!("/proc/{pid}/stat")).await.ok()?;
        // Ticks count from the boot, so the boot is part of the name.
        let boot = tokio::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .await
            .unwrap_or_default();
        return Some(format!("{}+{}", boot.trim(), start_ticks(&stat)?));
    }
    let mut command = Command::new("ps");
    command
        .args(["-o", "stat=", "-o", "lstart=", "-p", &pid.to_string()])
        .env("LC_ALL", "C");
    let output = timeout(TOOL_LIMIT, command.stdin(Stdio::null()).kill_on_drop(true).output())
        .await
        .ok()?
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (state, start) = text.trim().split_once(char::is_whitespace)?;
    (!state.starts_with('Z')).then(|| start.trim().to_owned())
}

/// Field 22 of the kernel's line, unless field 3 says that the process is dead. The name in field 2 may hold anything, brackets and spaces too.
fn start_ticks(stat: &str) -> Option<&str> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)
}

/// Sends a signal. Through the shell, whose `kill` is built in: small systems have no program of that name. Whether it worked shows in
/// [`wait_gone`].
pub(super) async fn signal(pid: u32, signal: Signal) {
    let flag = match signal {
        Signal::Term => "-TERM",
        Signal::Kill => "-KILL",
    };
    let mut command = Command::new("sh");
    command.args(["-c", r#"kill "$1" "$2""#, "sh", flag, &pid.to_string()]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let _ = timeout(TOOL_LIMIT, command.status()).await;
}

/// Whether the process with this start has ended within the limit.
pub(super) async fn wait_gone(pid: u32, start: &str, limit: Duration) -> bool {
    let until = Instant::now() + limit;
    loop {
        if started(pid).await.as_deref() != Some(start) {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_start_is_found_behind_a_name_with_brackets() {
        let line = "42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21";
        assert_eq!(start_ticks(line), Some("777"));
        assert_eq!(start_ticks(&line.replace(") S", ") Z")), None);
    }

    #[tokio::test]
    async fn a_live_process_has_one_start_and_a_killed_one_has_none() {
        let mut child = Command::new("sleep").arg("60").kill_on_drop(true).spawn().unwrap();
        let pid = child.id().unwrap();
        let start = started(pid).await.unwrap();
        assert_eq!(started(pid).await.as_ref(), Some(&start));
        assert!(!wait_gone(pid, &start, Duration::ZERO).await);
        signal(pid, Signal::Term).await;
        // Not yet waited for: what is left of it must not pass for a live process.
        assert!(wait_gone(pid, &start, Duration::from_secs(60)).await);
        assert!(!child.wait().await.unwrap().success());
    }
}
