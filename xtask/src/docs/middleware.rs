//! The users' pages of the built-in middlewares: the module doc of each, and an index of their first sentences.

use std::path::{Path, PathBuf};

use super::MARK;
use super::markdown::{cell, first_sentence, page_text};
use crate::error::{Error, Result};
use crate::generated::Page;
use crate::source::Source;
use crate::workspace::{files_under, relative};

/// The page of every middleware in the folder `source`, and the index.
///
/// A file right in the folder is a middleware's if it, or a file of its own folder, implements `Middleware`; the file's name is its name.
///
/// # Errors
/// If a file cannot be read, or a middleware has no doc.
pub(super) fn pages(source: &Path, docs: &Path) -> Result<Vec<Page>> {
    let mut read = Vec::new();
    for file in files_under(source)? {
        if file.extension().is_some_and(|ext| ext == "rs") {
            let module = Source::read(&file)?;
            read.push((file, module));
        }
    }
    let for_tests: Vec<PathBuf> = read.iter().flat_map(|(file, module)| module.test_paths(file)).collect();
    read.retain(|(file, _)| !for_tests.iter().any(|test| file.starts_with(test)));

    let mut index: Vec<(String, String)> = Vec::new();
    let mut pages = Vec::new();
    for (file, module) in &read {
        let home = file.with_extension("");
        let is_top = file.parent() == Some(source) && !home.ends_with("lib");
        let mut parts = read.iter().filter(|(part, _)| part == file || part.starts_with(&home));
        if !is_top || !parts.any(|(_, part)| part.implements_middleware) {
            continue;
        }
        let name = relative(source, &home);
        if module.doc.is_empty() {
            return Err(Error::new(format!(
                "the middleware {name} has no module doc: it is the users' page"
            )));
        }
        let text = format!("{MARK}\n\n# {name}\n\n{}\n", page_text(&module.doc));
        pages.push(Page {
            path: docs.join("middleware").join(format!("{name}.md")),
            text,
        });
        index.push((name, first_sentence(&module.doc)));
    }
    pages.push(Page {
        path: docs.join("middleware.md"),
        text: index_text(&index),
    });
    Ok(pages)
}

fn index_text(index: &[(String, String)]) -> String {
    let mut text = format!("{MARK}\n\n# Middleware\n\n| name | what it does |\n|---|---|\n");
    for (name, sentence) in index {
        text.push_str(&format!("| [`{name}`](middleware/{name}.md) | {} |\n", cell(sentence)));
    }
    text
}

/// Generated pages whose middleware is gone. Pages written by hand stay.
///
/// # Errors
/// If a folder cannot be read.
pub(super) fn stale(docs: &Path, pages: &[Page]) -> Result<Vec<PathBuf>> {
    let mut found = files_under(&docs.join("middleware"))?;
    found.retain(|path| {
        let is_ours = std::fs::read_to_string(path).is_ok_and(|text| text.starts_with(MARK));
        is_ours && !pages.iter().any(|page| page.path == *path)
    });
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;
    use crate::generated::{Mode, settle};

    /// A small crate of middlewares beside the pages it must give.
    fn fixture() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/middleware")
    }

    #[test]
    fn the_fixture_gives_its_pages_and_its_index() {
        let fixture = fixture();
        let docs = fixture.join("docs");
        let pages = pages(&fixture.join("src"), &docs).unwrap();
        let names: Vec<String> = pages.iter().map(|page| relative(&docs, &page.path)).collect();
        assert_eq!(
            names,
            ["middleware/greeting.md", "middleware/tool_limit.md", "middleware.md"]
        );
        settle(Mode::Check, &fixture, &pages, &[], "edit the fixture").unwrap();
    }

    #[test]
    fn only_generated_pages_without_a_source_are_stale() {
        let docs = tempfile::tempdir().unwrap();
        let folder = docs.path().join("middleware");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("gone.md"), format!("{MARK}\n")).unwrap();
        fs::write(folder.join("by_hand.md"), "# Mine\n").unwrap();
        assert_eq!(stale(docs.path(), &[]).unwrap(), [folder.join("gone.md")]);
    }

    #[test]
    fn a_middleware_without_a_doc_is_an_error_that_names_it() {
        let source = tempfile::tempdir().unwrap();
        fs::write(source.path().join("silent.rs"), "impl Middleware for Silent {}\n").unwrap();
        let error = pages(source.path(), source.path()).unwrap_err();
        assert!(error.to_string().contains("silent"), "{error}");
    }
}
