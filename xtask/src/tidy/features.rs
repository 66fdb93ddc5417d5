//! Whether each cargo feature of our crates builds alone: somebody will use exactly that one.

use crate::command;
use crate::error::{Error, Result};
use crate::workspace::{Package, Workspace};

/// Checks every crate without features and with each one alone.
///
/// # Errors
/// If one does not build; cargo has said why before, the text lists the commands.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut problems = Vec::new();
    let crates = workspace.packages.iter().filter(|package| is_ours(&package.name));
    for arguments in crates.flat_map(combinations) {
        let mut cargo = command::cargo(&workspace.root);
        let finished = command::tee(cargo.arg("check").arg("--quiet").args(&arguments))?;
        if !finished.status.success() {
            problems.push(format!("`cargo check {}` fails", arguments.join(" ")));
        }
    }
    Error::unless_empty("features", &problems)?;
    println!("features: each builds alone");
    Ok(())
}

fn is_ours(name: &str) -> bool {
    name == "catena" || name.starts_with("catena-")
}

/// Arguments of `cargo check`. A crate without features has nothing to leave out: the tests build it.
fn combinations(package: &Package) -> Vec<Vec<String>> {
    let base = ["--package", &package.name, "--no-default-features"];
    let base: Vec<String> = base.map(str::to_owned).into();
    let mut all = Vec::new();
    if !package.features.is_empty() {
        all.push(base.clone());
    }
    for feature in &package.features {
        let mut one = base.clone();
        one.extend(["--features".to_owned(), feature.clone()]);
        all.push(one);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_tried_alone_and_none_too() {
        let package = |features: &[&str]| Package {
            name: "catena-models".into(),
            dir: "crates/catena-models".into(),
            targets: Vec::new(),
            features: features.iter().map(|name| (*name).to_owned()).collect(),
        };
        let shown: Vec<String> = combinations(&package(&["local", "providers"]))
            .iter()
            .map(|arguments| arguments.join(" "))
            .collect();
        assert_eq!(
            shown,
            [
                "--package catena-models --no-default-features",
                "--package catena-models --no-default-features --features local",
                "--package catena-models --no-default-features --features providers",
            ]
        );
        assert!(combinations(&package(&[])).is_empty());
    }
}
