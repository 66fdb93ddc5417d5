//! A scripted tool: it notes every execution and does what its step says.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use catena_core::tool::{Tool, ToolContext, ToolError, ToolOutcome, ToolOutput, ToolSpec as CoreSpec};
use serde_json::Value;

use super::log::Log;
use crate::observed::Execution;
use crate::scenario::{Step, ToolSpec};

/// A tool with the behaviour of a scenario. Executions are counted over all agents that have it.
pub(super) struct SteppedTool {
    script: ToolSpec,
    spec: CoreSpec,
    executions: AtomicUsize,
    log: Arc<Log>,
}

impl SteppedTool {
    pub(super) fn new(script: ToolSpec, log: Arc<Log>) -> Self {
        Self {
            spec: CoreSpec::new(&script.name, &script.description, script.schema()),
            script,
            executions: AtomicUsize::new(0),
            log,
        }
    }
}

#[async_trait]
impl Tool for SteppedTool {
    fn spec(&self) -> &CoreSpec {
        &self.spec
    }

    async fn call(&self, _: ToolContext, input: Value) -> Result<ToolOutcome, ToolError> {
        let step = self
            .script
            .step(self.executions.fetch_add(1, Ordering::Relaxed), &input);
        self.log.execution(Execution {
            name: self.script.name.clone(),
            args: input,
        });
        match step {
            Step::Return(text) => Ok(ToolOutput::text(text.0).into()),
            Step::Error { message, kind } => {
                let error = ToolError::new(message.0);
                Err(kind.into_iter().fold(error, ToolError::kind))
            }
        }
    }
}
