//! `catena check`: the configuration, the models and their keys, the agents, the store. Every problem in one report.

use catena_config::{Config, ModelConfig, StoreConfig};
use catena_core::chain_text;
use catena_models::providers;
use serde::Serialize;

use crate::app::App;
use crate::args;
use crate::error::{CliError, Exit, Result};
use crate::render::clean;
use crate::session::{self, model};

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    /// `configuration`, `model`, `agent` or `store`.
    what: &'static str,
    name: String,
    /// What it is, if it is well.
    #[serde(skip_serializing_if = "String::is_empty")]
    is: String,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
    /// What works and is probably not meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Finding {
    fn new(what: &'static str, name: impl Into<String>) -> Self {
        Self {
            what,
            name: name.into(),
            is: String::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn is(mut self, is: impl Into<String>) -> Self {
        self.is = is.into();
        self
    }

    /// Everything that an error has to say.
    fn failed(mut self, error: CliError) -> Self {
        match error {
            CliError::Config(problems) => self.problems.extend(problems),
            error => self.problems.push(chain_text(&error)),
        }
        self
    }

    fn problem(mut self, problem: impl Into<String>) -> Self {
        self.problems.push(problem.into());
        self
    }
}

/// Checks everything.
///
/// # Errors
/// If standard output cannot be written; what is found is no error but an exit code.
pub(crate) async fn check(app: &App, args: &args::Check) -> Result<Exit> {
    let findings = look(app).await;
    if args.json {
        let text = serde_json::to_string_pretty(&findings)
            .map_err(|error| CliError::Internal(format!("the report cannot be written: {error}")))?;
        app.output.line(&text)?;
    } else {
        findings.iter().try_for_each(|finding| show(app, finding))?;
    }
    let problems: usize = findings.iter().map(|finding| finding.problems.len()).sum();
    if problems > 0 && !args.json {
        app.output
            .note_line(&app.output.paint.red(&counted(problems, "problem")));
    }
    Ok(if problems == 0 { Exit::Done } else { Exit::Usage })
}

async fn look(app: &App) -> Vec<Finding> {
    let loaded = match app.load() {
        Ok(loaded) => loaded,
        Err(error) => {
            let name = app
                .global
                .config
                .as_ref()
                .map_or_else(|| "catena.toml".into(), |file| file.display().to_string());
            return vec![Finding::new("configuration", name).failed(error)];
        }
    };
    let name = match &loaded.file {
        Some(file) => file.display().to_string(),
        None => "none; a sensible agent is used".to_owned(),
    };
    let mut findings = vec![Finding::new("configuration", name).is("read")];
    findings.extend(
        loaded
            .config
            .models
            .iter()
            .map(|(name, entry)| of_model(app, name, entry)),
    );
    if loaded.config.models.is_empty() {
        findings.extend(unnamed(app, &loaded.config).await);
    }
    for agent in loaded.config.agents.keys() {
        findings.push(of_agent(app, loaded.config.clone(), agent).await);
    }
    findings.push(of_store(app, &loaded.config).await);
    findings
}

fn of_model(app: &App, name: &str, entry: &ModelConfig) -> Finding {
    let finding = Finding::new("model", name);
    match providers::connect(&entry.spec(), &**app.environment.reader()) {
        Ok(_) => finding.is(format!("{}, ready to be asked", entry.model)),
        Err(error) => finding.problem(chain_text(&error)),
    }
}

/// What answers where no model is named.
async fn unnamed(app: &App, config: &Config) -> Option<Finding> {
    let name = config.agent_name(None).ok()?;
    let finding = Finding::new("model", "not configured");
    Some(
        match model::origin(&args::Choice::default(), config, name, &app.environment) {
            model::Origin::Key { model, variable } => finding.is(format!("{model}, because {variable} is set")),
            model::Origin::Unsaid => match session::local::model(app, None).ok()?.is_provisioned().await {
                true => finding.is("the local model, which is provisioned"),
                false => finding.is("the scripted tour model; set a provider's key or use `--local` for a real one"),
            },
            _ => return None,
        },
    )
}

async fn of_agent(app: &App, mut config: Config, agent: &str) -> Finding {
    let finding = Finding::new("agent", agent);
    // A missing key is told once, at its model.
    match session::plan(app, &mut config, agent).await {
        Ok(built) => {
            let on = built.report.rows.iter().filter(|row| row.off.is_none()).count();
            let tools = built.agent.tools().len();
            let mut finding = finding.is(format!("{}, {}", counted(on, "middleware"), counted(tools, "tool")));
            finding.warnings = built.warnings;
            finding
        }
        Err(error) => finding.failed(error),
    }
}

async fn of_store(app: &App, config: &Config) -> Finding {
    let named = config.store.url.clone();
    let setup = match app.setup() {
        Ok(setup) => setup,
        Err(error) => return Finding::new("store", named.unwrap_or_default()).problem(chain_text(&error)),
    };
    let name = named.unwrap_or_else(|| setup.data_dir.join(StoreConfig::FILE).display().to_string());
    let finding = Finding::new("store", name);
    let opened = match catena_config::open_store(config, &setup).await {
        Ok(store) => store.list(1).await.map_err(CliError::from),
        Err(error) => Err(error.into()),
    };
    match opened {
        Ok(_) => finding.is("readable and writable"),
        Err(error) => finding.problem(chain_text(&error)),
    }
}

fn counted(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

fn show(app: &App, finding: &Finding) -> Result<()> {
    let paint = app.output.answer_paint;
    let mark = if finding.problems.is_empty() {
        paint.green("ok  ")
    } else {
        paint.red("bad ")
    };
    let is = if finding.is.is_empty() {
        String::new()
    } else {
        format!(": {}", finding.is)
    };
    app.output.line(&format!(
        "{mark} {} {}{}",
        finding.what,
        paint.bold(&clean(&finding.name)),
        clean(&is)
    ))?;
    for problem in &finding.problems {
        app.output
            .line(&format!("       {}", clean(problem).replace('\n', "\n       ")))?;
    }
    for warning in &finding.warnings {
        app.output
            .line(&format!("       {} {}", paint.yellow("warning:"), clean(warning)))?;
    }
    Ok(())
}
