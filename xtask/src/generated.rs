//! Files that are written by one command and committed: the same code writes them, and compares them with `--check`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::workspace::relative;

/// Whether generated files are written or compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

/// What a generated file must hold.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// Writes the pages and removes the `stale` ones, or tells which of them differ.
///
/// # Errors
/// In [`Mode::Check`] if a page differs or a stale one exists; the text names the files and `repair`, the command that writes them.
pub(crate) fn settle(mode: Mode, root: &Path, pages: &[Page], stale: &[PathBuf], repair: &str) -> Result<()> {
    match mode {
        Mode::Write => write(root, pages, stale),
        Mode::Check => {
            let different = pages.iter().filter_map(|page| differs(root, page));
            let left = stale
                .iter()
                .map(|path| format!("{}: nothing generates it any more", relative(root, path)));
            let problems: Vec<String> = different.chain(left).collect();
            Error::unless_empty(&format!("generated files (`{repair}` repairs)"), &problems)
        }
    }
}

fn write(root: &Path, pages: &[Page], stale: &[PathBuf]) -> Result<()> {
    for path in stale {
        fs::remove_file(path).doing(format_args!("cannot remove {}", path.display()))?;
        println!("removed {}", relative(root, path));
    }
    for page in pages.iter().filter(|page| differs(root, page).is_some()) {
        let shown = relative(root, &page.path);
        if let Some(folder) = page.path.parent() {
            fs::create_dir_all(folder).doing(format_args!("cannot create {}", folder.display()))?;
        }
        fs::write(&page.path, &page.text).doing(format_args!("cannot write {shown}"))?;
        println!("wrote {shown}");
    }
    Ok(())
}

fn differs(root: &Path, page: &Page) -> Option<String> {
    let shown = relative(root, &page.path);
    let Ok(found) = fs::read_to_string(&page.path) else {
        return Some(format!("{shown}: is missing"));
    };
    // A checkout may turn line ends around.
    let found = found.replace("\r\n", "\n");
    if found == page.text {
        return None;
    }
    let same = found
        .lines()
        .zip(page.text.lines())
        .take_while(|(found, wanted)| found == wanted)
        .count();
    Some(format!("{shown}:{}: differs from here on", same + 1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn check_names_the_differing_line_the_stale_file_and_the_repair_and_writing_repairs() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::write(root.join("a.md"), "one\ntwo\n").unwrap();
        fs::write(root.join("old.md"), "").unwrap();
        let page = |name: &str, text: &str| Page {
            path: root.join(name),
            text: text.into(),
        };
        let pages = [page("a.md", "one\n2\n"), page("sub/b.md", "new\n")];
        let stale = [root.join("old.md")];

        let error = settle(Mode::Check, root, &pages, &stale, "cargo xtask docs").unwrap_err();
        let text = error.to_string();
        for part in ["a.md:2", "sub/b.md: is missing", "old.md", "`cargo xtask docs`"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        settle(Mode::Write, root, &pages, &stale, "cargo xtask docs").unwrap();
        settle(Mode::Check, root, &pages, &[], "cargo xtask docs").unwrap();
        assert!(!root.join("old.md").exists());
    }
}
