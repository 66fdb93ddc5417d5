//! The error of a failed turn.

use super::Check;
use crate::mismatch::{Mismatch, quote};
use crate::observed::{ErrorRecord, TurnRecord};
use crate::read::{Node, Read, ReadError};
use crate::text::Text;

/// What the error of a turn must be; keys that are not given are not judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPattern {
    kind: Option<String>,
    status: Option<u64>,
    contains: Vec<Text>,
}

impl ErrorPattern {
    /// Checks the error of a turn.
    ///
    /// # Errors
    /// The first difference: whether there is an error, its kind, its status, its message.
    pub fn check(&self, turn: &TurnRecord) -> Check {
        let wanted = self.kind.clone().unwrap_or_else(|| "an error".to_owned());
        let error = turn
            .error
            .as_ref()
            .ok_or_else(|| Mismatch::new(&wanted, format!("no error, outcome {}", turn.outcome.name())))?;
        if self.kind.as_ref().is_some_and(|kind| *kind != error.kind) {
            return Err(Mismatch::new(wanted, describe(error)).at("kind"));
        }
        if let Some(status) = self
            .status
            .filter(|&status| error.status.map(u64::from) != Some(status))
        {
            return Err(Mismatch::new(status.to_string(), describe(error)).at("status"));
        }
        match self
            .contains
            .iter()
            .enumerate()
            .find(|(_, item)| !error.message.contains(item.as_str()))
        {
            Some((index, item)) => Err(Mismatch::new(quote(item.as_str()), describe(error))
                .at_index(index)
                .at("contains")),
            None => Ok(()),
        }
    }
}

/// An error in one line.
pub(crate) fn describe(error: &ErrorRecord) -> String {
    let status = error.status.map_or_else(String::new, |status| format!(" {status}"));
    format!("{}{status} {}", error.kind, quote(&error.message))
}

impl Read for ErrorPattern {
    fn read(node: &Node<'_>) -> Result<Self, ReadError> {
        let fields = node.fields(&["kind", "status", "contains"])?;
        Ok(Self {
            kind: fields.optional("kind")?,
            status: fields.optional("status")?,
            contains: fields.or_default("contains")?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::{Value, json};

    use super::*;

    fn check(pattern: Value) -> Result<(), String> {
        let error = ErrorRecord {
            kind: "model_error".into(),
            status: Some(500),
            message: "backend exploded".into(),
        };
        let turn = TurnRecord {
            error: Some(error),
            ..TurnRecord::default()
        };
        Node::root(&pattern)
            .read::<ErrorPattern>()
            .unwrap()
            .check(&turn)
            .map_err(|mismatch| mismatch.path())
    }

    #[test]
    fn kind_status_and_data_of_the_message_must_fit_if_given() {
        assert_eq!(check(json!({})), Ok(()));
        assert_eq!(
            check(json!({"kind": "model_error", "status": 500, "contains": ["exploded", "backend"]})),
            Ok(())
        );
        assert_eq!(check(json!({"kind": "config"})), Err("kind".into()));
        assert_eq!(check(json!({"status": 503})), Err("status".into()));
        assert_eq!(
            check(json!({"contains": ["backend", "frontend"]})),
            Err("contains[1]".into())
        );
    }

    #[test]
    fn a_turn_without_an_error_does_not_fit() {
        let pattern: ErrorPattern = Node::root(&json!({})).read().unwrap();
        assert!(pattern.check(&TurnRecord::default()).is_err());
    }
}
