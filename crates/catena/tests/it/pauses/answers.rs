//! Which answers are taken, and what is done with them.

use catena::interrupt::Decision;
use catena::prelude::*;
use serde_json::json;

use super::{Desk, reject, respond};

/// FC-044: the number of decisions must be that of the questions; a wrong one is refused, and the pause can be answered afterwards.
#[tokio::test]
async fn another_number_of_decisions_than_of_questions_is_refused() {
    let (desk, pauses) = Desk::paused([("send", "c1"), ("send", "c2")]).await;
    for decisions in [vec![], vec![Decision::Approve], vec![Decision::Approve; 3]] {
        let error = desk.refused(Resume::thread("t").decisions(decisions.clone())).await;
        assert!(
            error.contains(&format!("{} decision(s) were given for 2 question(s)", decisions.len())),
            "{error}"
        );
        // FC-047: the error names what is open.
        assert!(pauses.iter().all(|pause| error.contains(pause.id.as_str())), "{error}");
    }
    let done = desk
        .agent
        .run(Resume::thread("t").decisions(vec![Decision::Approve; 2]))
        .await
        .unwrap();
    assert_eq!((done.outcome.clone(), done.executed("send")), (Outcome::Done, 2));
}

#[tokio::test]
async fn a_decision_of_a_kind_that_is_not_allowed_is_refused_and_can_be_corrected() {
    let (desk, pauses) = Desk::paused([("send", "c1"), ("ask", "c2")]).await;
    assert_eq!(
        pauses.len(),
        1,
        "nothing of a message runs before all its calls are decided"
    );
    let wrong = Resume::thread("t").answer(pauses[0].id.clone(), respond("sent"));
    assert!(desk.refused(wrong).await.contains("allowed: approve, edit, reject"));
    let asked = desk.answer(&pauses[0], Decision::Approve).await.unwrap();
    let question = &asked.pauses()[0];
    let wrong = Resume::thread("t").answer(question.id.clone(), Decision::Approve);
    assert!(desk.refused(wrong).await.contains("allowed: respond"));
    let wrong = Resume::thread("t").answer(question.id.clone(), Decision::Respond { value: json!(7) });
    assert!(
        desk.refused(wrong).await.contains("string"),
        "an answer must fit its schema"
    );
    assert_eq!(
        desk.answer(question, respond("blue")).await.unwrap().outcome,
        Outcome::Done
    );
    assert_eq!(desk.counts(), [1, 0, 0, 1, 2]);
}

#[tokio::test]
async fn an_answer_to_a_question_that_is_not_open_is_refused() {
    let (desk, pauses) = Desk::paused([("send", "c1"), ("send", "c2")]).await;
    let unknown = Resume::thread("t").answer("no-such-pause", Decision::Approve);
    assert!(desk.refused(unknown).await.contains("no open question of that name"));
    let twice = Resume::thread("t").answer(pauses[0].id.clone(), Decision::Approve);
    assert!(
        desk.refused(twice.answer(pauses[0].id.clone(), Decision::Approve))
            .await
            .contains("twice")
    );
    // One good answer beside a bad one: none is stored.
    let mixed = Resume::thread("t").answer(pauses[0].id.clone(), Decision::Approve);
    desk.refused(mixed.answer("no-such-pause", Decision::Approve)).await;

    let one_left = desk.answer(&pauses[0], Decision::Approve).await.unwrap();
    assert_eq!(one_left.pauses(), &pauses[1..]);
    let late = Resume::thread("t").answer(pauses[0].id.clone(), reject("changed my mind"));
    assert!(desk.refused(late).await.contains("answered already"));
    assert_eq!(
        desk.answer(&pauses[1], Decision::Approve).await.unwrap().outcome,
        Outcome::Done
    );

    let over = desk.agent.run(Resume::thread("t").approve_all()).await.unwrap_err();
    assert!(matches!(over, Error::NotInterrupted(_)), "{over}");
    assert_eq!(desk.counts(), [2, 0, 0, 0, 2]);
}

/// FC-047: of several questions by gates one is answered by its name; the others stay open and are reported again, and nothing runs yet.
#[tokio::test]
async fn approvals_can_be_given_one_at_a_time() {
    let (desk, pauses) = Desk::paused([("send", "c1"), ("free", "c2"), ("send", "c3")]).await;
    assert_eq!(pauses.len(), 2);
    let waiting = desk.answer(&pauses[1], Decision::Approve).await.unwrap();
    assert_eq!(waiting.pauses(), &pauses[..1]);
    assert_eq!(desk.counts(), [0, 0, 0, 0, 1], "one open gate holds the whole message");
    let done = desk.answer(&pauses[0], Decision::Approve).await.unwrap();
    assert_eq!(done.outcome, Outcome::Done);
    assert_eq!(desk.counts(), [2, 0, 1, 0, 2]);
}

