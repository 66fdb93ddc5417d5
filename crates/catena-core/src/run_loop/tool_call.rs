//! One call at work: its tool, within limits, inside the wraps.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::chain::{BaseTool, Chain, NextTool};
use crate::context::RunContext;
use crate::error::{Error, Result};
use crate::interrupt::Decision;
use crate::message::ToolCall;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutcome, ToolOutput};

/// Everything a call needs, so that it can work on a task of its own.
pub(super) struct ToolWork {
    pub(super) chain: Arc<Chain>,
    pub(super) run: RunContext,
    pub(super) tool: Arc<dyn Tool>,
    pub(super) call: ToolCall,
    pub(super) answer: Option<Decision>,
}

/// How a call came out.
pub(super) struct Worked {
    pub(super) call: ToolCall,
    pub(super) outcome: Result<ToolOutcome>,
    pub(super) digest: Option<String>,
    pub(super) duration: Duration,
}

impl ToolWork {
    pub(super) async fn run(self) -> Worked {
        let started = Instant::now();
        let run = self.run.for_call(&self.call);
        let base = Base {
            run: run.clone(),
            tool: self.tool,
            answer: self.answer,
            attempts: AtomicU32::new(0),
            digest: Mutex::default(),
        };
        let outcome = NextTool::new(&self.chain, &run, &base).call(self.call.clone()).await;
        let digest = base.digest.into_inner().unwrap_or_else(PoisonError::into_inner);
        Worked {
            call: self.call,
            outcome,
            digest,
            duration: started.elapsed(),
        }
    }
}

struct Base {
    run: RunContext,
    tool: Arc<dyn Tool>,
    answer: Option<Decision>,
    attempts: AtomicU32,
    /// Of the last attempt's output.
    digest: Mutex<Option<String>>,
}

impl Base {
    async fn work(&self, call: ToolCall) -> Result<ToolOutcome> {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        let spec = self.tool.spec();
        // A wrap may have changed the input.
        spec.validate(&call.input).map_err(|problem| {
            ToolError::new(format!(
                "the input of `{}` does not fit its schema: {problem}",
                spec.name
            ))
            .kind("invalid_input")
            .permanent()
        })?;
        let context = ToolContext {
            run: self.run.clone(),
            call: call.id,
            answer: self.answer.clone(),
        };
        let work = self
            .tool
            .call(context, call.input)
            .map(|result| result.map_err(Error::Tool));
        let what = || format!("tool `{}`", spec.name);
        let outcome = crate::chain::protect(what, Some(spec.time_limit), Box::pin(work)).await;
        if let Ok(ToolOutcome::Output(output)) = &outcome {
            *self.digest.lock().unwrap_or_else(PoisonError::into_inner) = Some(digest(output));
        }
        outcome
    }
}

impl BaseTool for Base {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutcome>> {
        Box::pin(self.work(call))
    }

    fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    fn answer(&self) -> Option<&Decision> {
        self.answer.as_ref()
    }

    fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }
}

/// SHA-256 of what the tool gave, before anyone changed it: loop guards compare it.
fn digest(output: &ToolOutput) -> String {
    let mut hash = Sha256::new();
    for part in output.parts.iter() {
        match part.as_text() {
            Some(text) => hash.update(text),
            // Parts serialise: they are wire types without maps whose keys are not strings.
            None => hash.update(serde_json::to_vec(part).unwrap_or_default()),
        }
        hash.update([0]);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
