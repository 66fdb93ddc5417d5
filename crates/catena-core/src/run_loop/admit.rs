//! The first step: `before_agent`, and the input becomes part of the thread.

use super::runner::Runner;
use crate::context::Intake;
use crate::error::{Error, Result};
use crate::middleware::EndingOutcome;
use crate::record::Entry;

impl Runner {
    pub(super) async fn admit(&mut self) -> Result<()> {
        let Some((start, input)) = self.input.clone() else {
            // Start and admission are one commit, so a record has both or neither.
            return Err(Error::Other("the run has no input to admit".into()));
        };
        let mut intake = Intake::new(self.run.clone(), input);
        let stopped = self.agent.chain.before_agent(&mut intake).await?;
        let refused = matches!(&stopped, Some((_, ending)) if matches!(ending.outcome, EndingOutcome::Failed(_)));
        if refused {
            // An input that a middleware fails the run for, such as forbidden data, is not stored.
            let (by, ending) = stopped.ok_or(Error::Cancelled)?;
            return self.end(&by, ending, Vec::new()).await;
        }
        let mut entries = vec![
            Entry::RunStarted(start),
            Entry::Admitted {
                input: (*intake.input).clone(),
                prompt: intake.prompt.sections().to_vec(),
            },
        ];
        entries.append(&mut intake.staged);
        match stopped {
            Some((by, ending)) => self.end(&by, ending, entries).await,
            None => self.commit(entries).await,
        }
    }
}
