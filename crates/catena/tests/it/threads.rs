//! What can be done with a thread beside running it: fork, rewind, delete, read in full.

mod full;

use std::sync::Arc;

use catena::checkpoint::{Checkpointer, MemoryCheckpointer};
use catena::id::MessageId;
use catena::message::{Message, Role};
use catena::middleware::before_model_fn;
use catena::prelude::*;
use catena::record::{Entry, Thread};
use catena::state::Slot;
use catena::testing::{Reply, call, say, scripted};
use serde_json::json;

use crate::support::{answering, assert_valid_for_every_provider, counting, texts, valid_thread};

const SEEN: Slot<u32> = Slot::thread("test.seen");

/// Calls two tools for every input, and then says how many messages there are. At the third input everything before it is folded.
fn agent(store: Arc<dyn Checkpointer>) -> Agent {
    let model = answering(|request| match request.messages.last().unwrap().role() {
        Role::User => Reply::nothing()
            .and_call("work", json!({"x": "a"}))
            .and_call("work", json!({"x": "b"})),
        _ => say(format!("answer after {}", request.messages.len())),
    });
    let fold = before_model_fn("fold", |turn| {
        turn.run().update(&SEEN, |seen| *seen += 1)?;
        let messages = turn.run().messages();
        let inputs = messages.iter().filter(|m| m.role() == Role::User).count();
        if inputs == 3 && messages.last().unwrap().text() == "input 2" {
            let up_to = messages[messages.len() - 2].id().clone();
            turn.fold(up_to, Message::user("a summary"))?;
        }
        Ok(Flow::Continue)
    });
    Agent::builder(model)
        .tool(counting("work").0)
        .with(fold)
        .store(store)
        .build()
        .unwrap()
}

/// Four inputs; the first two are folded.
async fn folded() -> (Agent, Thread) {
    let agent = agent(Arc::new(MemoryCheckpointer::new()));
    for n in 0..4 {
        let result = agent.run(Input::new(format!("input {n}")).thread("t")).await.unwrap();
        assert_eq!(result.outcome, Outcome::Done);
    }
    let thread = valid_thread(agent.store(), "t").await;
    assert_eq!(
        (thread.messages().len(), thread.view().len()),
        (20, 11),
        "four runs of five; two of them folded"
    );
    assert_eq!(thread.view()[0].text(), "a summary");
    (agent, thread)
}

#[tokio::test]
async fn a_folded_thread_can_be_read_in_full() {
    let (agent, _) = folded().await;
    let thread = agent.thread(&"t".into()).await.unwrap();
    let run = |n: usize| [format!("input {n}"), String::new(), "did a".into(), "did b".into()];
    for (n, messages) in thread.messages().chunks(5).enumerate() {
        assert_eq!(texts(&messages[..4]), run(n));
        assert!(messages[4].text().starts_with("answer after"));
    }
    assert_valid_for_every_provider(thread.messages());
}

/// Folded or not, a call without its results or with one of two: a copy ends with the message, and what is open there is answered.
#[tokio::test]
async fn a_thread_can_be_forked_at_any_message() {
    let (agent, thread) = folded().await;
    for (index, message) in thread.messages().iter().enumerate() {
        let fork = agent.fork(&"t".into(), message.id()).await.unwrap();
        let copy = valid_thread(agent.store(), fork.as_str()).await;
        let view = copy.view();
        let at = view.iter().position(|m| m.id() == message.id()).unwrap();
        assert!(
            view[at + 1..]
                .iter()
                .all(|m| m.text().starts_with("not run: the conversation was copied")),
            "{index}"
        );
        let folds = index >= 11;
        // The message, what is before it, and the answers to the calls that are open there.
        let before = if folds { index + 1 - 10 + 1 } else { index + 1 };
        let open = [0, 2, 1, 0, 0][index % 5];
        assert_eq!(view.len(), before + open, "{index}");
        assert_eq!(view[0].text() == "a summary", folds, "{index}");

        let next = agent.run(Input::new("from here").thread(fork.clone())).await.unwrap();
        assert_eq!(next.outcome, Outcome::Done, "{index}");
        valid_thread(agent.store(), fork.as_str()).await;
    }
    let after = agent.thread(&"t".into()).await.unwrap();
    assert_eq!(after.messages(), thread.messages(), "the original is as it was");
}

#[tokio::test]
async fn a_fork_has_the_state_of_its_moment() {
    let (agent, thread) = folded().await;
    let seen = |thread: &Thread| {
        thread
            .slots()
            .find(|(key, ..)| key == SEEN.key())
            .map(|(.., value)| (*value).clone())
    };
    assert_eq!(seen(&thread), Some(json!(8)));
    let fork = agent.fork(&"t".into(), thread.messages()[5].id()).await.unwrap();
    let copy = agent.thread(&fork).await.unwrap();
    assert_eq!(seen(&copy), Some(json!(2)), "two model calls by then");
    let origin = agent.store().load(&fork, 0).await.unwrap();
    assert!(matches!(&*origin[0], Entry::Forked { from, .. } if from.as_str() == "t"));
}

