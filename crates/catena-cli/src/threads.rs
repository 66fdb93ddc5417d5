//! Threads as people name them: by id, by a part of it, or as `last`.

use catena_core::checkpoint::Checkpointer;
use catena_core::id::ThreadId;
use catena_core::record::Thread;

use crate::error::{CliError, Result};

/// The word for the thread that was used last.
const LAST: &str = "last";
/// Characters of a part of an id; fewer would be guesses.
const PART: usize = 6;
/// Threads that are searched for a part of an id.
const SEARCHED: usize = 10_000;

/// The thread that exists and is meant.
///
/// # Errors
/// If there is none, or if several could be meant.
pub(crate) async fn find(store: &dyn Checkpointer, name: &str) -> Result<ThreadId> {
    match meant(store, name).await? {
        Some(thread) => Ok(thread),
        None => Err(catena_core::Error::NoThread(name.into()).into()),
    }
}

/// The thread that is meant, or a new one of that name.
///
/// # Errors
/// If several could be meant; if `last` is asked for and there is none; if the name could not be typed again.
pub(crate) async fn find_or_new(store: &dyn Checkpointer, name: &str) -> Result<ThreadId> {
    match meant(store, name).await? {
        Some(thread) => Ok(thread),
        None if name == LAST => Err(CliError::Usage(
            "there is no thread yet; leave `--thread` out to begin one".into(),
        )),
        None if name.is_empty() || name.len() > 200 || name.chars().any(|c| c.is_control() || c.is_whitespace()) => {
            Err(CliError::Usage(format!(
                "`{}` cannot be the name of a thread: 1 to 200 characters without blanks",
                name.escape_debug()
            )))
        }
        None => Ok(name.into()),
    }
}

/// Reads a thread.
///
/// # Errors
/// [`NoThread`](catena_core::Error::NoThread), or what the store says.
pub(crate) async fn read(store: &dyn Checkpointer, id: &ThreadId) -> Result<Thread> {
    let entries = store.load(id, 0).await?;
    if entries.is_empty() {
        return Err(catena_core::Error::NoThread(id.clone()).into());
    }
    Ok(Thread::replay(id.clone(), &entries))
}

async fn meant(store: &dyn Checkpointer, name: &str) -> Result<Option<ThreadId>> {
    if name == LAST {
        return Ok(store.list(1).await?.into_iter().next().map(|info| info.thread));
    }
    let exact = ThreadId::from(name);
    // One entry is enough to know; the list does not hold more than the newest ones.
    if !store.load(&exact, 0).await?.is_empty() {
        return Ok(Some(exact));
    }
    if name.len() < PART || !name.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let all = store.list(SEARCHED).await?;
    let mut fitting = all
        .into_iter()
        .map(|info| info.thread)
        .filter(|id| id.as_str().starts_with(name) || id.as_str().ends_with(name));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(Some(one)),
        (Some(one), Some(other)) => Err(CliError::Usage(format!(
            "`{name}` could be `{one}`, `{other}` or others; give more of the id"
        ))),
        (None, _) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;
    use std::time::Duration;

    use catena_core::checkpoint::MemoryCheckpointer;
    use catena_core::message::Message;
    use catena_core::record::Entry;

    use super::*;

    async fn with(names: &[&str]) -> MemoryCheckpointer {
        let store = MemoryCheckpointer::new();
        for name in names {
            let lease = store.acquire(&(*name).into(), Duration::from_secs(1)).await.unwrap();
            let entry = Entry::Message {
                message: Arc::new(Message::user("hi")),
            };
            store.append(&lease, &[Arc::new(entry)]).await.unwrap();
            store.release(&lease).await.unwrap();
        }
        store
    }

    #[tokio::test]
    async fn a_part_of_an_id_is_enough_if_it_is_the_only_one() {
        let store = with(&["0123456789abcdef", "0123456789aaaaaa", "notes"]).await;
        assert_eq!(find(&store, "abcdef").await.unwrap().as_str(), "0123456789abcdef");
        assert_eq!(find(&store, "notes").await.unwrap().as_str(), "notes");
        assert!(
            find(&store, "012345")
                .await
                .unwrap_err()
                .to_string()
                .contains("could be")
        );
        assert!(
            find(&store, "note")
                .await
                .unwrap_err()
                .to_string()
                .contains("no thread `note`")
        );
    }

    #[tokio::test]
    async fn a_new_name_makes_a_new_thread_but_last_does_not() {
        let store = with(&[]).await;
        assert_eq!(find_or_new(&store, "fresh").await.unwrap().as_str(), "fresh");
        assert!(find_or_new(&store, "last").await.is_err());
        assert!(find_or_new(&store, "two words").await.is_err());
    }
}
