//! `catena chain`: an agent's chain as resolved.
//!
//! It needs no key and no network: the chain is built with a model that is never asked, wherever the configured one cannot be connected.

use crate::app::App;
use crate::args;
use crate::error::{CliError, Exit, Result};
use crate::render::clean;
use crate::session::planned;

/// Shows it.
///
/// # Errors
/// If the agent cannot be built.
pub(crate) async fn chain(app: &App, args: &args::Chain) -> Result<Exit> {
    let (name, report) = planned(app, args.agent.as_deref()).await?;
    if args.json {
        let text = serde_json::to_string_pretty(&report)
            .map_err(|error| CliError::Internal(format!("the chain cannot be written: {error}")))?;
        app.output.line(&text)?;
        return Ok(Exit::Done);
    }
    app.output
        .line(&format!("Chain of `{}`", app.output.answer_paint.bold(&clean(&name))))?;
    app.output.answer(&render(&report))?;
    Ok(Exit::Done)
}

/// The table, and each hook's order.
pub(crate) fn render(report: &catena_core::chain::ChainReport) -> String {
    if report.rows.is_empty() {
        return "No middleware: input, model and tools, nothing in between.\n".into();
    }
    let mut text = clean(&report.to_string()).into_owned();
    if !report.hooks.is_empty() {
        text.push_str("\nhook by hook\n");
    }
    for (hook, names) in report.hooks.iter().filter(|(_, names)| !names.is_empty()) {
        text.push_str(&format!("  {:17} {}\n", hook.as_str(), clean(&names.join(" → "))));
    }
    text
}
