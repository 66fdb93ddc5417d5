//! New input for a thread that waits for an answer.

use catena::agent::OnInterrupt;
use catena::interrupt::Decision;
use catena::prelude::*;
use catena::record::OutcomeRecord;

use super::Desk;
use crate::support::{texts, valid_thread};

#[tokio::test]
async fn an_input_for_a_paused_thread_is_rejected_and_the_pause_stays() {
    let (desk, pauses) = Desk::paused([("send", "c1"), ("send", "c2")]).await;
    let error = desk.agent.run(Input::new("hello?").thread("t")).await.unwrap_err();
    assert!(matches!(error, Error::Interrupted { open: 2, .. }), "{error}");
    assert_eq!((error.kind(), desk.counts()), ("interrupted", [0, 0, 0, 0, 1]));
    assert!(
        error.to_string().contains("on_interrupt"),
        "it says what to do: {error}"
    );
    assert_eq!(desk.agent.run(Resume::thread("t")).await.unwrap().pauses(), pauses);
    let done = desk.agent.run(Resume::thread("t").approve_all()).await.unwrap();
    assert_eq!((done.outcome, desk.ends.seen().len()), (Outcome::Done, 1));
}

#[tokio::test]
async fn an_input_that_cancels_the_pause_answers_the_open_calls_and_goes_on() {
    let (desk, pauses) = Desk::paused([("send", "c1"), ("free", "c2"), ("send", "c3")]).await;
    desk.answer(&pauses[0], Decision::Approve).await.unwrap();
    let input = Input::new("never mind").thread("t").on_interrupt(OnInterrupt::Cancel);
    let done = desk.agent.run(input).await.unwrap();
    assert_eq!((done.outcome.clone(), desk.counts()), (Outcome::Done, [0, 0, 0, 0, 2]));
    let ends = desk.ends.seen();
    assert!(
        matches!(&ends[0], OutcomeRecord::Stopped { reason, .. } if reason.kind == "superseded"),
        "{ends:?}"
    );
    assert!(
        matches!(ends[1], OutcomeRecord::Done { .. }),
        "both runs ended, each once"
    );
    assert_eq!(ends.len(), 2);
    let view = valid_thread(&desk.store, "t").await.view();
    let not_run = "not run: a new message came before the answer";
    assert_eq!(
        texts(view.iter()),
        ["go", "", not_run, not_run, not_run, "never mind", "done"]
    );
    let late = desk
        .agent
        .run(Resume::thread("t").answer(pauses[1].id.clone(), Decision::Approve))
        .await;
    assert!(matches!(late, Err(Error::NotInterrupted(_))), "{late:?}");
}

#[tokio::test]
async fn a_paused_run_can_be_cancelled() {
    let (desk, _) = Desk::paused([("send", "c1"), ("ask", "c2")]).await;
    assert!(desk.agent.cancel(&"t".into()).await.unwrap());
    assert_eq!(desk.ends.seen(), [OutcomeRecord::Cancelled]);
    let thread = valid_thread(&desk.store, "t").await;
    assert_eq!(thread.run().unwrap().outcome(), Some(&OutcomeRecord::Cancelled));
    assert!(
        !desk.agent.cancel(&"t".into()).await.unwrap(),
        "there is nothing left to cancel"
    );
    assert_eq!(
        desk.agent.run(Input::new("next").thread("t")).await.unwrap().outcome,
        Outcome::Done
    );
    assert_eq!(desk.counts(), [0, 0, 0, 0, 2]);
    assert!(matches!(
        desk.agent.cancel(&"none".into()).await,
        Err(Error::NoThread(_))
    ));
}
