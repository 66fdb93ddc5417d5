//! `cargo xtask conformance`: runs the program that plays the conformance scenarios.

use std::process::ExitCode;

use crate::artifacts::Artifacts;
use crate::command::{self, Finished};
use crate::error::{Error, Result};
use crate::workspace::Workspace;

/// The program's name.
const CONFORMANCE: &str = "catena-conformance";

/// Whether the workspace has the program.
pub(crate) fn exists(workspace: &Workspace) -> bool {
    let mut packages = workspace.packages.iter();
    packages.any(|package| package.targets("bin").any(|program| program.name == CONFORMANCE))
}

/// Plays the scenarios of `dir`, or the ones in the repository. The program's last line is ours, `N passed, N failed`, and so is its exit
/// code.
///
/// # Errors
/// If the program does not exist or does not build.
pub(crate) fn run(workspace: &Workspace, dir: Option<&str>) -> Result<ExitCode> {
    if !exists(workspace) {
        return Err(Error::new(format!(
            "no package of this workspace has a program {CONFORMANCE}"
        )));
    }
    let finished = with(workspace, &Artifacts::build(workspace)?, dir)?;
    let code = finished.status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// As [`run`], with a program that is built already.
///
/// # Errors
/// If the program cannot be started.
pub(crate) fn with(workspace: &Workspace, artifacts: &Artifacts, dir: Option<&str>) -> Result<Finished> {
    let mut program = artifacts.program(workspace, CONFORMANCE)?;
    // Against the folder the person stands in, not the workspace's root where the program will run.
    let dir = dir.map(|dir| std::path::absolute(dir).unwrap_or_else(|_| dir.into()));
    command::tee(program.args(dir))
}