#[tokio::test]
async fn forking_at_what_is_not_there_is_an_error_that_names_it() {
    let (agent, _) = folded().await;
    let missing = agent.fork(&"t".into(), &MessageId::from("m-none")).await.unwrap_err();
    assert_eq!(missing.to_string(), "there is no message `m-none`");
    let no_thread = agent.fork(&"none".into(), &MessageId::from("m")).await.unwrap_err();
    assert!(matches!(no_thread, Error::NoThread(_)), "{no_thread}");
    assert_eq!(
        agent.store().list(10).await.unwrap().len(),
        1,
        "and leaves nothing behind"
    );
}

/// From a message of any role, folded or not: what came since no longer counts, the record keeps it, and the thread goes on.
#[tokio::test]
async fn a_thread_can_be_taken_back_to_before_any_message() {
    let (_, thread) = folded().await;
    for index in 0..thread.messages().len() {
        let (agent, thread) = folded().await;
        agent.rewind(&"t".into(), thread.messages()[index].id()).await.unwrap();
        let back = valid_thread(agent.store(), "t").await;
        // A result goes with its call.
        let kept = if [2, 3].contains(&(index % 5)) {
            index - index % 5 + 1
        } else {
            index
        };
        let expected = if kept >= 10 { kept - 10 + 1 } else { kept };
        assert_eq!(back.view().len(), expected, "{index}");
        assert_eq!(back.messages().len(), 20, "{index}: the record keeps everything");

        let next = agent.run(Input::new("differently").thread("t")).await.unwrap();
        assert_eq!(next.outcome, Outcome::Done, "{index}");
        let on = valid_thread(agent.store(), "t").await;
        assert!(texts(on.view().iter()).contains(&"differently".to_owned()));
        // What was left can still be forked from.
        let fork = agent.fork(&"t".into(), thread.messages()[index].id()).await.unwrap();
        valid_thread(agent.store(), fork.as_str()).await;
    }
}

#[tokio::test]
async fn a_thread_that_waits_for_an_answer_is_not_taken_back() {
    let gate = catena::middleware::gate_fn("human", |_, _| {
        Ok(ToolDecision::Interrupt(catena::interrupt::InterruptRequest::approval(
            "may it?",
        )))
    });
    let model = scripted([call("work", json!({})), say("done")]);
    let agent = Agent::builder(model)
        .tool(counting("work").0)
        .with(gate)
        .build()
        .unwrap();
    let paused = agent.run(Input::new("go").thread("t")).await.unwrap();
    let error = agent.rewind(&"t".into(), paused.messages[0].id()).await.unwrap_err();
    assert!(matches!(error, Error::Interrupted { open: 1, .. }), "{error:?}");
    // A copy of it has no open question, and the original still has.
    let fork = agent.fork(&"t".into(), paused.messages[1].id()).await.unwrap();
    valid_thread(agent.store(), fork.as_str()).await;
    assert!(matches!(
        agent.run(Resume::thread(fork)).await,
        Err(Error::NotInterrupted(_))
    ));
    assert_eq!(
        agent.run(Resume::thread("t").approve_all()).await.unwrap().outcome,
        Outcome::Done
    );
}

#[tokio::test]
async fn a_deleted_thread_is_gone_and_its_name_is_free() {
    let (agent, _) = folded().await;
    assert!(agent.delete_thread(&"t".into()).await.unwrap());
    assert!(!agent.delete_thread(&"t".into()).await.unwrap());
    assert!(matches!(agent.thread(&"t".into()).await, Err(Error::NoThread(_))));
    agent.run(Input::new("anew").thread("t")).await.unwrap();
    let thread = valid_thread(agent.store(), "t").await;
    assert_eq!(thread.messages().len(), 5);
    assert_eq!(thread.messages()[0].text(), "anew");
    let slots: Vec<_> = thread.slots().map(|(key, _, value)| (key, (*value).clone())).collect();
    assert_eq!(slots, [(SEEN.key().to_owned(), json!(2))], "its state began anew too");
}

/// What a thread held live, such as a shell, is not found by another one of its name.
#[tokio::test]
async fn the_live_values_of_a_deleted_thread_are_gone() {
    let log: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let seen = log.clone();
    let shell = before_model_fn("shell", move |turn| {
        let messages = turn.run().messages();
        let opened_for = turn
            .run()
            .live_thread()
            .get_or_insert_with("shell", || messages[0].text());
        seen.lock().unwrap().push((*opened_for).clone());
        Ok(Flow::Continue)
    });
    let model = scripted([say("one"), say("two"), say("three")]);
    let agent = Agent::builder(model).with(shell).build().unwrap();
    agent.run(Input::new("first").thread("t")).await.unwrap();
    agent.run(Input::new("again").thread("t")).await.unwrap();
    agent.delete_thread(&"t".into()).await.unwrap();
    agent.run(Input::new("other").thread("t")).await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["first", "first", "other"]);
}

#[tokio::test]
async fn a_mistyped_thread_is_named_and_leaves_nothing_behind() {
    let agent = Agent::builder(scripted([])).build().unwrap();
    let error = agent.run(Resume::thread("no-such")).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no thread `no-such`");
    assert!(agent.rewind(&"no-such".into(), &"m".into()).await.is_err());
    assert!(agent.store().list(10).await.unwrap().is_empty());
}
