//! What cargo knows about the workspace: its packages, their targets, features and files, and the licences of what they use.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::command;
use crate::error::{Doing, Error, Result};

/// The workspace, as `cargo metadata` describes it.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Our own packages, by name.
    pub(crate) packages: Vec<Package>,
    /// Packages of others.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One of our packages.
pub(crate) struct Package {
    pub(crate) name: String,
    /// The folder of its manifest.
    pub(crate) dir: PathBuf,
    pub(crate) targets: Vec<Target>,
    /// Names of its features, without `default`.
    pub(crate) features: Vec<String>,
}

/// What cargo builds out of a package.
pub(crate) struct Target {
    pub(crate) name: String,
    /// `lib`, `proc-macro`, `bin`, `test`, `example`, `bench`, …
    pub(crate) kind: String,
    pub(crate) path: PathBuf,
}

/// A package we use.
pub(crate) struct Dependency {
    /// Name and version.
    pub(crate) name: String,
    /// The SPDX expression of its manifest, if it has one.
    pub(crate) license: Option<String>,
}

/// What a Rust file of a package is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Under `src/`.
    Product,
    /// Under `tests/`.
    Test,
    /// Under `examples/` or `benches/`.
    Sample,
}

impl Workspace {
    /// Asks cargo.
    ///
    /// # Errors
    /// If cargo fails or says something we cannot read.
    pub(crate) fn load() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .ok_or_else(|| Error::new("xtask is not inside a workspace"))?;
        Self::parse(&metadata(root)?)
    }

    fn parse(text: &str) -> Result<Self> {
        let metadata: Value = serde_json::from_str(text).doing("cannot read what `cargo metadata` printed")?;
        let root = PathBuf::from(string(&metadata, "workspace_root")?);
        let ours: Vec<&str> = list(&metadata, "workspace_members")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let mut packages = Vec::new();
        let mut dependencies = Vec::new();
        for package in list(&metadata, "packages") {
            let name = string(package, "name")?;
            if ours.contains(&string(package, "id")?) {
                packages.push(Package::parse(package)?);
            } else {
                dependencies.push(Dependency {
                    name: format!("{name} {}", string(package, "version")?),
                    license: package.get("license").and_then(Value::as_str).map(str::to_owned),
                });
            }
        }
        packages.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self {
            root,
            packages,
            dependencies,
        })
    }

    /// The package of that name.
    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    /// `path` from the root, with `/` on every system: what a person reads.
    pub(crate) fn relative(&self, path: &Path) -> String {
        relative(&self.root, path)
    }
}

impl Package {
    fn parse(package: &Value) -> Result<Self> {
        let manifest = PathBuf::from(string(package, "manifest_path")?);
        let targets = list(package, "targets").iter().map(|target| {
            Ok(Target {
                name: string(target, "name")?.to_owned(),
                kind: list(target, "kind")
                    .first()
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                path: PathBuf::from(string(target, "src_path")?),
            })
        });
        let features = package.get("features").and_then(Value::as_object);
        Ok(Self {
            name: string(package, "name")?.to_owned(),
            dir: manifest.parent().unwrap_or(&manifest).to_owned(),
            targets: targets.collect::<Result<_>>()?,
            features: features
                .into_iter()
                .flat_map(serde_json::Map::keys)
                .filter(|name| *name != "default")
                .cloned()
                .collect(),
        })
    }

    /// Targets of one kind.
    pub(crate) fn targets<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Target> {
        self.targets.iter().filter(move |target| target.kind == kind)
    }

    /// All Rust files of the package, sorted.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub(crate) fn rust_files(&self) -> Result<Vec<(Role, PathBuf)>> {
        let folders = [
            (Role::Product, "src"),
            (Role::Test, "tests"),
            (Role::Sample, "examples"),
            (Role::Sample, "benches"),
        ];
        let mut found = Vec::new();
        for (role, folder) in folders {
            let files = files_under(&self.dir.join(folder))?;
            let rust = files
                .into_iter()
                .filter(|file| file.extension().is_some_and(|ext| ext == "rs"));
            found.extend(rust.map(|file| (role, file)));
        }
        Ok(found)
    }
}

/// Every file below `folder`, sorted; none if there is no such folder.
///
/// # Errors
/// If a folder cannot be read.
pub(crate) fn files_under(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop().filter(|folder| folder.is_dir()) {
        let entries = fs::read_dir(&folder).doing(format_args!("cannot list {}", folder.display()))?;
        for entry in entries {
            let path = entry.doing(format_args!("cannot list {}", folder.display()))?.path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// `path` from `root`, with `/` on every system.
pub(crate) fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

/// Reads a text file.
///
/// # Errors
/// If it cannot be read; the text names it.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).doing(format_args!("cannot read {}", path.display()))
}

fn metadata(root: &Path) -> Result<String> {
    let mut command = command::cargo(root);
    command.args(["metadata", "--format-version", "1", "--all-features"]);
    command::read(&mut command).or_else(|first| {
        // Packages for other systems are downloaded only to read their manifests. Without a network this system's must do.
        let host = command::read(command::cargo(root).arg("-vV"))?;
        let host = host.lines().find_map(|line| line.strip_prefix("host: "));
        command.args(["--offline", "--filter-platform", host.unwrap_or_default()]);
        command::read(&mut command).map_err(|_| first)
    })
}

fn string<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    let found = value.get(key).and_then(Value::as_str);
    found.ok_or_else(|| Error::new(format!("`cargo metadata` printed no `{key}`")))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn metadata_is_split_into_ours_and_theirs() {
        let text = r#"{"workspace_root": "/w", "workspace_members": ["a"], "packages": [
            {"id": "a", "name": "ours", "version": "1.0.0", "manifest_path": "/w/crates/ours/Cargo.toml",
             "targets": [{"name": "ours", "kind": ["lib"], "src_path": "/w/crates/ours/src/lib.rs"}],
             "features": {"default": [], "full": []}},
            {"id": "b", "name": "theirs", "version": "2.1.0", "manifest_path": "/r/Cargo.toml", "targets": [], "license": "MIT"}]}"#;
        let workspace = Workspace::parse(text).unwrap();
        let ours = workspace.package("ours").unwrap();
        assert_eq!(workspace.relative(&ours.dir), "crates/ours");
        assert_eq!(ours.features, ["full"]);
        assert_eq!(ours.targets("lib").count(), 1);
        assert_eq!(workspace.dependencies[0].name, "theirs 2.1.0");
        assert_eq!(workspace.dependencies[0].license.as_deref(), Some("MIT"));
    }

    #[test]
    fn files_are_found_below_a_folder_and_a_missing_folder_has_none() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("b/c")).unwrap();
        fs::write(dir.path().join("b/c/two.rs"), "").unwrap();
        fs::write(dir.path().join("one.rs"), "").unwrap();
        let found = files_under(dir.path()).unwrap();
        let found: Vec<_> = found.iter().map(|file| relative(dir.path(), file)).collect();
        assert_eq!(found, ["b/c/two.rs", "one.rs"]);
        assert!(files_under(&dir.path().join("none")).unwrap().is_empty());
    }
}
