//! What becomes of a second run on a thread.

use catena::agent::OnBusy;
use catena::checkpoint::MemoryCheckpointer;
use catena::prelude::*;
use catena::record::OutcomeRecord;
use serde_json::json;

use super::{Log, WHO, agent, logged, two};
use crate::support::{Hold, texts, valid_thread};

fn input(text: &str, on_busy: OnBusy) -> Input {
    Input::new(text).thread("t").on_busy(on_busy)
}

#[tokio::test]
async fn a_second_run_is_rejected_and_the_first_is_not_disturbed() {
    let (hold, log) = (Hold::new(), Log::default());
    let agent = agent(MemoryCheckpointer::new(), &hold, &log, None);
    let first = agent.start(input("a", OnBusy::Reject));
    hold.reached().await;
    let error = agent.run(input("b", OnBusy::Reject)).await.unwrap_err();
    assert!(matches!(error, Error::Busy(_)), "{error}");
    hold.release();
    assert_eq!(first.outcome().await.unwrap().outcome, Outcome::Done);
    assert_eq!(logged(&log), ["begin a", "end a"]);
}

#[tokio::test]
async fn runs_that_wait_get_their_turn_in_the_order_in_which_they_came() {
    let (hold, log) = (Hold::new(), Log::default());
    let agent = agent(MemoryCheckpointer::new(), &hold, &log, None);
    let first = agent.start(input("a", OnBusy::Reject));
    hold.reached().await;
    let waiting: Vec<_> = ["b", "c", "d"]
        .map(|text| agent.start(input(text, OnBusy::Enqueue)))
        .into();
    for _ in 0..4 {
        hold.release();
    }
    for run in std::iter::once(first).chain(waiting) {
        assert_eq!(run.outcome().await.unwrap().outcome, Outcome::Done);
    }
    let expected = ["a", "b", "c", "d"]
        .map(|text| [format!("begin {text}"), format!("end {text}")])
        .concat();
    assert_eq!(logged(&log), expected);
    let thread = valid_thread(agent.store(), "t").await;
    let each = ["a", "b", "c", "d"].map(|text| [text, "", "released", "done"]).concat();
    assert_eq!(texts(thread.view().iter()), each);
}

#[tokio::test]
async fn a_run_may_cancel_the_one_that_is_active() {
    let (hold, log) = (Hold::new(), Log::default());
    let agent = agent(MemoryCheckpointer::new(), &hold, &log, None);
    let first = agent.start(input("a", OnBusy::Reject));
    hold.reached().await;
    let second = agent.start(input("b", OnBusy::CancelFirst));
    assert_eq!(first.outcome().await.unwrap().outcome, Outcome::Cancelled);
    hold.reached().await;
    // The first one's tool was dropped while it was held, so one permit is enough.
    hold.release();
    assert_eq!(second.outcome().await.unwrap().outcome, Outcome::Done);
    assert_eq!(logged(&log), ["begin a", "end a", "begin b", "end b"]);
    valid_thread(agent.store(), "t").await;
}

/// FC-166: a run that cancels another starts when that one has cleaned up, and what it writes stays.
#[tokio::test]
async fn a_new_run_waits_until_the_cancelled_one_has_cleaned_up() {
    let (hold, cleaning, log) = (Hold::new(), Hold::new(), Log::default());
    let agent = agent(MemoryCheckpointer::new(), &hold, &log, Some(cleaning.clone()));
    let first = agent.start(input("A", OnBusy::Reject));
    hold.reached().await;
    let second = agent.start(input("B", OnBusy::CancelFirst));
    cleaning.reached().await;
    let third = agent.run(input("C", OnBusy::Reject)).await;
    assert!(matches!(third, Err(Error::Busy(_))), "it is not over yet");
    assert_eq!(logged(&log), ["begin A", "cleaning up A"]);
    cleaning.release();
    assert_eq!(first.outcome().await.unwrap().outcome, Outcome::Cancelled);
    hold.reached().await;
    hold.release();
    assert_eq!(second.outcome().await.unwrap().outcome, Outcome::Done);
    assert_eq!(logged(&log), ["begin A", "cleaning up A", "end A", "begin B", "end B"]);
    let thread = valid_thread(agent.store(), "t").await;
    let who = thread
        .slots()
        .find(|(key, ..)| key == WHO.key())
        .map(|(.., value)| value);
    assert_eq!(who.as_deref(), Some(&json!("B")));
}