/// FC-047: of several questions by tools one is answered; its tool goes on, the other question stays as it is.
#[tokio::test]
async fn tools_questions_can_be_answered_one_at_a_time() {
    let (desk, pauses) = Desk::paused([("ask", "c1"), ("ask", "c2"), ("free", "c3")]).await;
    assert_eq!(
        (pauses.len(), desk.counts()),
        (2, [0, 0, 1, 0, 1]),
        "siblings finish first"
    );
    let waiting = desk.answer(&pauses[1], respond("blue")).await.unwrap();
    assert_eq!(waiting.pauses(), &pauses[..1]);
    assert_eq!(desk.counts(), [0, 0, 1, 1, 1]);
    assert_eq!(
        desk.answer(&pauses[0], respond("red")).await.unwrap().outcome,
        Outcome::Done
    );
    let results = desk.results().await;
    assert!(
        results[0].1.contains("red") && results[1].1.contains("blue"),
        "{results:?}"
    );
    assert_eq!(results[2], ("c3".into(), "did c3".into()));
}

/// FC-046: an answer is used once. Going on without one leaves the next question open and reports it again.
#[tokio::test]
async fn an_answer_never_reaches_a_later_question() {
    let (desk, pauses) = Desk::paused([("ask", "c1")]).await;
    let second = desk.answer(&pauses[0], respond("again")).await.unwrap();
    let question = second.pauses()[0].clone();
    assert_eq!(question.request.description, "really?");
    for _ in 0..2 {
        let still = desk.agent.run(Resume::thread("t")).await.unwrap();
        assert_eq!(still.pauses(), std::slice::from_ref(&question));
    }
    assert_eq!(desk.counts()[3], 0, "the tool has not gone on");
    assert_eq!(
        desk.answer(&question, respond("yes")).await.unwrap().outcome,
        Outcome::Done
    );
    assert!(desk.results().await[0].1.contains("yes"));
}

/// FC-037: approved and free calls run, a rejected one gets an error result; results in call order, then one model call.
#[tokio::test]
async fn mixed_decisions_each_do_their_own() {
    let (desk, pauses) = Desk::paused([("send", "c1"), ("free", "c2"), ("wipe", "c3")]).await;
    let resume = Resume::thread("t").answer(pauses[0].id.clone(), Decision::Approve);
    let done = desk
        .agent
        .run(resume.answer(pauses[1].id.clone(), reject("not today")))
        .await
        .unwrap();
    assert_eq!(done.outcome, Outcome::Done);
    assert_eq!(desk.counts(), [1, 0, 1, 0, 2]);
    let results = desk.results().await;
    let expected = [("c1", "did c1"), ("c2", "did c2"), ("c3", "not today")];
    assert_eq!(results, expected.map(|(call, text)| (call.to_owned(), text.to_owned())));
}

/// FC-038: a call that was rejected has its result and is never run, however the run goes on.
#[tokio::test]
async fn a_rejected_call_is_never_run() {
    let (desk, pauses) = Desk::paused([("send", "c1")]).await;
    let done = desk
        .agent
        .run(Resume::thread("t").answer(pauses[0].id.clone(), Decision::Reject { message: None }));
    assert_eq!(done.await.unwrap().outcome, Outcome::Done);
    let again = desk.agent.run(Input::new("and now?").thread("t")).await.unwrap();
    assert_eq!((again.outcome.clone(), desk.counts()[0]), (Outcome::Done, 0));
    let results = desk.results().await;
    assert!(
        results.len() == 1 && results[0].1.contains("rejected by a person"),
        "{results:?}"
    );
}

/// FC-043: an approval is for the call that is stored: another process runs that one, and asks no model for it.
#[tokio::test]
async fn what_was_approved_is_what_runs() {
    let (desk, pauses) = Desk::paused([("send", "A")]).await;
    // A restart with a model that would say something else now.
    let agent = Agent::builder(catena::testing::scripted([catena::testing::say("done")]))
        .tool(crate::support::counting("send").0)
        .store(desk.store.clone())
        .build()
        .unwrap();
    let done = agent
        .run(Resume::thread("t").answer(pauses[0].id.clone(), Decision::Approve))
        .await
        .unwrap();
    assert_eq!((done.outcome.clone(), done.totals.turns), (Outcome::Done, 2));
    assert_eq!(desk.results().await, [("A".to_owned(), "did A".to_owned())]);
}

#[tokio::test]
async fn a_response_stands_for_the_result() {
    let gate = catena::middleware::gate_fn("human", |_, _| {
        let request = catena::interrupt::InterruptRequest::question("what would it say?");
        Ok(ToolDecision::Interrupt(request))
    });
    let (tool, count) = crate::support::counting("search");
    let model = catena::testing::scripted([
        catena::testing::call("search", json!({"x": "a"})),
        catena::testing::say("done"),
    ]);
    let agent = Agent::builder(model.clone()).tool(tool).with(gate).build().unwrap();
    let paused = agent.run(Input::new("go").thread("t")).await.unwrap();
    let id = paused.pauses()[0].id.clone();
    let done = agent
        .run(Resume::thread("t").answer(id, respond("it says no")))
        .await
        .unwrap();
    assert_eq!(
        (done.outcome.clone(), count.load(std::sync::atomic::Ordering::SeqCst)),
        (Outcome::Done, 0)
    );
    let last = model.last_messages();
    let result = last.last().unwrap();
    assert_eq!(
        (result.text().as_str(), result.as_tool().unwrap().status),
        ("it says no", Default::default())
    );
    assert_eq!(done.executed("search"), 0, "no tool ran");
}
