//! Why a value by itself does not fit a schema, in words.

use serde_json::Value as Json;

use crate::nearest::nearest;
use crate::node::{Node, Value};

/// What is wrong, and what to do.
pub(super) struct Misfit {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Misfit {
    fn new(message: String) -> Option<Self> {
        Some(Self { message, help: None })
    }
}

/// Why a value does not fit; what is in a list or in a table is not looked at.
pub(super) fn misfit(node: &Node, schema: &Json) -> Option<Misfit> {
    if schema == &Json::Bool(false) {
        return Misfit::new("nothing may stand here".to_owned());
    }
    if !is_kind(node, schema) {
        return Misfit::new(format!("expected {}, found {}", expected(schema), node.kind()));
    }
    match &node.value {
        Value::String(text) => string(text, schema),
        Value::Integer(number) => number_misfit(*number as f64, Some(*number), schema),
        Value::Float(number) => number_misfit(*number, None, schema),
        Value::Array(items) => length(items.len(), schema, "minItems", "maxItems", "entries"),
        Value::Boolean(_) | Value::Datetime(_) | Value::Table(_) => None,
    }
}

fn string(text: &str, schema: &Json) -> Option<Misfit> {
    let literals: Option<Vec<&str>> = match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => only.as_str().map(|only| vec![only]),
        (_, Some(Json::Array(several))) => several.iter().map(Json::as_str).collect(),
        _ => None,
    };
    if let Some(literals) = literals {
        return literal(text, &literals);
    }
    length(text.chars().count(), schema, "minLength", "maxLength", "characters")
}

/// Why a text is none of these.
pub(super) fn literal(text: &str, literals: &[&str]) -> Option<Misfit> {
    if literals.contains(&text) {
        return None;
    }
    let wanted = one_of_words(literals.iter().map(|literal| format!("`{literal}`")));
    let near = nearest(text, literals.iter().copied());
    Some(Misfit {
        message: format!("expected {wanted}, found `{text}`"),
        help: near.map(|near| format!("did you mean `{near}`?")),
    })
}

fn length(length: usize, schema: &Json, least: &str, most: &str, what: &str) -> Option<Misfit> {
    let bound = |key: &str| {
        schema
            .get(key)
            .and_then(Json::as_u64)
            .and_then(|bound| usize::try_from(bound).ok())
    };
    match (bound(least), bound(most)) {
        (Some(least), _) if length < least => Misfit::new(format!("needs at least {least} {what}, has {length}")),
        (_, Some(most)) if length > most => Misfit::new(format!("may have at most {most} {what}, has {length}")),
        _ => None,
    }
}

fn number_misfit(number: f64, integer: Option<i64>, schema: &Json) -> Option<Misfit> {
    let bound = |key: &str| schema.get(key).and_then(Json::as_f64);
    let shown = integer.map_or_else(|| number.to_string(), |integer| integer.to_string());
    let wrong = |limit: &str, bound: f64| Misfit::new(format!("must be {limit} {bound}, is {shown}"));
    let (of_least, of_most) = of_format(schema);
    match (bound("minimum").or(of_least), bound("maximum").or(of_most)) {
        (Some(least), _) if number < least => return wrong("at least", least),
        (_, Some(most)) if number > most => return wrong("at most", most),
        _ => {}
    }
    match (bound("exclusiveMinimum"), bound("exclusiveMaximum")) {
        (Some(least), _) if number <= least => wrong("more than", least),
        (_, Some(most)) if number >= most => wrong("less than", most),
        _ => None,
    }
}

/// The bounds of Rust's integers, which a derived schema names and does not spell out.
fn of_format(schema: &Json) -> (Option<f64>, Option<f64>) {
    match schema.get("format").and_then(Json::as_str) {
        Some("uint8") => (Some(0.0), Some(f64::from(u8::MAX))),
        Some("uint16") => (Some(0.0), Some(f64::from(u16::MAX))),
        Some("uint32") => (Some(0.0), Some(f64::from(u32::MAX))),
        Some("uint64" | "uint") => (Some(0.0), None),
        Some("int32") => (Some(f64::from(i32::MIN)), Some(f64::from(i32::MAX))),
        _ => (None, None),
    }
}

/// Whether a value is of a kind that a schema allows.
pub(super) fn is_kind(node: &Node, schema: &Json) -> bool {
    let fitting: &[&str] = match &node.value {
        Value::String(_) | Value::Datetime(_) => &["string"],
        Value::Boolean(_) => &["boolean"],
        Value::Integer(_) => &["integer", "number"],
        Value::Float(_) => &["number"],
        Value::Array(_) => &["array"],
        Value::Table(_) => &["object"],
    };
    let kinds = kinds(schema);
    kinds.is_empty() || kinds.iter().any(|kind| fitting.contains(kind))
}

/// What a schema allows, in words.
pub(super) fn expected(schema: &Json) -> String {
    if let Some(only) = schema.get("const").and_then(Json::as_str) {
        return format!("`{only}`");
    }
    if let Some(several) = schema.get("enum").and_then(Json::as_array) {
        return one_of_words(
            several
                .iter()
                .filter_map(Json::as_str)
                .map(|literal| format!("`{literal}`")),
        );
    }
    one_of_words(kinds(schema).into_iter().filter_map(|kind| {
        let words = match kind {
            "string" => "a string",
            "integer" => "an integer",
            "number" => "a number",
            "boolean" => "`true` or `false`",
            "array" => "a list",
            "object" => "a table",
            _ => return None,
        };
        Some(words.to_owned())
    }))
}

fn kinds(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(only)) => vec![only],
        Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

/// `a, b or c`, each once.
pub(super) fn one_of_words(words: impl Iterator<Item = String>) -> String {
    let mut several: Vec<String> = Vec::new();
    for word in words {
        if !several.contains(&word) {
            several.push(word);
        }
    }
    match several.split_last() {
        None => "something else".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}
