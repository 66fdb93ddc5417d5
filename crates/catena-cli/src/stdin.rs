//! Standard input, where it is a text as a whole.

use tokio::io::AsyncReadExt;

use crate::error::{CliError, Result};

/// Bytes; more does not fit into any model's window.
const LIMIT: u64 = 16 * 1024 * 1024;

/// All of it, without the line ends at its end.
///
/// # Errors
/// If it cannot be read, is too large or is not UTF-8.
pub(crate) async fn read() -> Result<String> {
    let mut bytes = Vec::new();
    let mut input = tokio::io::stdin().take(LIMIT + 1);
    let read = input.read_to_end(&mut bytes).await.map_err(CliError::Stdin)?;
    if read as u64 > LIMIT {
        let limit = LIMIT / (1024 * 1024);
        return Err(CliError::Usage(format!("standard input is larger than {limit} MB")));
    }
    let text = String::from_utf8(bytes).map_err(|_| CliError::Usage("standard input is not text in UTF-8".into()))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
