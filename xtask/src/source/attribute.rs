//! What an attribute says: a doc line, a test, a condition.

use proc_macro2::{Group, TokenStream, TokenTree};

/// What we want to know about `#[…]`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    /// One line of a doc comment, without the slashes.
    Doc(String),
    /// A test: `#[test]`, `#[tokio::test(…)]`.
    Test,
    /// The item is only compiled for tests.
    OnlyForTests,
    /// The test is not run.
    Ignore,
    /// Anything else.
    Other,
}

/// Reads what stands between the brackets.
pub(crate) fn read(group: &Group) -> Attribute {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let path: Vec<String> = tokens
        .iter()
        .map_while(|token| match token {
            TokenTree::Ident(name) => Some(name.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == ':' => Some(String::new()),
            _ => None,
        })
        .filter(|part| !part.is_empty())
        .collect();
    let argument = tokens.iter().find_map(|token| match token {
        TokenTree::Group(group) => Some(group.stream()),
        _ => None,
    });
    match (path.last().map(String::as_str), argument, tokens.last()) {
        (Some("doc"), None, Some(TokenTree::Literal(text))) => Attribute::Doc(unquote(&text.to_string())),
        (Some("test"), ..) => Attribute::Test,
        (Some("ignore"), ..) => Attribute::Ignore,
        (Some("cfg_attr"), Some(argument), _) if mentions(argument.clone(), "ignore") => Attribute::Ignore,
        (Some("cfg"), Some(condition), _) if demands_test(condition.clone()) => Attribute::OnlyForTests,
        _ => Attribute::Other,
    }
}

/// `test` or `all(…, test, …)`. Under `any` or `not` the item is in the product too.
fn demands_test(condition: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = condition.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(name)] => name == "test",
        [TokenTree::Ident(name), TokenTree::Group(parts)] if name == "all" => mentions(parts.stream(), "test"),
        _ => false,
    }
}

fn mentions(tokens: TokenStream, word: &str) -> bool {
    tokens
        .into_iter()
        .any(|token| matches!(token, TokenTree::Ident(name) if name == word))
}

/// The text of a string literal.
fn unquote(literal: &str) -> String {
    if let Some(raw) = literal.strip_prefix('r') {
        let raw = raw.trim_matches('#');
        return raw.trim_matches('"').to_owned();
    }
    let quoted = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let mut letters = quoted.unwrap_or(literal).chars();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('0') => text.push('\0'),
            Some('u') => {
                let digits: String = letters.by_ref().take_while(|letter| *letter != '}').collect();
                let number = u32::from_str_radix(digits.trim_start_matches('{'), 16).ok();
                text.extend(number.and_then(char::from_u32));
            }
            Some(other) => text.push(other),
            None => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::str::FromStr;

    use super::*;

    fn attribute(text: &str) -> Attribute {
        match TokenStream::from_str(text).unwrap().into_iter().last() {
            Some(TokenTree::Group(group)) => read(&group),
            other => panic!("no attribute: {other:?}"),
        }
    }

    #[test]
    fn a_doc_comment_is_its_text() {
        assert_eq!(
            attribute("/// a \"b\" \\ é → c"),
            Attribute::Doc(" a \"b\" \\ é → c".into())
        );
        assert_eq!(attribute("#[doc = r#\" raw \"#]"), Attribute::Doc(" raw ".into()));
        assert_eq!(attribute("#[doc = include_str!(\"a.md\")]"), Attribute::Other);
    }

    #[test]
    fn tests_are_known_by_the_last_word_of_their_attribute() {
        assert_eq!(attribute("#[test]"), Attribute::Test);
        assert_eq!(attribute("#[tokio::test(start_paused = true)]"), Attribute::Test);
        assert_eq!(attribute("#[tested]"), Attribute::Other);
    }

    #[test]
    fn only_conditions_that_demand_test_take_an_item_out_of_the_product() {
        for text in ["#[cfg(test)]", "#[cfg(all(unix, test))]"] {
            assert_eq!(attribute(text), Attribute::OnlyForTests, "{text}");
        }
        for text in ["#[cfg(not(test))]", "#[cfg(any(test, feature = \"testing\"))]"] {
            assert_eq!(attribute(text), Attribute::Other, "{text}");
        }
    }

    #[test]
    fn a_condition_does_not_hide_an_ignored_test() {
        assert_eq!(attribute("#[ignore = \"slow\"]"), Attribute::Ignore);
        assert_eq!(attribute("#[cfg_attr(windows, ignore)]"), Attribute::Ignore);
    }
}
