//! Programs and examples, built the way the tests are built.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::command;
use crate::error::{Error, Result};
use crate::workspace::Workspace;

/// Something cargo built that can be run.
pub(crate) struct Artifact {
    pub(crate) name: String,
    /// `bin` or `example`.
    pub(crate) kind: String,
    pub(crate) path: PathBuf,
}

/// Everything that was built.
pub(crate) struct Artifacts {
    all: Vec<Artifact>,
}

impl Artifacts {
    /// Builds all programs and examples.
    ///
    /// The whole workspace with all features, not one package: cargo then chooses the same features for every dependency as for the tests,
    /// and builds none of them a second time.
    ///
    /// # Errors
    /// If something does not build; cargo has said why.
    pub(crate) fn build(workspace: &Workspace) -> Result<Self> {
        let mut cargo = command::cargo(&workspace.root);
        cargo.args(["build", "--quiet", "--workspace", "--all-features"]);
        cargo.args(["--bins", "--examples", "--message-format", "json-render-diagnostics"]);
        let finished = command::capture(&mut cargo)?;
        if !finished.status.success() {
            return Err(Error::new("the programs and examples do not build, see above"));
        }
        Ok(Self {
            all: finished.out.lines().filter_map(artifact).collect(),
        })
    }

    /// The program of that name, ready to run in the workspace's root.
    ///
    /// # Errors
    /// If no package has such a program.
    pub(crate) fn program(&self, workspace: &Workspace, name: &str) -> Result<Command> {
        let found = self
            .all
            .iter()
            .find(|artifact| artifact.kind == "bin" && artifact.name == name);
        let found = found.ok_or_else(|| Error::new(format!("no package builds a program `{name}`")))?;
        let mut command = Command::new(&found.path);
        command.current_dir(&workspace.root);
        Ok(command)
    }

    /// The built example of that name.
    pub(crate) fn example(&self, name: &str) -> Option<&Artifact> {
        self.all
            .iter()
            .find(|artifact| artifact.kind == "example" && artifact.name == name)
    }
}

fn artifact(line: &str) -> Option<Artifact> {
    let message: Value = serde_json::from_str(line).ok()?;
    let path = message.get("executable")?.as_str()?;
    let target = message.get("target")?;
    Some(Artifact {
        name: target.get("name")?.as_str()?.to_owned(),
        kind: target.get("kind")?.get(0)?.as_str()?.to_owned(),
        path: path.into(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_messages_about_something_that_runs_are_artifacts() {
        let program =
            r#"{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"catena"},"executable":"/t/catena"}"#;
        let found = artifact(program).unwrap();
        assert_eq!((found.kind.as_str(), found.name.as_str()), ("bin", "catena"));
        let library = r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"catena"},"executable":null}"#;
        assert!(artifact(library).is_none());
        assert!(artifact("   Compiling catena").is_none());
    }
}
