//! What identifies a process, and whether it is gone.

use std::fs;
use std::io;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// A process, so that no other can be taken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pid: u32,
    /// For people only: hosts may share a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// What is needed to tell a live process from a dead one. Known on Linux only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    linux: Option<Linux>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Linux {
    /// Random at each start of the machine.
    boot: String,
    /// The namespace that `pid` counts in: containers number their processes by themselves.
    namespace: String,
    /// The user. Processes of others may be hidden.
    user: u32,
    /// When the process began, in clock ticks since the machine started: ids of processes are used again.
    started: u64,
}

impl Process {
    /// This process.
    pub(super) fn current() -> &'static Self {
        static CURRENT: OnceLock<Process> = OnceLock::new();
        CURRENT.get_or_init(|| Self {
            pid: std::process::id(),
            host: fs::read_to_string("/proc/sys/kernel/hostname")
                .ok()
                .map(|name| name.trim().to_owned()),
            linux: Linux::current(),
        })
    }

    /// Whether it is proved that the process is gone.
    pub(super) fn is_dead(&self) -> bool {
        let (Some(it), Some(me)) = (&self.linux, &Self::current().linux) else {
            return false;
        };
        if (&it.boot, &it.namespace, it.user) != (&me.boot, &me.namespace, me.user) {
            return false;
        }
        // A few bytes that the kernel makes up in memory: no disk is waited for.
        match fs::read_to_string(format!("/proc/{}/stat", self.pid)) {
            Ok(text) => Stat::parse(&text).is_some_and(|stat| stat.started != it.started || stat.is_zombie()),
            Err(error) => error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS),
        }
    }
}

/// `ESRCH`: the process went away between the opening of its file and the reading.
const NO_SUCH_PROCESS: i32 = 3;

impl Linux {
    #[cfg(target_os = "linux")]
    fn current() -> Option<Self> {
        use std::os::unix::fs::MetadataExt;

        Some(Self {
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id")
                .ok()?
                .trim()
                .to_owned(),
            namespace: fs::read_link("/proc/self/ns/pid").ok()?.to_str()?.to_owned(),
            user: fs::metadata("/proc/self").ok()?.uid(),
            started: Stat::parse(&fs::read_to_string("/proc/self/stat").ok()?)?.started,
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn current() -> Option<Self> {
        None
    }
}

/// What the kernel tells about a process.
struct Stat {
    state: char,
    threads: u64,
    started: u64,
}

impl Stat {
    /// Fields are counted from behind the name, which is in parentheses and may hold anything.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let threads = fields.nth(16)?.parse().ok()?;
        let started = fields.nth(1)?.parse().ok()?;
        Some(Self {
            state,
            threads,
            started,
        })
    }

    /// Ended, and only waiting for its parent to notice. A main thread may end before the others; those still work.
    fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X') && self.threads <= 1
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn changed(change: impl FnOnce(&mut Process, &mut Linux)) -> Process {
        let mut process = Process::current().clone();
        let mut linux = process.linux.clone().unwrap();
        change(&mut process, &mut linux);
        Process {
            linux: Some(linux),
            ..process
        }
    }

    #[test]
    fn a_running_process_is_not_dead() {
        assert!(!Process::current().is_dead());
    }

    #[test]
    fn a_process_whose_id_is_used_by_a_later_one_is_dead() {
        assert!(changed(|_, linux| linux.started -= 1).is_dead());
    }

    #[test]
    fn a_process_without_an_entry_is_dead() {
        // Above the greatest id that Linux gives out.
        assert!(changed(|process, _| process.pid = 1 << 30).is_dead());
    }

    #[test]
    fn a_process_that_was_killed_and_not_collected_is_dead() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let stat = || Stat::parse(&fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap()).unwrap();
        let process = changed(|process, linux| {
            process.pid = child.id();
            linux.started = stat().started;
        });
        assert!(!process.is_dead());
        child.kill().unwrap();
        while !process.is_dead() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(process.is_dead());
    }

    #[test]
    fn nothing_is_said_about_processes_of_other_machines_containers_and_users() {
        let gone = |linux: &mut Linux, process: &mut Process| {
            linux.started -= 1;
            process.pid = 1 << 30;
        };
        assert!(
            !changed(|process, linux| {
                gone(linux, process);
                linux.boot.push('0')
            })
            .is_dead()
        );
        assert!(
            !changed(|process, linux| {
                gone(linux, process);
                linux.namespace.push('0')
            })
            .is_dead()
        );
        assert!(
            !changed(|process, linux| {
                gone(linux, process);
                linux.user += 1
            })
            .is_dead()
        );
        assert!(
            !Process {
                linux: None,
                ..Process::current().clone()
            }
            .is_dead()
        );
    }

    #[test]
    fn the_name_of_a_process_may_hold_anything() {
        let stat = Stat::parse("7 (a) b (c) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 18 4242 20").unwrap();
        assert_eq!((stat.state, stat.threads, stat.started), ('Z', 1, 4242));
        assert!(stat.is_zombie());
        assert!(Stat::parse("7 (short) S 1 2").is_none());
    }
}
