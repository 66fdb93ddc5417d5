//! From a file to a configuration.

use std::io::Read;
use std::path::Path;

use super::Config;
use crate::check;
use crate::problem::{ConfigErrors, Problem};
use crate::registry::Registry;
use crate::source::Source;

/// Bytes of a configuration; whatever is larger is something else.
const LARGEST: usize = 1 << 20;

impl Config {
    /// Reads and checks a file. This blocks while it reads.
    ///
    /// # Errors
    /// Everything that is wrong with the file, sorted by position.
    pub fn load(path: &Path) -> Result<Self, ConfigErrors> {
        Self::load_with(path, Registry::builtin())
    }

    /// Reads and checks a file that may use the middlewares and tools of `registry`.
    ///
    /// # Errors
    /// Everything that is wrong with the file, sorted by position.
    pub fn load_with(path: &Path, registry: Registry) -> Result<Self, ConfigErrors> {
        let bytes = read(path)?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let valid = error.valid_up_to();
            let source = Source::new(path, &String::from_utf8_lossy(&bytes));
            let problem = Problem::at(&source, Some(&(valid..valid + 1)), "", "the file is not valid UTF-8");
            problem.help("save it as UTF-8".to_owned())
        })?;
        Self::parse_with(text, path, registry)
    }

    /// Checks a text. Relative paths in it are relative to `origin`, the file that it came from; the JSON Schemas that it names are read.
    ///
    /// # Errors
    /// Everything that is wrong with the text, sorted by position.
    pub fn parse(text: &str, origin: &Path) -> Result<Self, ConfigErrors> {
        Self::parse_with(text, origin, Registry::builtin())
    }

    /// Checks a text that may use the middlewares and tools of `registry`.
    ///
    /// # Errors
    /// Everything that is wrong with the text, sorted by position.
    pub fn parse_with(text: &str, origin: &Path, registry: Registry) -> Result<Self, ConfigErrors> {
        check::read(text, origin, registry)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ConfigErrors> {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path);
    let done = opened.and_then(|file| file.take(LARGEST as u64 + 1).read_to_end(&mut bytes));
    let problem = match done {
        Ok(_) if bytes.len() <= LARGEST => return Ok(bytes),
        Ok(_) => Problem::of_file(
            path,
            format!("the file has more than {LARGEST} bytes, so it is no configuration"),
        ),
        Err(_) if path.is_dir() => {
            Problem::of_file(path, "this is a directory, not a file").help("name the file in it".to_owned())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Problem::of_file(path, "there is no such file")
            .help("check the path, or do without a configuration".to_owned()),
        Err(error) => Problem::of_file(path, format!("the file cannot be read: {error}")),
    };
    Err(problem.into())
}
