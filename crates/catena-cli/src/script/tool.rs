//! The tools of a script, and the gate before them.

use std::time::Duration;

use catena_core::interrupt::{Decision, InterruptRequest};
use catena_core::middleware::{Middleware, ToolDecision, gate_fn};
use catena_core::tool::{Tool, ToolError, ToolOutcome, ToolOutput, ToolSpec, json_tool};
use serde_json::{Value, json};

use super::ScriptedTool;

/// How long a scripted tool may work: a test that kills a process in the middle of a call needs time to do so.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// A tool that does what the script says.
pub(super) fn tool(script: &ScriptedTool) -> impl Tool {
    let mut spec = ToolSpec::new(&script.name, "A tool of a script.", json!({"type": "object"})).time_limit(TIME_LIMIT);
    spec.repeatable = script.repeatable;
    let script = script.clone();
    json_tool(spec, move |input: Value, context| {
        let script = script.clone();
        async move {
            if let (Some(question), None) = (&script.ask, context.answer()) {
                return Ok(ToolOutcome::Interrupt(InterruptRequest::question(question)));
            }
            if let Some(Decision::Respond { value }) = context.answer() {
                return Ok(ToolOutput::text(value.as_str().map_or_else(|| value.to_string(), str::to_owned)).into());
            }
            tokio::time::sleep(Duration::from_millis(script.delay_ms)).await;
            if script.panic {
                #[expect(clippy::panic, reason = "a script may ask for a tool that panics")]
                {
                    panic!("the script says so");
                }
            }
            match script.fail {
                Some(words) => Err(ToolError::new(words)),
                None => Ok(ToolOutput::text(script.result.unwrap_or_else(|| input.to_string())).into()),
            }
        }
    })
}

/// Refuses what the script refuses, and asks about what a person has to approve.
pub(super) fn gate(tools: &[ScriptedTool]) -> impl Middleware {
    let tools = tools.to_vec();
    gate_fn("script", move |_turn, call| {
        let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else {
            return Ok(ToolDecision::Allow);
        };
        Ok(match (&tool.block, tool.approve) {
            (Some(words), _) => ToolDecision::block(words),
            (None, true) => ToolDecision::Interrupt(
                InterruptRequest::approval(format!("May `{}` run?", call.name)).allow(vec![
                    catena_core::interrupt::DecisionKind::Approve,
                    catena_core::interrupt::DecisionKind::Edit,
                    catena_core::interrupt::DecisionKind::Reject,
                    catena_core::interrupt::DecisionKind::Respond,
                ]),
            ),
            (None, false) => ToolDecision::Allow,
        })
    })
}
