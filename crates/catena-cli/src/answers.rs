//! Decisions as programs write them: catena's own form, and the one that LangChain's clients send.
//!
//! Two shapes are read. A list of answers, each with the pause it answers:
//! `[{"pause": "…", "type": "approve"}, {"pause": "…", "type": "respond", "value": 3}]`. Or all decisions in the order of the questions:
//! `{"decisions": [{"type": "approve"}, {"type": "edit", "edited_action": {"name": "search", "args": {"q": "x"}}}]}`.

use catena_core::interrupt::{Answer, Decision};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{CliError, Result};

/// Decisions for the questions of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answers {
    /// Each names its question; others stay open.
    Named(Vec<Answer>),
    /// All of them, in the order of the questions.
    InOrder(Vec<Decision>),
}

/// Reads decisions.
///
/// # Errors
/// What is wrong, with the place of the decision, from 1.
pub(crate) fn parse(text: &str) -> Result<Answers> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| CliError::Usage(format!("the decisions are not JSON: {error}")))?;
    let items = match value {
        Value::Array(items) => items,
        Value::Object(mut map) => match map.remove("decisions") {
            Some(Value::Array(items)) => items,
            // A single answer need not stand in a list.
            None if map.contains_key("type") => vec![Value::Object(map)],
            _ => return Err(shape()),
        },
        _ => return Err(shape()),
    };
    let mut named = Vec::new();
    let mut in_order = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        let wrong = |what: String| CliError::Usage(format!("decision {} {what}", index + 1));
        let Value::Object(mut map) = item else {
            return Err(wrong("is not a JSON object".into()));
        };
        let pause = match map.remove("pause") {
            None => None,
            Some(Value::String(pause)) => Some(pause),
            Some(_) => return Err(wrong("has a `pause` that is not a text".into())),
        };
        let decision = decision(map).map_err(wrong)?;
        match pause {
            Some(pause) => named.push(Answer {
                pause: pause.into(),
                decision,
            }),
            None => in_order.push(decision),
        }
    }
    match (named.is_empty(), in_order.is_empty()) {
        (false, false) => Err(CliError::Usage(
            "either every decision names its `pause`, or none does".into(),
        )),
        (false, true) => Ok(Answers::Named(named)),
        (true, _) => Ok(Answers::InOrder(in_order)),
    }
}

fn shape() -> CliError {
    CliError::Usage(
        "the decisions must be `{\"decisions\": [{\"type\": \"approve\"}, …]}` or `[{\"pause\": \"ID\", \"type\": \"approve\"}, …]`".into(),
    )
}

fn decision(mut map: Map<String, Value>) -> Result<Decision, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Edited {
        name: Option<String>,
        args: Value,
    }
    if let Some(edited) = map.remove("edited_action") {
        let edited: Edited =
            serde_json::from_value(edited).map_err(|error| format!("has an `edited_action` that is none: {error}"))?;
        map.insert("input".into(), edited.args);
        if let Some(name) = edited.name {
            map.insert("name".into(), name.into());
        }
    }
    let kind = map.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !["approve", "edit", "reject", "respond"].contains(&kind.as_str()) {
        return Err(format!(
            "has the type `{kind}`; it must be `approve`, `edit`, `reject` or `respond`"
        ));
    }
    serde_json::from_value(Value::Object(map)).map_err(|error| format!("({kind}) cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn problem(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn decisions_in_order_are_read_in_either_dialect() {
        let own = parse(r#"{"decisions": [{"type": "approve"}, {"type": "edit", "input": {"q": 1}}]}"#).unwrap();
        let theirs =
            parse(r#"{"decisions": [{"type": "approve"}, {"type": "edit", "edited_action": {"name": "search", "args": {"q": 1}}}]}"#).unwrap();
        let edit = |name: Option<&str>| Decision::Edit {
            name: name.map(str::to_owned),
            input: json!({"q": 1}),
        };
        assert_eq!(own, Answers::InOrder(vec![Decision::Approve, edit(None)]));
        assert_eq!(theirs, Answers::InOrder(vec![Decision::Approve, edit(Some("search"))]));
    }

    #[test]
    fn answers_may_name_their_questions() {
        let answers = parse(r#"[{"pause": "p-1", "type": "reject", "message": "no"}]"#).unwrap();
        let decision = Decision::Reject {
            message: Some("no".into()),
        };
        assert_eq!(
            answers,
            Answers::Named(vec![Answer {
                pause: "p-1".into(),
                decision
            }])
        );
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_place() {
        assert!(problem("nope").contains("not JSON"));
        assert!(problem("{}").contains("decisions"));
        assert!(problem(r#"[{"type": "approve"}, {"type": "yes"}]"#).starts_with("decision 2 has the type `yes`"));
        assert!(problem(r#"[{"type": "edit"}]"#).contains("`input`"));
        assert!(problem(r#"[{"pause": "p", "type": "approve"}, {"type": "approve"}]"#).contains("or none does"));
    }
}
