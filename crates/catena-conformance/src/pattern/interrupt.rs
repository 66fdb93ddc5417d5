//! The pause value of a turn that waits for approval.

use serde_json::Value;

use super::{Check, Keys, NamesPattern, TextPattern, ValuePattern};
use crate::mismatch::Mismatch;
use crate::read::{Node, Read, ReadError};

/// What a pause must ask; keys that are not given are not judged.
#[derive(Clone, Debug, PartialEq)]
pub struct InterruptPattern {
    action_requests: Option<Vec<ActionPattern>>,
    review_configs: Option<Vec<ReviewPattern>>,
}

#[derive(Clone, Debug, PartialEq)]
struct ActionPattern {
    name: Option<TextPattern>,
    args: Option<ValuePattern>,
    description: Option<TextPattern>,
}

#[derive(Clone, Debug, PartialEq)]
struct ReviewPattern {
    action_name: Option<TextPattern>,
    allowed_decisions: Option<NamesPattern>,
}

impl InterruptPattern {
    /// Checks the value a turn paused with.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, got: &Value) -> Check {
        if let Some(actions) = &self.action_requests {
            check_each(actions, got, "action_requests", ActionPattern::check)?;
        }
        if let Some(reviews) = &self.review_configs {
            check_each(reviews, got, "review_configs", ReviewPattern::check)?;
        }
        Ok(())
    }
}

fn check_each<P>(patterns: &[P], got: &Value, key: &str, check: impl Fn(&P, &Value) -> Check) -> Check {
    let items = got.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (index, (pattern, item)) in patterns.iter().zip(items).enumerate() {
        check(pattern, item).map_err(|mismatch| mismatch.at_index(index).at(key))?;
    }
    if patterns.len() == items.len() {
        return Ok(());
    }
    Err(Mismatch::new(
        format!("{} entries", patterns.len()),
        format!("{} entries in {got}", items.len()),
    )
    .at(key))
}

impl ActionPattern {
    fn check(&self, got: &Value) -> Check {
        check_text(self.name.as_ref(), got, "name")?;
        if let Some(args) = &self.args {
            args.check(&got["args"], Keys::Same)
                .map_err(|mismatch| mismatch.at("args"))?;
        }
        check_text(self.description.as_ref(), got, "description")
    }
}

impl ReviewPattern {
    fn check(&self, got: &Value) -> Check {
        check_text(self.action_name.as_ref(), got, "action_name")?;
        let Some(allowed) = &self.allowed_decisions else {
            return Ok(());
        };
        let names = got["allowed_decisions"].as_array().map_or(&[][..], Vec::as_slice);
        let names: Vec<_> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        allowed
            .check_list(&names)
            .map_err(|mismatch| mismatch.at("allowed_decisions"))
    }
}

fn check_text(pattern: Option<&TextPattern>, got: &Value, key: &str) -> Check {
    let Some(pattern) = pattern else {
        return Ok(());
    };
    let Some(text) = got[key].as_str() else {
        return Err(Mismatch::new("a text", got[key].to_string()).at(key));
    };
    pattern.check(text).map_err(|mismatch| mismatch.at(key))
}

impl Read for InterruptPattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["action_requests", "review_configs"])?;
        Ok(Self {
            action_requests: fields.optional("action_requests")?,
            review_configs: fields.optional("review_configs")?,
        })
    }
}

impl Read for ActionPattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["name", "args", "description"])?;
        Ok(Self {
            name: fields.optional("name")?,
            args: fields.optional("args")?,
            description: fields.optional("description")?,
        })
    }
}

impl Read for ReviewPattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["action_name", "allowed_decisions"])?;
        Ok(Self {
            action_name: fields.optional("action_name")?,
            allowed_decisions: fields.optional("allowed_decisions")?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::json;

    use super::*;

    fn check(pattern: Value) -> Result<(), String> {
        let got = json!({
            "action_requests": [{"name": "send", "args": {"to": "ann"}, "description": "Review: send", "call": "c1"}],
            "review_configs": [{"action_name": "send", "allowed_decisions": ["approve", "reject"]}],
            "id": "p1"
        });
        Node::root(&pattern)
            .read::<InterruptPattern>()
            .unwrap()
            .check(&got)
            .map_err(|mismatch| mismatch.path())
    }

    #[test]
    fn listed_keys_must_match_and_others_are_ignored() {
        assert_eq!(check(json!({})), Ok(()));
        assert_eq!(check(json!({"action_requests": [{"name": "send"}]})), Ok(()));
        assert_eq!(
            check(json!({"action_requests": [{"name": "pay"}]})),
            Err("action_requests[0].name".into())
        );
        assert_eq!(
            check(json!({"action_requests": [{"description": {"contains": ["pay"]}}]})),
            Err("action_requests[0].description.contains[0]".into())
        );
    }

    #[test]
    fn every_pending_action_is_listed_and_no_other() {
        assert_eq!(check(json!({"action_requests": []})), Err("action_requests".into()));
        assert_eq!(
            check(json!({"action_requests": [{"name": "send"}, {"name": "send"}]})),
            Err("action_requests".into())
        );
        assert_eq!(check(json!({"review_configs": []})), Err("review_configs".into()));
    }

    #[test]
    fn the_arguments_of_an_action_have_the_same_keys() {
        assert_eq!(check(json!({"action_requests": [{"args": {"to": "ann"}}]})), Ok(()));
        assert_eq!(
            check(json!({"action_requests": [{"args": {}}]})),
            Err("action_requests[0].args.to".into())
        );
    }

    #[test]
    fn allowed_decisions_are_a_list_or_what_it_includes() {
        let review =
            |allowed: Value| check(json!({"review_configs": [{"action_name": "send", "allowed_decisions": allowed}]}));
        assert_eq!(review(json!(["approve", "reject"])), Ok(()));
        assert_eq!(
            review(json!(["reject", "approve"])),
            Err("review_configs[0].allowed_decisions".into())
        );
        assert_eq!(
            review(json!({"includes": ["edit"]})),
            Err("review_configs[0].allowed_decisions.includes[0]".into())
        );
    }

    #[test]
    fn a_key_that_no_pause_has_is_an_error_of_the_scenario() {
        assert!(
            Node::root(&json!({"question": "?"}))
                .read::<InterruptPattern>()
                .is_err()
        );
    }
}
