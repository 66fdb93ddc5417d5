//! What the tests here share.

use std::path::Path;
use std::sync::Arc;

use catena_config::{Config, ConfigErrors, Registry, Setup};
use catena_models::{ScriptedModel, say, scripted};
use expect_test::Expect;

/// Reads a text as the file `catena.toml`.
pub(crate) fn parse(text: &str) -> Result<Config, ConfigErrors> {
    parse_with(text, Registry::builtin())
}

/// The same, with more middlewares and tools.
pub(crate) fn parse_with(text: &str, registry: Registry) -> Result<Config, ConfigErrors> {
    Config::parse_with(text, Path::new("catena.toml"), registry)
}

/// Compares what is said about a text.
pub(crate) fn check(text: &str, expected: &Expect) {
    check_with(text, Registry::builtin(), expected);
}

/// The same, with more middlewares and tools.
pub(crate) fn check_with(text: &str, registry: Registry, expected: &Expect) {
    let said = match parse_with(text, registry) {
        Ok(_) => "nothing is wrong".to_owned(),
        Err(errors) => errors.to_string(),
    };
    expected.assert_eq(&said);
}

/// A setup whose model answers `hello`, with nothing in its environment.
pub(crate) fn setup(data_dir: &Path) -> (Setup, Arc<ScriptedModel>) {
    setup_with(data_dir, &[])
}

/// The same, with these variables.
pub(crate) fn setup_with(
    data_dir: &Path,
    variables: &'static [(&'static str, &'static str)],
) -> (Setup, Arc<ScriptedModel>) {
    let model = scripted([say("hello"), say("hello again")]);
    let setup = Setup {
        env: Arc::new(move |name| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        }),
        default_model: Some(Arc::new(model.clone())),
        data_dir: data_dir.to_owned(),
    };
    (setup, model)
}
