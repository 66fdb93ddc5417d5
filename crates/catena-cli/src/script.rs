//! A model and tools from a JSON file, for tests and demonstrations.
//!
//! ```json
//! {
//!   "replies": [
//!     {"think": "I should look.", "calls": [{"tool": "search", "input": {"q": "rust"}}]},
//!     {"say": "Found it.", "usage": [120, 8]}
//!   ],
//!   "tools": [{"name": "search", "result": "one hit", "delay_ms": 20, "approve": true}]
//! }
//! ```
//!
//! The model gives the reply whose number is that of its own messages in the conversation. So a script goes on where it was when a run is
//! resumed by another process, and begins again on every new thread.

mod playback;
mod tool;

use std::path::Path;

use catena_core::agent::AgentBuilder;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{CliError, Result};
pub(crate) use playback::{Playback, replies_so_far};

/// What a script holds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Script {
    /// What the model says, in order.
    pub(crate) replies: Vec<Line>,
    /// The tools of the agent.
    pub(crate) tools: Vec<ScriptedTool>,
    /// Milliseconds before each word. Default: none.
    pub(crate) pace_ms: u64,
    /// Model turns of a run. Default: the agent's own.
    pub(crate) max_turns: Option<u32>,
}

/// One reply.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Line {
    /// What it thinks first.
    pub(crate) think: Option<String>,
    /// What it says.
    pub(crate) say: Option<String>,
    /// What it calls.
    pub(crate) calls: Vec<CallLine>,
    /// It fails with this HTTP status instead.
    pub(crate) fail: Option<u16>,
    /// It falls silent and never ends.
    pub(crate) hang: bool,
    /// Milliseconds before anything comes.
    pub(crate) delay_ms: u64,
    /// Tokens read and written.
    pub(crate) usage: Option<[u64; 2]>,
}

/// One call of a reply.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallLine {
    /// The tool.
    pub(crate) tool: String,
    /// What it is called with. Default: an empty object.
    #[serde(default = "empty")]
    pub(crate) input: Value,
}

/// One tool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ScriptedTool {
    /// Its name.
    pub(crate) name: String,
    /// Its result. Default: its input.
    pub(crate) result: Option<String>,
    /// It fails with these words instead.
    pub(crate) fail: Option<String>,
    /// It panics instead.
    pub(crate) panic: bool,
    /// Milliseconds that it works.
    pub(crate) delay_ms: u64,
    /// A person is asked before each call.
    pub(crate) approve: bool,
    /// It asks this itself, and the answer is its result.
    pub(crate) ask: Option<String>,
    /// Its calls are refused with these words.
    pub(crate) block: Option<String>,
    /// A call that a crash cut off may be made again.
    pub(crate) repeatable: bool,
}

fn empty() -> Value {
    Value::Object(serde_json::Map::new())
}

impl Script {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is no script.
    pub(crate) async fn load(path: &Path) -> Result<Self> {
        let text = tokio::fs::read_to_string(path)
            .await
            .map_err(CliError::file("read", path))?;
        serde_json::from_str(&text)
            .map_err(|error| CliError::Usage(format!("the script `{}` cannot be read: {error}", path.display())))
    }

    /// The model that says it.
    pub(crate) fn model(&self, name: &str) -> Playback {
        Playback::new(name, self.replies.clone(), self.pace_ms)
    }

    /// Puts the tools and their gates into an agent.
    pub(crate) fn equip(&self, builder: AgentBuilder) -> AgentBuilder {
        let builder = self
            .tools
            .iter()
            .fold(builder, |builder, tool| builder.tool(tool::tool(tool)));
        let builder = builder.with(tool::gate(&self.tools));
        match self.max_turns {
            Some(turns) => builder.max_turns(turns),
            None => builder,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use catena_core::{Agent, Input};

    use super::*;

    #[tokio::test]
    async fn a_script_goes_on_with_the_conversation_and_not_with_the_model() {
        let script = || serde_json::from_str::<Script>(r#"{"replies": [{"say": "one"}, {"say": "two"}]}"#).unwrap();
        let store = Arc::new(catena_core::checkpoint::MemoryCheckpointer::new());
        let agent = || {
            Agent::builder(script().model("scripted:test"))
                .store(store.clone())
                .build()
                .unwrap()
        };
        assert_eq!(agent().run(Input::new("a").thread("t")).await.unwrap().text(), "one");
        // Another process, so to speak.
        assert_eq!(agent().run(Input::new("b").thread("t")).await.unwrap().text(), "two");
        assert_eq!(agent().run(Input::new("c").thread("new")).await.unwrap().text(), "one");
        assert!(
            agent()
                .run(Input::new("d").thread("t"))
                .await
                .unwrap_err()
                .to_string()
                .contains("no reply left")
        );
    }

    #[tokio::test]
    async fn a_misspelt_key_is_an_error() {
        assert!(serde_json::from_str::<Script>(r#"{"reply": []}"#).is_err());
    }
}
