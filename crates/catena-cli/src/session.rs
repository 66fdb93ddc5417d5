//! What a command needs to run an agent: configuration, model, store, principal.

mod data_dir;
pub(crate) mod local;
pub(crate) mod model;
mod tour_model;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use catena_config::{Config, Setup};
use catena_core::Agent;
use catena_core::chain::ChainReport;
use catena_core::checkpoint::Checkpointer;
use catena_core::message::Part;
use catena_core::principal::Principal;
use catena_models::local::LocalServer;

use crate::app::App;
use crate::args::Choice;
use crate::attach;
use crate::error::{CliError, Result};
use crate::render::clean;
use crate::script::Script;
use crate::threads;

/// An agent that is ready to run, and what it stands on.
pub(crate) struct Session {
    pub(crate) agent: Agent,
    /// Its chain, with what is off and why.
    pub(crate) report: ChainReport,
    pub(crate) principal: Principal,
    /// The server of the local model, if this process started one. It ends with the session.
    server: Option<LocalServer>,
}

/// The configuration that holds, and where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    /// The file; none if nobody wrote one.
    pub(crate) file: Option<PathBuf>,
}

impl App {
    /// The configuration: the file that was named, the one that is found, or what is sensible without any.
    ///
    /// # Errors
    /// Everything that is wrong with the file.
    pub(crate) fn load(&self) -> Result<Loaded> {
        let here = Path::new("");
        let file = self
            .global
            .config
            .clone()
            .or_else(|| catena_config::discover(here, &**self.environment.reader()));
        let config = match &file {
            Some(file) => Config::load(file).map_err(|errors| CliError::config(&errors))?,
            None => Config::sensible(),
        };
        Ok(Loaded { config, file })
    }

    /// What the configuration does not say.
    pub(crate) fn setup(&self) -> Result<Setup> {
        Ok(Setup {
            env: self.environment.reader().clone(),
            default_model: None,
            data_dir: self.data_dir()?,
        })
    }

    /// Who runs are for.
    pub(crate) fn principal(&self, config: &Config) -> Principal {
        match &self.global.user {
            None => Principal::default(),
            Some(user) => config
                .principals
                .get(user)
                .cloned()
                .unwrap_or_else(|| Principal::user(user)),
        }
    }

    /// The store, for work on threads that needs no agent.
    ///
    /// # Errors
    /// What is wrong with the configuration, or with the database.
    pub(crate) async fn store(&self) -> Result<Arc<dyn Checkpointer>> {
        let loaded = self.load()?;
        Ok(catena_config::open_store(&loaded.config, &self.setup()?).await?)
    }
}

impl Session {
    /// Puts an agent together as the choice and the configuration say.
    ///
    /// # Errors
    /// Whatever stands in the way, with every problem of the configuration in one report.
    pub(crate) async fn open(app: &App, choice: &Choice) -> Result<Self> {
        let Loaded { mut config, .. } = app.load()?;
        let name = config
            .agent_name(choice.agent.as_deref())
            .map_err(|errors| CliError::config(&errors))?
            .to_owned();
        let mut setup = app.setup()?;
        let principal = app.principal(&config);
        if let Some(script) = &choice.script {
            return Self::scripted(&Script::load(script).await?, &config, &setup, name, principal).await;
        }
        let chosen = model::choose(app, choice, &mut config, &name, &mut setup).await?;
        let built = catena_config::build(&config, &name, &setup).await?;
        for warning in &built.warnings {
            app.output
                .note_line(&format!("{} {}", app.output.paint.yellow("warning:"), clean(warning)));
        }
        Ok(Self {
            agent: built.agent,
            report: built.report,
            principal,
            server: chosen.server,
        })
    }

