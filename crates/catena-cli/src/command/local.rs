//! `catena local`: the server of the local model.

use catena_models::local::{DetachedStart, DetachedStatus, DetachedStop};

use crate::app::App;
use crate::args;
use crate::error::{Exit, Result};
use crate::render::waiting::Waiting;
use crate::session::local;

/// Does what was asked of it.
///
/// # Errors
/// What is missing or failed, with what to do.
pub(crate) async fn local(app: &App, args: args::Local) -> Result<Exit> {
    match args {
        args::Local::Status => status(app).await,
        args::Local::Start { gguf } => {
            let model = local::model(app, gguf.as_deref())?;
            local::provision(&model, &app.output).await?;
            let mut waiting = Waiting::new(&app.output);
            waiting.start("starting".into());
            let started = model.start_detached().await?;
            waiting.stop();
            let (word, state) = match started {
                DetachedStart::Started(state) => ("started", state),
                DetachedStart::AlreadyRunning(state) => ("was running already", state),
                _ => return Ok(Exit::Done),
            };
            app.output.line(&format!(
                "{word}: {} (model `{}`, process {})",
                state.base_url(),
                state.model,
                state.pid
            ))?;
            app.output.hint(
                "`catena chat` uses it from now on where nothing else is configured; `catena local stop` ends it",
            );
            Ok(Exit::Done)
        }
        args::Local::Stop => {
            let word = match local::model(app, None)?.stop_detached().await? {
                DetachedStop::NotRunning => "no server is running",
                DetachedStop::Killed => "stopped by force",
                _ => "stopped",
            };
            app.output.line(word)?;
            Ok(Exit::Done)
        }
    }
}

async fn status(app: &App) -> Result<Exit> {
    let model = local::model(app, None)?;
    let provisioned = if model.is_provisioned().await {
        "provisioned"
    } else {
        "not provisioned; `catena local start` fetches it"
    };
    app.output.line(&format!("model   {provisioned}"))?;
    let server = match model.status().await? {
        DetachedStatus::Stopped => "stopped".to_owned(),
        DetachedStatus::Stale => "stopped (it ended by itself)".to_owned(),
        DetachedStatus::Running(state) => {
            format!(
                "running at {} (process {}), serving {}",
                state.base_url(),
                state.pid,
                state.weights.display()
            )
        }
        DetachedStatus::Unresponsive(state) => format!(
            "process {} is there but does not answer; `catena local stop` ends it",
            state.pid
        ),
        _ => "unknown".to_owned(),
    };
    app.output.line(&format!("server  {server}"))?;
    Ok(Exit::Done)
}
