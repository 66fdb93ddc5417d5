//! What a Rust file must hold, and what it must not.

use super::RustFile;

/// Names that say nothing about what is inside.
const NAMELESS: [&str; 2] = ["utils", "util"];

/// From so many of the same sign on a comment is a banner.
const BANNER: usize = 4;

/// The problems of one file.
pub(super) fn check(file: &RustFile) -> Vec<String> {
    let mut problems: Vec<(usize, String)> = file.source.offences.clone();
    if file.is_product() && !has_module_doc(file) {
        problems.push((1, "a file starts with its module doc, `//!`".into()));
    }
    let stem = file.shown.rsplit('/').next().and_then(|name| name.strip_suffix(".rs"));
    if let Some(stem) = stem.filter(|stem| NAMELESS.contains(stem)) {
        problems.push((1, format!("`{stem}` is not the name of an idea")));
    }
    if stem.is_some_and(|stem| stem.ends_with("_v2")) {
        problems.push((1, "replace the first version, do not add a second beside it".into()));
    }
    for (number, line) in (1..).zip(file.text.lines()) {
        problems.extend(line_problem(line).map(|problem| (number, problem)));
    }
    for function in file.source.functions.iter().filter(|function| function.is_test) {
        if is_nameless_test(&function.name) {
            let problem = format!("`{}`: a test's name is a sentence about behaviour", function.name);
            problems.push((function.line, problem));
        }
    }
    problems.sort();
    problems
        .into_iter()
        .map(|(line, problem)| format!("{}:{line}: {problem}", file.shown))
        .collect()
}

/// The file's first lines: an excuse, and then the doc (which a facade may take from a Markdown file).
fn has_module_doc(file: &RustFile) -> bool {
    let mut lines = file.text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with("// tidy:"));
    first.is_some_and(|line| line.starts_with("//!") || line.starts_with("#![doc"))
}

fn line_problem(line: &str) -> Option<String> {
    let line = line.trim_start();
    if is_banner(line) {
        return Some("a banner comment is the name of a missing file".into());
    }
    let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    is_ignored_fence(doc).then(|| "an ignored example proves nothing: let it run, or make it text".into())
}

/// `// -----`, `//====`, `/*****`: a plain comment that is or begins with a row of one sign.
fn is_banner(line: &str) -> bool {
    let comment = line.strip_prefix("/*").or_else(|| line.strip_prefix("//"));
    let Some(comment) = comment.filter(|rest| !rest.starts_with(['/', '!'])) else {
        return false;
    };
    let comment = comment.trim_start();
    let Some(sign) = comment.chars().next().filter(|sign| "-=*#~_─━═".contains(*sign)) else {
        return false;
    };
    comment.chars().take_while(|next| *next == sign).count() >= BANNER
}

/// Whether the line opens a code block that rustdoc does not even compile.
pub(super) fn is_ignored_fence(line: &str) -> bool {
    let line = line.trim_start();
    let info = line.trim_start_matches('`');
    line.len() - info.len() >= 3
        && info
            .split([',', ' '])
            .any(|word| word.trim() == "ignore" || word.trim().starts_with("ignore-"))
}

fn is_nameless_test(name: &str) -> bool {
    let rest = name.strip_prefix("test");
    let is_numbered = rest.is_some_and(|rest| {
        rest.trim_start_matches('_')
            .chars()
            .all(|letter| letter.is_ascii_digit())
    });
    is_numbered || name == "it_works"
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;
    use crate::workspace::Role;

    fn problems(text: &str) -> Vec<String> {
        check(&file("src/a.rs", Role::Product, text))
    }

    #[test]
    fn a_tidy_file_has_no_problems() {
        let text = "// tidy: a reason\n//! Doc.\n//!\n//! | a | b |\n//! |---|---|\n\n// Why.\n/// ```no_run\n/// ```\nfn f() {}\n";
        assert_eq!(problems(text), Vec::<String>::new());
        assert_eq!(
            problems("#![doc = include_str!(\"../README.md\")]\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_product_file_without_module_doc_is_a_problem_and_a_test_file_is_not() {
        assert_eq!(
            problems("use std::fmt;\n"),
            ["src/a.rs:1: a file starts with its module doc, `//!`"]
        );
        assert!(check(&file("tests/it/a.rs", Role::Test, "use std::fmt;\n")).is_empty());
    }

    #[test]
    fn banners_ignored_examples_and_unfinished_code_are_named_by_line() {
        let text = [
            "//! Doc.",
            "// ---- Part ----",
            "//=====",
            "/// ```rust,ignore",
            "/// ```",
            "fn f() { todo!() }",
        ]
        .join("\n");
        let lines: Vec<String> = problems(&text).iter().map(|problem| problem[..10].to_owned()).collect();
        assert_eq!(lines, ["src/a.rs:2", "src/a.rs:3", "src/a.rs:4", "src/a.rs:6"]);
    }

    #[test]
    fn names_that_say_nothing_are_problems() {
        let text = "//! Doc.\n";
        assert_eq!(check(&file("src/utils.rs", Role::Product, text)).len(), 1);
        assert_eq!(check(&file("src/loop_v2.rs", Role::Product, text)).len(), 1);
        assert_eq!(problems("//! Doc.\n#[test]\nfn test_1() {}\n").len(), 1);
        assert_eq!(problems("//! Doc.\n#[test]\nfn testing_is_a_word() {}\n").len(), 0);
    }

    #[test]
    fn only_the_word_ignore_ignores() {
        for line in ["```ignore", " ```rust,ignore", "````ignore-windows"] {
            assert!(is_ignored_fence(line), "{line}");
        }
        for line in ["```text", "```", "ignore", "`ignore`", "``` gitignore"] {
            assert!(!is_ignored_fence(line), "{line}");
        }
    }
}
