//! From a text to a tree.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Member, Node, Step, Value, join};
use crate::problem::Problem;
use crate::source::Source;

/// Reads a text.
///
/// # Errors
/// Everything that keeps it from being TOML.
pub(crate) fn parse(source: &Source) -> Result<Node, Vec<Problem>> {
    let (table, errors) = DeTable::parse_recoverable(source.text());
    let mut problems: Vec<Problem> = believable(errors).iter().map(|error| syntax(source, error)).collect();
    let root = node(
        source,
        String::new(),
        table.span(),
        &mut problems,
        Of::Table(table.get_ref()),
    );
    match (root, problems.is_empty()) {
        (Some(root), true) => Ok(root),
        _ => Err(problems),
    }
}

/// After most mistakes the reader is lost and sees more that are none; only these leave it where it was.
fn believable(mut errors: Vec<toml::de::Error>) -> Vec<toml::de::Error> {
    let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    errors.sort_by_key(start);
    let harmless = |error: &toml::de::Error| {
        ["duplicate key", "string values must be quoted"]
            .iter()
            .any(|text| error.message().starts_with(text))
    };
    let first_lost = errors
        .iter()
        .position(|error| !harmless(error))
        .map_or(errors.len(), |index| index + 1);
    errors.truncate(first_lost);
    errors
}

fn syntax(source: &Source, error: &toml::de::Error) -> Problem {
    let help = match error.message() {
        text if text.starts_with("duplicate key") => Some("remove one of the two, or rename it"),
        text if text.starts_with("string values must be quoted") => Some("put `\"` around the text"),
        _ => None,
    };
    let span = error.span().unwrap_or_default();
    Problem::at(source, Some(&span), "", format!("not valid TOML: {}", error.message())).help(help.map(str::to_owned))
}

enum Of<'a> {
    Table(&'a DeTable<'a>),
    Value(&'a DeValue<'a>),
}

/// `None` if it is out of range, which is then among the problems. The parser bounds how deep a text can nest.
fn node(source: &Source, path: String, span: Range<usize>, problems: &mut Vec<Problem>, of: Of<'_>) -> Option<Node> {
    let value = match of {
        Of::Table(table) | Of::Value(DeValue::Table(table)) => {
            let mut members: Vec<Member> = table
                .iter()
                .filter_map(|(key, value)| member(source, &path, key, value, problems))
                .collect();
            members.sort_by_key(|member| member.key_span.as_ref().map(|span| span.start));
            Value::Table(members)
        }
        Of::Value(DeValue::Array(items)) => {
            let child = |(index, item): (usize, &Spanned<DeValue<'_>>)| {
                let path = join(&path, Step::Index(index));
                node(source, path, item.span(), problems, Of::Value(item.get_ref()))
            };
            Value::Array(items.iter().enumerate().filter_map(child).collect())
        }
        Of::Value(DeValue::String(text)) => Value::String(text.clone().into_owned()),
        Of::Value(DeValue::Boolean(value)) => Value::Boolean(*value),
        Of::Value(DeValue::Datetime(when)) => Value::Datetime(when.to_string()),
        Of::Value(DeValue::Integer(digits)) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => {
                problems.push(Problem::at(
                    source,
                    Some(&span),
                    &path,
                    "the integer does not fit into 64 bits",
                ));
                return None;
            }
        },
        Of::Value(DeValue::Float(digits)) => match digits.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Float(number),
            _ => {
                let message = "expected a finite number";
                problems.push(Problem::at(source, Some(&span), &path, message));
                return None;
            }
        },
    };
    Some(Node {
        span: Some(span),
        path,
        value,
    })
}

fn member(
    source: &Source,
    path: &str,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
    problems: &mut Vec<Problem>,
) -> Option<Member> {
    let path = join(path, Step::Key(key.get_ref()));
    Some(Member {
        key: key.get_ref().clone().into_owned(),
        key_span: Some(key.span()),
        node: node(source, path, value.span(), problems, Of::Value(value.get_ref()))?,
    })
}
