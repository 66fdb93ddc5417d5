//! Whether what we use may be used: each dependency's licence expression against the list in `deny.toml`.
//!
//! cargo-deny does the same and more; this needs nothing but cargo. The list is read from its file, so there is only one.

use crate::error::{Error, Result};
use crate::workspace::{Workspace, read_text};

/// The problems of all dependencies.
///
/// # Errors
/// If `deny.toml` cannot be read or allows nothing.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let allowed = allowed(&read_text(&workspace.root.join("deny.toml"))?)?;
    let mut problems = Vec::new();
    for dependency in &workspace.dependencies {
        let name = &dependency.name;
        match &dependency.license {
            None => problems.push(format!("{name}: names no licence")),
            Some(expression) if is_allowed(expression, &allowed) => {}
            Some(expression) => problems.push(format!(
                "{name}: its licence `{expression}` is not on the list in deny.toml"
            )),
        }
    }
    println!(
        "licences   {} dependencies, {} licences allowed",
        workspace.dependencies.len(),
        allowed.len()
    );
    Ok(problems)
}

/// The strings of `allow = […]` in the table `[licenses]`. The rest of TOML is not needed, and so is no TOML crate.
fn allowed(deny: &str) -> Result<Vec<String>> {
    let table = deny
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[licenses]")
        .skip(1)
        .take_while(|line| !line.starts_with('['));
    let list: String = table
        .skip_while(|line| !line.starts_with("allow ") && !line.starts_with("allow="))
        .map(|line| line.split('#').next().unwrap_or_default())
        .collect();
    let list = list.split_once('[').map_or("", |(_, rest)| rest);
    let list = list.split_once(']').map_or("", |(list, _)| list);
    let names: Vec<String> = list
        .split(',')
        .map(|name| name.trim().trim_matches('"').to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    if names.is_empty() {
        return Err(Error::new("deny.toml has no list `allow` under [licenses]"));
    }
    Ok(names)
}

/// Whether an SPDX expression can be met with the allowed licences. `/` is the old way to write `OR`. What cannot be read is not allowed.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest, allowed) == Some(true) && rest.is_empty()
}

fn either(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut found = both(words, allowed)?;
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        found |= both(words, allowed)?;
    }
    Some(found)
}

fn both(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut found = term(words, allowed)?;
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        found &= term(words, allowed)?;
    }
    Some(found)
}

fn term(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let (name, rest) = match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let found = either(words, allowed);
            let [")", rest @ ..] = *words else {
                return None;
            };
            *words = rest;
            return found;
        }
        [name, "WITH", exception, rest @ ..] => (format!("{name} WITH {exception}"), rest),
        [name, rest @ ..] => ((*name).to_owned(), rest),
        [] => return None,
    };
    *words = rest;
    Some(allowed.contains(&name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn expressions_are_met_or_not() {
        let allowed = ["MIT".to_owned(), "ISC".to_owned()];
        for expression in [
            "MIT",
            "GPL-3.0 OR MIT",
            "Apache-2.0/MIT",
            "MIT AND (ISC OR GPL-3.0)",
            "Apache-2.0 WITH LLVM-exception OR MIT",
        ] {
            assert!(is_allowed(expression, &allowed), "{expression}");
        }
        for expression in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT WITH some-exception",
            "(MIT",
            "MIT MIT",
            "",
            "MIT OR GPL-3.0 AND Apache-2.0 )",
        ] {
            assert!(!is_allowed(expression, &allowed), "{expression}");
        }
    }

    #[test]
    fn the_list_is_read_out_of_its_table_only() {
        let deny = "[bans]\nallow = [\"no\"]\n[licenses]\nconfidence-threshold = 0.9\nallow = [\n  \"MIT\", # a reason\n  \"ISC\",\n]\n[sources]\nx = [\"y\"]\n";
        assert_eq!(allowed(deny).unwrap(), ["MIT", "ISC"]);
        assert!(allowed("[licenses]\n").is_err());
    }
}
