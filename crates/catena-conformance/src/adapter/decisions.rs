//! Approvals between the format and catena: what a pause asks, what a resume decides.

use catena_core::interrupt::{Decision, Pause};
use serde::Deserialize;
use serde_json::{Value, json};

/// The value of a `resume`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Resume {
    decisions: Vec<Decided>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Decided {
    Approve {},
    Edit { edited_action: Action },
    Reject { message: Option<String> },
    Respond { message: Value },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Action {
    name: String,
    args: Value,
}

/// The decisions of a resume, in the order of the questions.
///
/// # Errors
/// What in the value is no decision.
pub(super) fn read(value: &Value) -> Result<Vec<Decision>, String> {
    let resume = Resume::deserialize(value).map_err(|error| error.to_string())?;
    Ok(resume.decisions.into_iter().map(decision).collect())
}

fn decision(decided: Decided) -> Decision {
    match decided {
        Decided::Approve {} => Decision::Approve,
        Decided::Edit { edited_action } => Decision::Edit {
            name: Some(edited_action.name),
            input: edited_action.args,
        },
        Decided::Reject { message } => Decision::Reject { message },
        Decided::Respond { message } => Decision::Respond { value: message },
    }
}

/// What a paused run asks, as the format tells it.
pub(super) fn asked(pauses: &[Pause]) -> Value {
    let requests = pauses
        .iter()
        .map(|pause| json!({"name": pause.tool, "args": pause.input, "description": pause.request.description}));
    let reviews = pauses
        .iter()
        .map(|pause| json!({"action_name": pause.tool, "allowed_decisions": pause.request.allowed}));
    json!({"action_requests": requests.collect::<Vec<_>>(), "review_configs": reviews.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn every_kind_of_decision_is_read() {
        let value = json!({"decisions": [
            {"type": "approve"},
            {"type": "edit", "edited_action": {"name": "send", "args": {"to": "bob"}}},
            {"type": "reject"},
            {"type": "reject", "message": "no"},
            {"type": "respond", "message": "done by hand"},
        ]});
        let expected = [
            Decision::Approve,
            Decision::Edit {
                name: Some("send".into()),
                input: json!({"to": "bob"}),
            },
            Decision::Reject { message: None },
            Decision::Reject {
                message: Some("no".into()),
            },
            Decision::Respond {
                value: json!("done by hand"),
            },
        ];
        assert_eq!(read(&value).unwrap(), expected);
    }

    #[test]
    fn what_is_no_decision_is_refused() {
        for value in [
            json!("yes"),
            json!({}),
            json!({"decisions": [{"type": "maybe"}]}),
            json!({"decisions": [{"type": "edit"}]}),
            json!({"decisions": [{"type": "approve", "message": "x"}]}),
            json!({"decisions": [], "thread": "x"}),
        ] {
            assert!(read(&value).is_err(), "{value}");
        }
    }
}
