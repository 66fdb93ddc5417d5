//! Row ids in doc comments: where one stands it must be a test's, and written so that `cargo xtask docs` finds it.

use super::RustFile;
use crate::docs::row::{self, Found};

/// The problems of one file.
pub(super) fn check(file: &RustFile) -> Vec<String> {
    let functions = file.source.functions.iter();
    functions
        .filter_map(|function| {
            let problem = match row::read(&function.doc) {
                Found::Malformed(start) => {
                    format!("`{start}` looks like a row id: write `/// LC-SUM-03: the behaviour.`")
                }
                Found::Row(row) if !function.is_test => {
                    let ids = row.ids.iter().map(ToString::to_string).collect::<Vec<_>>();
                    format!("{} stands on `{}`, which is not a test", ids.join(", "), function.name)
                }
                Found::Row(_) | Found::Nothing => return None,
            };
            Some(format!("{}:{}: {problem}", file.shown, function.line))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;
    use crate::workspace::Role;

    #[test]
    fn an_id_stands_on_a_test_and_is_followed_by_the_behaviour() {
        let good =
            "/// FC-122, LC-SUM-03: the kept part starts whole.\n#[test]\nfn a() {}\n/// UTF-8 text.\nfn b() {}\n";
        assert!(check(&file("a.rs", Role::Test, good)).is_empty());
        let bad = "/// FC-122: on no test.\nfn a() {}\n/// LC-SUM-03 without a colon.\n#[test]\nfn b() {}\n";
        let problems = check(&file("a.rs", Role::Test, bad));
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("a.rs:2: FC-122 stands on `a`"));
        assert!(problems[1].starts_with("a.rs:5: `LC-SUM-03 without"));
    }
}
