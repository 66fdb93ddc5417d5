//! Pauses: questions that a run waits for, and their answers.
//!
//! Gates and tools may pause a run, nothing else: both resume at one call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{CallId, PauseId};

/// What a gate or a tool asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InterruptRequest {
    /// What a person reads.
    pub description: String,
    /// Which decisions are possible. A question of a tool's own has [`DecisionKind::Respond`].
    pub allowed: Vec<DecisionKind>,
    /// What programs read, such as options to choose from.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub payload: Value,
    /// JSON Schema that the value of a [`Decision::Respond`] must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Value>,
}

impl InterruptRequest {
    /// Asks whether a call may run: approve, edit or reject.
    pub fn approval(description: impl Into<String>) -> Self {
        use DecisionKind::{Approve, Edit, Reject};
        Self {
            description: description.into(),
            allowed: vec![Approve, Edit, Reject],
            payload: Value::Null,
            answer_schema: None,
        }
    }

    /// Asks something that only a person knows.
    pub fn question(text: impl Into<String>) -> Self {
        Self {
            description: text.into(),
            allowed: vec![DecisionKind::Respond],
            payload: Value::Null,
            answer_schema: None,
        }
    }

    /// With the possible decisions.
    #[must_use]
    pub fn allow(mut self, allowed: impl Into<Vec<DecisionKind>>) -> Self {
        self.allowed = allowed.into();
        self
    }

    /// With something for programs.
    #[must_use]
    pub fn payload(mut self, payload: Value) -> Self {
        self.payload = payload;
        self
    }

    /// Whether it can be answered at all: nobody can fix a question that is asked already.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.answer_schema
            .as_ref()
            .map_or(Ok(()), |schema| validator(schema).map(drop))
    }

    /// With a schema for the answer. A question whose schema is not valid is not asked: the call fails instead.
    #[must_use]
    pub fn answer_schema(mut self, schema: Value) -> Self {
        self.answer_schema = Some(schema);
        self
    }
}

fn validator(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::validator_for(schema).map_err(|error| format!("the question's `answer_schema` is not valid: {error}"))
}

/// A question that a run waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// What an answer names.
    pub id: PauseId,
    /// The call it stands at.
    pub call: CallId,
    /// The tool that is called.
    pub tool: String,
    /// The input as it would run.
    pub input: Value,
    /// Who asks: names of middlewares, or the tool itself.
    pub asked_by: Asker,
    /// What is asked.
    pub request: InterruptRequest,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// Gates of these middlewares; the call has not started.
    Gates(Vec<String>),
    /// The tool, in the middle of its call.
    Tool,
}

/// The kinds of [`Decision`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// See [`Decision::Approve`].
    Approve,
    /// See [`Decision::Edit`].
    Edit,
    /// See [`Decision::Reject`].
    Reject,
    /// See [`Decision::Respond`].
    Respond,
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Decision {
    /// The call may run as shown.
    Approve,
    /// The call runs with this input, or as a call of another tool. All gates are asked again.
    Edit {
        /// Another tool to call instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The input.
        #[serde(alias = "args")]
        input: Value,
    },
    /// The call does not run; the model is told so.
    Reject {
        /// What the model is told beside it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// For a gate: the call does not run, and this is its successful result. For a tool's question: the answer.
    Respond {
        /// The result or the answer.
        #[serde(alias = "message")]
        value: Value,
    },
}

impl Decision {
    /// Which kind it is.
    pub fn kind(&self) -> DecisionKind {
        match self {
            Self::Approve => DecisionKind::Approve,
            Self::Edit { .. } => DecisionKind::Edit,
            Self::Reject { .. } => DecisionKind::Reject,
            Self::Respond { .. } => DecisionKind::Respond,
        }
    }
}

/// The answer to one pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The pause it answers.
    pub pause: PauseId,
    /// The answer.
    pub decision: Decision,
}

impl Pause {
    /// Checks an answer before it is stored.
    ///
    /// # Errors
    /// What is wrong with it. The pause stays as it was.
    pub fn check(&self, decision: &Decision) -> Result<(), String> {
        let kind = decision.kind();
        if !self.request.allowed.contains(&kind) {
            let allowed: Vec<_> = self
                .request
                .allowed
                .iter()
                .map(|k| format!("{k:?}").to_lowercase())
                .collect();
            return Err(format!(
                "`{}` is not allowed here; allowed: {}",
                format!("{kind:?}").to_lowercase(),
                allowed.join(", ")
            ));
        }
        match decision {
            Decision::Edit { input, .. } if !input.is_object() => {
                Err("the edited input must be a JSON object".to_owned())
            }
            Decision::Respond { value } => match &self.request.answer_schema {
                Some(schema) => validator(schema)?.validate(value).map_err(|error| error.to_string()),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pause(request: InterruptRequest) -> Pause {
        Pause {
            id: "p".into(),
            call: "c".into(),
            tool: "send".into(),
            input: json!({}),
            asked_by: Asker::Gates(vec!["human".into()]),
            request,
        }
    }

    #[test]
    fn only_allowed_decisions_pass() {
        let pause = pause(InterruptRequest::approval("send?"));
        assert!(pause.check(&Decision::Approve).is_ok());
        let error = pause.check(&Decision::Respond { value: json!("x") }).unwrap_err();
        assert!(
            error.contains("respond") && error.contains("approve, edit, reject"),
            "{error}"
        );
    }

    #[test]
    fn an_answer_must_fit_its_schema() {
        let pause = pause(InterruptRequest::question("how many?").answer_schema(json!({"type": "integer"})));
        assert!(pause.check(&Decision::Respond { value: json!(3) }).is_ok());
        assert!(pause.check(&Decision::Respond { value: json!("three") }).is_err());
    }

    #[test]
    fn a_schema_that_is_not_valid_is_an_error_and_no_panic() {
        let pause = pause(InterruptRequest::question("how many?").answer_schema(json!({"type": "whole number"})));
        assert!(pause.request.check().unwrap_err().contains("`answer_schema`"));
        let error = pause.check(&Decision::Respond { value: json!(3) }).unwrap_err();
        assert!(error.contains("`answer_schema`"), "{error}");
    }

    #[test]
    fn an_edit_is_an_object() {
        let pause = pause(InterruptRequest::approval("send?"));
        assert!(
            pause
                .check(&Decision::Edit {
                    name: None,
                    input: json!([1])
                })
                .is_err()
        );
    }
}
