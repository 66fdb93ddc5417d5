//! What no committed text may hold: paths of somebody's machine and hosts of package registries, because both are true in one place only.
//!
//! The folders of a person (a home, this checkout, cargo's store) are looked for in every text file; `CATENA_TIDY_FORBID` adds more
//! words, separated by commas. Other people's homes are looked for outside of tests, which need such paths to show what is refused; a line
//! of the product that needs one says `tidy: path` and why.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command;
use crate::error::Result;
use crate::workspace::{files_under, relative};

/// Where people live, on the usual systems.
const HOMES: [&str; 3] = ["/home/", "/Users/", "/root/"];

/// Registry hosts, in two parts each: this file is committed, too.
const HOSTS: [[&str; 2]; 4] = [
    ["crates", "io"],
    ["npmjs", "org"],
    ["pypi", "org"],
    ["proxy.golang", "org"],
];

/// Written by package managers, hosts and all.
const LOCK_FILES: [&str; 4] = ["Cargo.lock", "package-lock.json", "pnpm-lock.yaml", "yarn.lock"];

/// The problems of all committed text files.
///
/// # Errors
/// If the files cannot be listed.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let forbidden = forbidden(root);
    let mut problems = Vec::new();
    for path in committed(root)? {
        let shown = relative(root, &path);
        let is_lock = LOCK_FILES.iter().any(|lock| path.ends_with(lock));
        // A file may be listed and already removed, or be a link to nothing.
        let Ok(bytes) = fs::read(&path) else { continue };
        if is_lock || bytes.contains(&0) {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        problems.extend(text_problems(&shown, &text, &forbidden));
    }
    Ok(problems)
}

fn text_problems(shown: &str, text: &str, forbidden: &[String]) -> Vec<String> {
    let is_test = shown.contains("tests/") || shown.ends_with("tests.rs") || shown.contains("fixtures/");
    let is_markdown = shown.ends_with(".md");
    let mut in_tests = is_test;
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        // Inline tests end their file, by custom.
        in_tests |= line.trim() == "#[cfg(test)]";
        let mut problem = |what: String| problems.push(format!("{shown}:{number}: {what}"));
        if let Some(word) = forbidden.iter().find(|word| line.contains(word.as_str())) {
            problem(format!("`{word}` is of one machine only"));
        } else if let Some(home) = HOMES.iter().find(|home| starts_path(line, home))
            && !in_tests
            && !line.contains("tidy: path")
        {
            problem(format!("a path below `{home}` is of one machine only"));
        }
        if let Some([name, end]) = HOSTS.iter().find(|parts| line.contains(&parts.join("."))) {
            problem(format!(
                "names the registry host `{name}.{end}`; the default needs no name"
            ));
        }
        if is_markdown && super::manners::is_ignored_fence(line) {
            problem("an ignored example proves nothing: let it run, or make it text".into());
        }
    }
    problems
}

/// Whether `line` holds a path that starts with `home`, and not `home` inside a longer path or address.
fn starts_path(line: &str, home: &str) -> bool {
    line.match_indices(home).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + home.len()..).and_then(|text| text.chars().next());
        let is_start = before.is_none_or(|letter| !letter.is_alphanumeric() && !"._-~*}{/".contains(letter));
        is_start && after.is_some_and(char::is_alphanumeric)
    })
}

fn forbidden(root: &Path) -> Vec<String> {
    let mut words: Vec<String> = variable("CATENA_TIDY_FORBID")
        .split(',')
        .map(|word| word.trim().to_owned())
        .filter(|word| !word.is_empty())
        .collect();
    let folders = [
        root.to_owned(),
        PathBuf::from(variable("HOME")),
        PathBuf::from(variable("CARGO_HOME")),
    ];
    // A folder right below the system's root (`/root`, `/app`) is too common a word to be told from text.
    let folders = folders.iter().filter(|folder| folder.components().count() > 2);
    words.extend(folders.map(|folder| format!("{}/", folder.display())));
    words
}

fn committed(root: &Path) -> Result<Vec<PathBuf>> {
    let mut git = std::process::Command::new("git");
    git.current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    if let Ok(list) = command::read(&mut git) {
        let names = list.split('\0').filter(|name| !name.is_empty());
        return Ok(names.map(|name| root.join(name)).collect());
    }
    // Not a checkout: an unpacked archive holds what was committed, and what was built since.
    let mut files = files_under(root)?;
    files.retain(|file| !relative(root, file).starts_with("target/"));
    Ok(files)
}

#[expect(
    clippy::disallowed_methods,
    reason = "asks for the machine's own folders; xtask has no configuration"
)]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(shown: &str, text: &str) -> usize {
        text_problems(shown, text, &["/srv/me/".to_owned()]).len()
    }

    #[test]
    fn the_machines_own_folders_are_found_everywhere() {
        assert_eq!(problems("docs/a.md", "see /srv/me/x"), 1);
        assert_eq!(problems("crates/a/tests/it/a.rs", "\"/srv/me/x\""), 1);
    }

    #[test]
    fn homes_are_for_tests_and_for_lines_that_say_why() {
        assert_eq!(problems("src/a.rs", "let a = \"/home/ada/x\";"), 1);
        assert_eq!(
            problems("src/a.rs", "let a = \"/home/ada/x\"; // tidy: path of the sandbox"),
            0
        );
        assert_eq!(
            problems(
                "src/a.rs",
                "#[cfg(test)]\nmod tests { const A: &str = \"/home/ada/x\"; }"
            ),
            0
        );
        assert_eq!(
            problems("src/a.rs", "\"https://a.example/home/ada\" \"$X/home/ada\" \"/home/\""),
            0
        );
    }

    #[test]
    fn a_registry_host_is_found_and_an_ignored_fence_in_markdown() {
        assert_eq!(problems("README.md", &format!("see {}", HOSTS[0].join("."))), 1);
        assert_eq!(problems("README.md", "```rust,ignore\n```\n"), 1);
        assert_eq!(problems("README.md", "```rust\n```\n"), 0);
    }
}
