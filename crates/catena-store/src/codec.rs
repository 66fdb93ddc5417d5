//! Entries as JSON.

use std::sync::Arc;

use catena_core::checkpoint::StoreError;
use catena_core::id::ThreadId;
use catena_core::record::Entry;
use serde::Deserialize;

/// How many brackets deep an entry may be. What is deeper is refused by the JSON reader, so it must not be written: a thread with such an
/// entry could never be opened again. Models can get close, as the input they write may itself be this deep before it becomes an entry.
pub(crate) const MAX_DEPTH: usize = 127;

/// An entry that was not written.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("an entry is nested more than {MAX_DEPTH} levels deep; it could not be read again")]
    TooDeep,
    #[error("an entry has no form in JSON")]
    Json(#[source] serde_json::Error),
}

/// The entries as one JSON array.
pub(crate) fn encode(entries: &[Arc<Entry>]) -> Result<String, StoreError> {
    let fail = |refused| StoreError::Other {
        context: "writing entries as JSON",
        source: Box::new(refused),
    };
    let text = serde_json::to_string(entries).map_err(|error| fail(Refused::Json(error)))?;
    // One more for the array itself.
    if depth(&text) > MAX_DEPTH + 1 {
        Err(fail(Refused::TooDeep))
    } else {
        Ok(text)
    }
}

/// How deep the brackets of a JSON text are, at most.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The entry that a JSON text stands for.
///
/// # Errors
/// [`StoreError::Newer`] if it is of a kind that this version does not know, [`StoreError::Corrupt`] if it is none at all.
pub(crate) fn decode(thread: &ThreadId, position: u64, json: &str) -> Result<Arc<Entry>, StoreError> {
    /// All that every kind of entry has.
    #[derive(Deserialize)]
    struct Kind {
        entry: String,
    }

    serde_json::from_str(json).map(Arc::new).map_err(|error| {
        let reason = error.to_string();
        // The reader has no type for this: its words are all there is. They are the same for kinds inside the entry, such as a part of a
        // message, and mean the same there.
        match serde_json::from_str::<Kind>(json) {
            Ok(kind) if reason.starts_with("unknown variant") => StoreError::Newer {
                what: format!("thread `{thread}` (entry {position}, `{}`)", kind.entry),
            },
            _ => StoreError::Corrupt {
                thread: thread.clone(),
                position,
                reason,
            },
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use catena_core::state::Scope;
    use serde_json::Value;

    use super::*;

    fn nested(levels: usize) -> Arc<Entry> {
        let value = (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        Arc::new(Entry::State {
            key: "k\"[{\\".into(),
            scope: Scope::Run,
            value,
        })
    }

    #[test]
    fn the_deepest_entry_that_is_written_can_be_read() {
        let entry = nested(MAX_DEPTH - 1);
        let text = encode(std::slice::from_ref(&entry)).unwrap();
        let one = text.strip_prefix('[').unwrap().strip_suffix(']').unwrap();
        assert_eq!(decode(&"t".into(), 0, one).unwrap(), entry);
    }

    #[test]
    fn an_entry_that_is_too_deep_to_be_read_is_not_written() {
        let entry = nested(MAX_DEPTH);
        assert!(serde_json::from_str::<Entry>(&serde_json::to_string(&*entry).unwrap()).is_err());
        assert!(matches!(encode(&[entry]), Err(StoreError::Other { .. })));
    }

    #[test]
    fn a_kind_of_a_newer_version_is_told_from_damage() {
        let decode = |json| decode(&"t".into(), 7, json).unwrap_err();
        assert!(
            matches!(decode(r#"{"entry":"telepathy","x":1}"#), StoreError::Newer { what } if what.contains("telepathy"))
        );
        let part = r#"{"entry":"message","message":{"role":"user","id":"m","parts":[{"type":"smell"}]}}"#;
        assert!(matches!(decode(part), StoreError::Newer { .. }));
        for damage in [
            "",
            "{",
            r#"{"entry":"call_started"}"#,
            r#"{"entry":7}"#,
            "[]",
            r#"{"entry":"call_started","call":"c"}x"#,
        ] {
            assert!(
                matches!(decode(damage), StoreError::Corrupt { position: 7, .. }),
                "{damage}"
            );
        }
    }
}
