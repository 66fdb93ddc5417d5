#![allow(clippy::unwrap_used)]
use super::*;

const FILE: &str = r#"//! A room.
//!
//! With a view.

use std::fmt;

/// Adds.
pub const fn add<A, B>(a: A, b: B) -> u32 {
    fn inner() {}
    0
}

#[cfg(test)]
use std::{io, fs};

trait Shape { fn area(&self) -> f64; }

#[async_trait]
impl<T> super::Middleware for Room<T> {}

#[cfg(test)]
mod tests {
    //! Not the room's doc.
    use super::*;

    /// FC-007: adds.
    /// And more.
    #[test]
    fn adds() {
        add(1, 2);
    }

    proptest! {
        /// FC-008: adds what was not known before.
        #[test]
        fn adds_anything(a: u8) { }
    }
}

#[cfg(test)]
mod far;
"#;

#[test]
fn functions_have_their_place_length_and_doc() {
    let source = Source::parse(FILE).unwrap();
    let found: Vec<_> = source
        .functions
        .iter()
        .map(|function| (function.name.as_str(), function.line, function.length))
        .collect();
    assert_eq!(
        found,
        [
            ("add", 8, 4),
            ("inner", 9, 1),
            ("adds", 29, 3),
            ("adds_anything", 36, 1)
        ]
    );
    assert_eq!(source.functions[2].doc, [" FC-007: adds.", " And more."]);
    assert_eq!(source.functions[2].modules, ["tests"]);
}

#[test]
fn the_module_doc_is_the_files_own() {
    let source = Source::parse(FILE).unwrap();
    assert_eq!(source.doc, [" A room.", "", " With a view."]);
    assert!(source.implements_middleware);
}

#[test]
fn tests_inside_macros_are_tests() {
    let source = Source::parse(FILE).unwrap();
    let tests: Vec<_> = source
        .functions
        .iter()
        .filter(|function| function.is_test && function.in_test)
        .map(|function| function.name.as_str())
        .collect();
    assert_eq!(tests, ["adds", "adds_anything"]);
}

#[test]
fn lines_for_tests_are_not_product_lines() {
    let source = Source::parse(FILE).unwrap();
    assert_eq!(source.test_lines, [13..=14, 21..=38, 40..=41]);
    assert_eq!(source.product_lines(), 41 - 2 - 18 - 2);
}

#[test]
fn a_test_module_in_its_own_file_is_found_beside_its_parent() {
    let source = Source::parse(FILE).unwrap();
    let beside = |path: &str| source.test_paths(Path::new(path));
    assert_eq!(beside("src/lib.rs"), [Path::new("src/far.rs"), Path::new("src/far")]);
    assert_eq!(
        beside("src/chain.rs"),
        [Path::new("src/chain/far.rs"), Path::new("src/chain/far")]
    );
}

#[test]
fn a_test_only_field_or_variant_does_not_swallow_the_product_after_it() {
    let source =
        Source::parse("enum Kind {\n  #[cfg(test)]\n  Odd,\n  Even,\n}\nfn f(a: Vec<u8>) -> Option<u8> {\n  None\n}\n")
            .unwrap();
    assert_eq!(source.test_lines, [2..=3]);
    assert!(!source.functions[0].in_test);
}

#[test]
fn unfinished_code_and_ignored_tests_are_offences_but_words_in_strings_are_not() {
    let source = Source::parse(
        "fn a() {\n  todo!()\n}\nfn b() { let _ = \"dbg!\"; } // todo!\n#[test]\n#[ignore]\nfn c() { let todo = !true; }\n",
    )
    .unwrap();
    let lines: Vec<_> = source.offences.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 6]);
}

#[test]
fn what_is_not_rust_is_an_error() {
    assert!(Source::parse("fn a( {").is_err());
}
