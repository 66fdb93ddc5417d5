//! The catalogue of behaviours: every row id in the doc comment of a test, with the behaviour and the test that proves it.

use std::path::Path;

use super::MARK;
use super::markdown::cell;
use super::row::{self, Found, Id};
use crate::error::Result;
use crate::generated::Page;
use crate::source::Source;
use crate::workspace::{Package, Role, Workspace, read_text};

/// One line of the catalogue. Sorted by id, then by test.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    id: Id,
    test: String,
    behaviour: String,
}

/// `docs/behaviours.md`: the hand-written head, then the table.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn page(workspace: &Workspace, docs: &Path) -> Result<Page> {
    let mut entries = Vec::new();
    for package in &workspace.packages {
        entries.extend(entries_of(package)?);
    }
    let head = read_text(&docs.join("behaviours.head.md"))?.replace("\r\n", "\n");
    Ok(Page {
        path: docs.join("behaviours.md"),
        text: render(&head, entries),
    })
}

fn entries_of(package: &Package) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (role, file) in package.rust_files()? {
        let place = place(package, role, &file);
        for function in Source::read(&file)?.functions {
            let Found::Row(row) = row::read(&function.doc) else {
                continue;
            };
            let path: Vec<&str> = place
                .modules
                .iter()
                .chain(&function.modules)
                .chain([&function.name])
                .map(String::as_str)
                .collect();
            let test = format!("{} {}", place.binary, path.join("::"));
            entries.extend(row.ids.into_iter().map(|id| Entry {
                id,
                test: test.clone(),
                behaviour: row.behaviour.clone(),
            }));
        }
    }
    Ok(entries)
}

/// Where the tests of a file run, in nextest's words: its binary, and the modules the file stands for.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    binary: String,
    modules: Vec<String>,
}

fn place(package: &Package, role: Role, file: &Path) -> Place {
    let folder = if role == Role::Test { "tests" } else { "src" };
    let inside = file.strip_prefix(package.dir.join(folder)).unwrap_or(file);
    let mut modules: Vec<String> = inside
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let is_program = modules == ["main"];
    if modules
        .last()
        .is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str()))
    {
        modules.pop();
    }
    let name = &package.name;
    if role == Role::Test && !modules.is_empty() {
        let binary = modules.remove(0);
        return Place {
            binary: format!("{name}::{binary}"),
            modules,
        };
    }
    let has_library = package
        .targets("lib")
        .chain(package.targets("proc-macro"))
        .next()
        .is_some();
    let program = package.targets("bin").next().filter(|_| is_program || !has_library);
    let binary = program.map_or(name.clone(), |program| format!("{name}::bin/{}", program.name));
    Place { binary, modules }
}

fn render(head: &str, mut entries: Vec<Entry>) -> String {
    entries.sort();
    let mut text = format!("{MARK}\n\n{}\n\n## Met, with the test that proves it\n\n", head.trim());
    text.push_str("| id | behaviour | test |\n|---|---|---|\n");
    for entry in &entries {
        let line = format!("| {} | {} | `{}` |\n", entry.id, cell(&entry.behaviour), entry.test);
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;
    use crate::workspace::Target;

    fn package(dir: &Path, kinds: &[&str]) -> Package {
        let target = |kind: &&str| Target {
            name: "room".into(),
            kind: (*kind).into(),
            path: "src/lib.rs".into(),
        };
        Package {
            name: "catena-room".into(),
            dir: dir.to_owned(),
            targets: kinds.iter().map(target).collect(),
            features: Vec::new(),
        }
    }

    #[test]
    fn a_test_is_named_as_the_runner_names_it() {
        let name = |kinds: &[&str], role, file: &str| {
            let place = place(&package(Path::new("/p"), kinds), role, &Path::new("/p").join(file));
            format!("{} {}", place.binary, place.modules.join("::"))
        };
        assert_eq!(name(&["lib"], Role::Product, "src/lib.rs"), "catena-room ");
        assert_eq!(name(&["lib"], Role::Product, "src/a/b.rs"), "catena-room a::b");
        assert_eq!(
            name(&["lib", "bin"], Role::Product, "src/main.rs"),
            "catena-room::bin/room "
        );
        assert_eq!(name(&["bin"], Role::Product, "src/a.rs"), "catena-room::bin/room a");
        assert_eq!(name(&["lib"], Role::Test, "tests/it/main.rs"), "catena-room::it ");
        assert_eq!(name(&["lib"], Role::Test, "tests/it/a.rs"), "catena-room::it a");
        assert_eq!(name(&["lib"], Role::Test, "tests/wire.rs"), "catena-room::wire ");
    }

    #[test]
    fn rows_are_collected_from_unit_and_integration_tests_and_sorted() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("src")).unwrap();
        fs::create_dir_all(dir.path().join("tests/it")).unwrap();
        let unit = "#[cfg(test)]\nmod tests {\n    /// FC-010, LC-SUM-03: a | b.\n    #[test]\n    fn ten() {}\n}\n";
        fs::write(dir.path().join("src/chain.rs"), unit).unwrap();
        let whole = "/// FC-009: nine.\n#[test]\nfn nine() {}\n\n/// Nothing to prove.\n#[test]\nfn none() {}\n";
        fs::write(dir.path().join("tests/it/main.rs"), whole).unwrap();
        let entries = entries_of(&package(dir.path(), &["lib"])).unwrap();
        let text = render("# Head\n", entries);
        let table: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with("|---"))
            .skip(1)
            .collect();
        assert_eq!(
            table,
            [
                "| FC-009 | nine. | `catena-room::it nine` |",
                "| FC-010 | a \\| b. | `catena-room chain::tests::ten` |",
                "| LC-SUM-03 | a \\| b. | `catena-room chain::tests::ten` |",
            ]
        );
        assert!(text.starts_with(MARK));
    }
}