/// FC-167: manual edits of a thread, and a second run on it, are refused while a run of another process is active, and done afterwards.
#[tokio::test]
async fn edits_and_runs_exclude_each_other_across_processes() {
    let dir = tempfile::tempdir().unwrap();
    let (hold, log) = (Hold::new(), Log::default());
    let (first, second) = two(dir.path(), &hold, &log).await;
    let run = first.start(input("a", OnBusy::Reject));
    hold.reached().await;
    let thread = valid_or_open(&second).await;
    let message = thread.messages()[0].id().clone();
    let refused = [
        second.run(input("b", OnBusy::Reject)).await.map(drop).unwrap_err(),
        second.rewind(&"t".into(), &message).await.unwrap_err(),
        second.delete_thread(&"t".into()).await.map(drop).unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(error, Error::Busy(_)), "{error:?}");
    }
    hold.release();
    assert_eq!(run.outcome().await.unwrap().outcome, Outcome::Done);

    hold.release();
    assert_eq!(
        second.run(input("b", OnBusy::Reject)).await.unwrap().outcome,
        Outcome::Done
    );
    let last = valid_thread(first.store(), "t")
        .await
        .messages()
        .last()
        .unwrap()
        .id()
        .clone();
    second.rewind(&"t".into(), &last).await.unwrap();
    let thread = valid_thread(first.store(), "t").await;
    assert_eq!(
        texts(thread.view().iter()),
        ["a", "", "released", "done", "b", "", "released"]
    );
    assert!(second.delete_thread(&"t".into()).await.unwrap());
    assert!(matches!(first.thread(&"t".into()).await, Err(Error::NoThread(_))));
}

async fn valid_or_open(agent: &Agent) -> catena::record::Thread {
    agent.thread(&"t".into()).await.unwrap()
}

/// FC-167: two runs at the same moment from two processes: by policy one waits; their messages never mix.
#[tokio::test]
async fn runs_of_two_processes_never_mix_their_messages() {
    let dir = tempfile::tempdir().unwrap();
    let (hold, log) = (Hold::new(), Log::default());
    let (first, second) = two(dir.path(), &hold, &log).await;
    let runs: Vec<_> = (0..6)
        .map(|n| {
            let agent = if n % 2 == 0 { &first } else { &second };
            hold.release();
            agent.start(input(&format!("run {n}"), OnBusy::Enqueue))
        })
        .collect();
    for run in runs {
        assert_eq!(run.outcome().await.unwrap().outcome, Outcome::Done);
    }
    let thread = valid_thread(first.store(), "t").await;
    let view = texts(thread.view().iter());
    let mut inputs: Vec<_> = view.chunks(4).map(|run| run[0].clone()).collect();
    assert!(
        view.chunks(4).all(|run| run[1..] == ["", "released", "done"]),
        "{view:?}"
    );
    // Each process keeps its own order; between two processes there is none.
    for half in [0, 1] {
        let own: Vec<_> = inputs.iter().filter(|text| text.as_bytes()[4] % 2 == half).collect();
        assert!(own.is_sorted(), "{inputs:?}");
    }
    inputs.sort();
    assert_eq!(inputs, (0..6).map(|n| format!("run {n}")).collect::<Vec<_>>());
    assert!(
        logged(&log).chunks(2).all(|pair| pair[0][6..] == pair[1][4..]),
        "{:?}",
        logged(&log)
    );
}

#[tokio::test]
async fn a_run_of_another_process_can_be_cancelled_for_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let (hold, log) = (Hold::new(), Log::default());
    let (first, second) = two(dir.path(), &hold, &log).await;
    let run = first.start(input("a", OnBusy::Reject));
    hold.reached().await;
    let next = second.start(input("b", OnBusy::CancelFirst));
    assert_eq!(run.outcome().await.unwrap().outcome, Outcome::Cancelled);
    hold.reached().await;
    hold.release();
    assert_eq!(next.outcome().await.unwrap().outcome, Outcome::Done);
    assert_eq!(logged(&log), ["begin a", "end a", "begin b", "end b"]);
    valid_thread(first.store(), "t").await;
}

#[tokio::test]
async fn a_run_of_another_process_can_be_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let (hold, log) = (Hold::new(), Log::default());
    let (first, second) = two(dir.path(), &hold, &log).await;
    let run = first.start(input("a", OnBusy::Reject));
    hold.reached().await;
    assert!(second.cancel(&"t".into()).await.unwrap());
    assert_eq!(run.outcome().await.unwrap().outcome, Outcome::Cancelled);
    assert!(!second.cancel(&"t".into()).await.unwrap());
    let thread = valid_thread(second.store(), "t").await;
    assert_eq!(thread.run().unwrap().outcome(), Some(&OutcomeRecord::Cancelled));
}
