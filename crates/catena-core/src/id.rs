//! Identifiers: threads, runs, messages, tool calls and pauses.
//!
//! All of them are opaque strings. Fresh ones are UUIDs of version 7, so that they sort by the time they were made.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(#[schemars(with = "String")] Arc<str>);

        impl $name {
            /// A fresh id, unlike any other.
            pub fn fresh() -> Self {
                let mut buffer = uuid::Uuid::encode_buffer();
                let text = uuid::Uuid::now_v7().simple().encode_lower(&mut buffer);
                Self(Arc::from(&*text))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether the id is the empty text, as some providers send it.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Arc::from(text))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

id! {
    /// Names one conversation.
    ThreadId
}
id! {
    /// Names one invocation on a thread.
    RunId
}
id! {
    /// Names one message of a thread.
    MessageId
}
id! {
    /// Pairs a tool call with its result. Unique within a thread: the loop renames what a provider sends twice.
    CallId
}
id! {
    /// Names one question that a paused run waits for.
    PauseId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_ids_differ_and_sort_by_age() {
        let ids: Vec<_> = (0..50).map(|_| RunId::fresh()).collect();
        let mut sorted = ids.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(ids, sorted);
    }

    #[test]
    fn an_id_is_its_text_on_the_wire() {
        let id = ThreadId::from("t-1");
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"t-1\"");
        assert_eq!(serde_json::from_str::<ThreadId>("\"t-1\"").unwrap(), id);
    }
}
