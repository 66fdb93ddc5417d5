//! Where catena keeps what it may not lose.

use std::ffi::OsString;
use std::path::PathBuf;

use super::LocalError;

/// Resolves the data directory: `$CATENA_HOME`, else `$XDG_DATA_HOME/catena`, else `$HOME/.local/share/catena`. Empty variables count as unset,
/// and so does a relative `XDG_DATA_HOME`, as its specification asks. The directory need not exist. `env` looks a variable up, usually
/// `|name| std::env::var_os(name)`.
///
/// # Errors
/// `no_data_dir` if none of the three variables helps.
pub fn data_dir(env: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, LocalError> {
    let path = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = path("CATENA_HOME") {
        return Ok(home);
    }
    if let Some(data) = path("XDG_DATA_HOME").filter(|data| data.is_absolute()) {
        return Ok(data.join("catena"));
    }
    path("HOME")
        .map(|home| home.join(".local/share/catena"))
        .ok_or(LocalError::NoDataDir)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn resolve(vars: &[(&str, &str)]) -> Result<PathBuf, LocalError> {
        data_dir(|name| {
            vars.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn catena_home_wins_over_the_other_two() {
        let vars = [("CATENA_HOME", "/c"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(resolve(&vars).unwrap(), PathBuf::from("/c"));
    }

    #[test]
    fn empty_and_relative_variables_are_passed_over() {
        assert_eq!(
            resolve(&[("CATENA_HOME", ""), ("XDG_DATA_HOME", "/x")]).unwrap(),
            PathBuf::from("/x/catena")
        );
        assert_eq!(
            resolve(&[("XDG_DATA_HOME", "x"), ("HOME", "/h")]).unwrap(),
            PathBuf::from("/h/.local/share/catena")
        );
    }

    #[test]
    fn without_any_variable_the_error_names_the_one_to_set() {
        let error = resolve(&[]).unwrap_err();
        assert_eq!(error.kind(), "no_data_dir");
        assert!(error.to_string().contains("CATENA_HOME"), "{error}");
    }
}
