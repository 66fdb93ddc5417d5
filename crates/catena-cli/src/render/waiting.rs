//! The line that says what is being waited for.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Output;

/// How often it turns; faster would only cost battery.
const TICK: Duration = Duration::from_millis(120);

/// A spinner on standard error, if that is a terminal; gone before anything else is written.
#[derive(Debug)]
pub(crate) struct Waiting {
    lively: bool,
    bar: Option<ProgressBar>,
}

impl Waiting {
    /// Nothing is waited for yet.
    pub(crate) fn new(output: &Output) -> Self {
        Self {
            lively: output.lively,
            bar: None,
        }
    }

    /// Waits for this from now on.
    pub(crate) fn start(&mut self, what: String) {
        if !self.lively {
            return;
        }
        match &self.bar {
            Some(bar) => bar.set_message(what),
            None => {
                let bar = ProgressBar::new_spinner().with_message(what);
                if let Ok(style) = ProgressStyle::with_template("{spinner:.dim} {wide_msg:.dim} {elapsed:.dim}") {
                    bar.set_style(style);
                }
                bar.enable_steady_tick(TICK);
                self.bar = Some(bar);
            }
        }
    }

    /// Clears the line.
    pub(crate) fn stop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.stop();
    }
}
