//! soon
use crate::app::App;
use crate::args;
use crate::error::{Exit, Result};
pub(crate) async fn tour(_app: &App, _args: args::Tour) -> Result<Exit> {
    Ok(Exit::Done)
}
