//! From a text to a configuration in which everything that a name stands for is there.

mod agents;
mod middleware;
mod models;
mod names;
mod output;
mod secrets;
mod store;

use std::path::Path;
use std::sync::Arc;

use crate::config::{AgentConfig, Config};
use crate::node;
use crate::origin::Origin;
use crate::problem::{ConfigErrors, Problem};
use crate::registry::Registry;
use crate::schema;
use crate::shape::Shape;
use crate::source::Source;
use names::Names;

pub(crate) use output::read as read_output;

/// What is checked, and what is wrong with it so far.
struct Check<'a> {
    config: &'a Config,
    /// Names as they stand in the file, those of things included that are wrong in themselves: they are not missing too.
    names: &'a Names,
    problems: Vec<Problem>,
}

/// Reads and checks a text.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn read(text: &str, path: &Path, registry: Registry) -> Result<Config, ConfigErrors> {
    let source = Source::new(path, text);
    let mut root = match node::parse(&source) {
        Ok(root) => root,
        Err(problems) => return ConfigErrors::check(problems).map(|()| Config::sensible()),
    };
    let mut problems = Vec::new();
    secrets::take(&source, &mut root, &mut problems);
    let names = Names::of(&root);
    let shape = Shape {
        source: &source,
        root: schema::of_file(),
    };
    shape.check(&mut root, shape.root, &mut problems);
    let mut config: Config = match serde_json::from_value(root.to_json()) {
        Ok(config) => config,
        Err(error) => {
            problems.push(Problem::of_file(path, error.to_string()));
            Config::default()
        }
    };
    config.origin = Arc::new(Origin { source, root, registry });
    if names.agents.is_empty() {
        config
            .agents
            .insert(AgentConfig::DEFAULT_NAME.to_owned(), AgentConfig::sensible());
    }
    let mut check = Check {
        config: &config,
        names: &names,
        problems,
    };
    check.everything();
    ConfigErrors::check(check.problems)?;
    Ok(config)
}

impl Check<'_> {
    fn everything(&mut self) {
        self.models();
        self.default_agent();
        self.agents();
        self.store();
    }
}
