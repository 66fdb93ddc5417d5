//! OpenAI's Responses.

use catena_core::message::Part;
use catena_core::model::{ModelErrorKind, StopReason};
use serde_json::{Value, json};

use crate::mock::Reply;
use crate::support::{answer, calls, fixture, message};

const MODEL: &str = "openai-responses:gpt-test";

#[tokio::test]
async fn thoughts_stand_before_what_they_led_to_with_their_proof() {
    for size in [usize::MAX, 17] {
        let message = answer(MODEL, Reply::events(fixture("responses_reasoning.sse")).split(size))
            .await
            .unwrap();
        let thoughts: Vec<_> = message
            .parts
            .iter()
            .enumerate()
            .filter_map(|(at, part)| match part {
                Part::Reasoning(thought) => Some((
                    at,
                    thought.text.as_str(),
                    thought.id.as_deref()?,
                    thought.encrypted.as_deref()?,
                )),
                _ => None,
            })
            .collect();
        assert_eq!(
            thoughts,
            [(0, "Weather needed.", "rs_1", "ZW5jMQ=="), (3, "", "rs_2", "ZW5jMg==")],
            "{:?}",
            message.parts
        );
        assert_eq!(message.parts[1], Part::text("Let me look."));
        assert_eq!(calls(&message), [("get_weather", "call_1", &json!({"city": "Paris"}))]);
        assert_eq!(message.stop, StopReason::ToolCalls);
        let usage = message.usage;
        assert_eq!(
            (usage.input, usage.cached, usage.output, usage.reasoning),
            (50, 20, 40, 25)
        );
    }
}

#[tokio::test]
async fn what_stands_beside_a_text_is_kept_without_the_text() {
    let message = message(MODEL, "responses_reasoning.sse").await;
    let Part::Provider(beside) = &message.parts[2] else {
        panic!("{:?}", message.parts)
    };
    assert_eq!(beside.block["item"]["id"], "msg_1");
    assert_eq!(beside.block["item"]["annotations"][0]["url"], "https://example.org");
    assert!(!beside.block.to_string().contains("Let me look"));
}

#[tokio::test]
async fn a_failed_response_is_an_error_of_its_kind() {
    let error = answer(MODEL, Reply::events(fixture("responses_failed.sse")))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Overloaded);
    assert!(error.message.contains("The model had a problem."), "{}", error.message);
}

#[tokio::test]
async fn a_response_without_its_completion_was_cut() {
    let body = String::from_utf8(fixture("responses_reasoning.sse")).unwrap();
    let body = body.split("event: response.completed").next().unwrap().to_owned();
    assert_eq!(
        answer(MODEL, Reply::events(body)).await.unwrap_err().kind,
        ModelErrorKind::Truncated
    );
}

#[tokio::test]
async fn a_server_that_cannot_stream_keeps_its_proofs_too() {
    let streamed = message(MODEL, "responses_reasoning.sse").await;
    let body = String::from_utf8(fixture("responses_reasoning.sse")).unwrap();
    let last = body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .next_back()
        .unwrap();
    let whole = serde_json::from_str::<Value>(last).unwrap()["response"].to_string();
    let message = answer(MODEL, Reply::new(200, "application/json", whole)).await.unwrap();
    assert_eq!(message.parts, streamed.parts);
}