    /// The same, for work on a thread: unless another agent is asked for, the one that worked on it last goes on with it.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) async fn open_for(app: &App, choice: &Choice, thread: Option<&str>) -> Result<Self> {
        let mut choice = choice.clone();
        if let (None, Some(thread)) = (&choice.agent, thread) {
            choice.agent = last_agent(app, thread).await?;
        }
        Self::open(app, &choice).await
    }

    /// An agent of a script, in the configuration's store.
    async fn scripted(
        script: &Script,
        config: &Config,
        setup: &Setup,
        name: String,
        principal: Principal,
    ) -> Result<Self> {
        let store = catena_config::open_store(config, setup).await?;
        let builder = Agent::builder(script.model("scripted:script")).name(name).store(store);
        let agent = script.equip(builder).build()?;
        Ok(Self {
            report: agent.chain(),
            agent,
            principal,
            server: None,
        })
    }

    /// The store of its threads.
    pub(crate) fn store(&self) -> &Arc<dyn Checkpointer> {
        self.agent.store()
    }

    /// Says what the model will not see of these attachments.
    pub(crate) fn warn_unseen(&self, app: &App, files: &[Part]) {
        for warning in files
            .iter()
            .filter_map(|part| attach::unseen(part, &**self.agent.model()))
        {
            app.output
                .note_line(&format!("{} {}", app.output.paint.yellow("warning:"), clean(&warning)));
        }
    }

    /// Waits for work in the background, and ends the local model's server.
    pub(crate) async fn close(self) {
        /// Titles and memories are being written; a person waits.
        const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
        if !self.agent.shutdown(PATIENCE).await {
            tracing::warn!("work in the background was not done in time");
        }
        if let Some(server) = self.server
            && let Err(error) = server.stop().await
        {
            tracing::warn!(%error, "the local model's server could not be stopped");
        }
    }
}

/// The agent that worked on a thread last, if the configuration still has it.
async fn last_agent(app: &App, thread: &str) -> Result<Option<String>> {
    let loaded = app.load()?;
    let store = catena_config::open_store(&loaded.config, &app.setup()?).await?;
    let id = threads::find_or_new(store.as_ref(), thread).await?;
    let agent = match threads::read(store.as_ref(), &id).await {
        Ok(thread) => thread.run().map(|run| run.start().agent.clone()),
        // A new thread.
        Err(CliError::Core(catena_core::Error::NoThread(_))) => None,
        Err(error) => return Err(error),
    };
    Ok(agent.filter(|agent| loaded.config.agents.contains_key(agent)))
}

impl From<catena_config::BuildError> for CliError {
    fn from(error: catena_config::BuildError) -> Self {
        match error {
            catena_config::BuildError::Store(error) => Self::Store(error),
            catena_config::BuildError::Config(errors) => Self::config(&errors),
            error => Self::Internal(catena_core::chain_text(&error)),
        }
    }
}

/// An agent's chain, built without keys, network or database: a variable that is not set holds a word that no provider will ever see.
///
/// # Errors
/// Every problem of the configuration.
pub(crate) async fn planned(app: &App, agent: Option<&str>) -> Result<(String, ChainReport)> {
    let Loaded { mut config, .. } = app.load()?;
    let name = config
        .agent_name(agent)
        .map_err(|errors| CliError::config(&errors))?
        .to_owned();
    let built = plan(app, &mut config, &name).await?;
    Ok((name, built.report))
}

/// See [`planned`].
///
/// # Errors
/// Every problem of the configuration.
pub(crate) async fn plan(app: &App, config: &mut Config, agent: &str) -> Result<catena_config::Built> {
    config.store.url = Some("sqlite::memory:".into());
    let reader = app.environment.reader().clone();
    let setup = Setup {
        env: Arc::new(move |name| {
            reader(name)
                .filter(|value| !value.trim().is_empty())
                .or_else(|| Some("not-set".into()))
        }),
        default_model: Some(Arc::new(tour_model::TourModel::new())),
        data_dir: PathBuf::new(),
    };
    Ok(catena_config::build(config, agent, &setup).await?)
}
