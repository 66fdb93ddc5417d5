//! Where a configuration is looked for.

use std::path::{Path, PathBuf};

/// The file that holds in `directory`: its `catena.toml`, else `$XDG_CONFIG_HOME/catena/catena.toml`, where the variable is `$HOME/.config`
/// if it is unset, empty or relative. Something of that name that is no readable file is found all the same: loading it says what is wrong.
pub fn discover(directory: &Path, env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    const NAME: &str = "catena.toml";
    let variable = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || variable("HOME").map(|home| home.join(".config"));
    let user = variable("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(home);
    let here = directory.join(NAME);
    let candidates = std::iter::once(here).chain(user.map(|config| config.join("catena").join(NAME)));
    candidates.into_iter().find(|path| path.symlink_metadata().is_ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn found(directory: &Path, variables: &[(&str, &Path)]) -> Option<PathBuf> {
        discover(directory, &|name| {
            let value = variables.iter().find(|(key, _)| *key == name)?;
            Some(value.1.to_str()?.to_owned())
        })
    }

    #[test]
    fn the_file_of_the_directory_wins_over_the_users() {
        let (here, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert_eq!(found(here.path(), &[("HOME", home.path())]), None);

        let of_home = home.path().join(".config/catena/catena.toml");
        std::fs::create_dir_all(of_home.parent().unwrap()).unwrap();
        std::fs::write(&of_home, "").unwrap();
        assert_eq!(found(here.path(), &[("HOME", home.path())]), Some(of_home.clone()));
        let empty = [("XDG_CONFIG_HOME", Path::new("relative")), ("HOME", home.path())];
        assert_eq!(found(here.path(), &empty), Some(of_home));

        let of_here = here.path().join("catena.toml");
        std::fs::create_dir(&of_here).unwrap();
        assert_eq!(found(here.path(), &[("HOME", home.path())]), Some(of_here));
    }
}
