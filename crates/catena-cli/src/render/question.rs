//! A question that a run waits for, as a person reads it.

use catena_core::interrupt::{Asker, DecisionKind, Pause};

use super::clean;
use crate::output::Paint;

/// The question with the call it stands at. Nothing of the input is cut: a person decides by it.
pub(crate) fn question(pause: &Pause, paint: Paint) -> String {
    let mut text = format!(
        "{} {}\n",
        paint.yellow("?"),
        paint.bold(&clean(&pause.request.description))
    );
    if let Asker::Gates(_) = pause.asked_by {
        let input = serde_json::to_string_pretty(&pause.input).unwrap_or_default();
        let input = clean(&input).replace('\n', "\n  ");
        text.push_str(&format!("  {} {input}\n", paint.cyan(&clean(&pause.tool))));
    }
    if !pause.request.payload.is_null() {
        let payload = serde_json::to_string_pretty(&pause.request.payload).unwrap_or_default();
        text.push_str(&format!("  {}\n", paint.dim(&clean(&payload).replace('\n', "\n  "))));
    }
    text
}

/// A decision's word.
pub(crate) fn word(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Approve => "approve",
        DecisionKind::Edit => "edit",
        DecisionKind::Reject => "reject",
        DecisionKind::Respond => "respond",
    }
}
