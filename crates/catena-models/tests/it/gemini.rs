//! Gemini's GenerateContent.

use catena_core::message::Part;
use catena_core::model::{ModelErrorKind, StopReason};
use serde_json::json;

use crate::mock::Reply;
use crate::support::{answer, calls, message};

const MODEL: &str = "gemini:gemini-3-test";

#[tokio::test]
async fn calls_carry_their_signatures() {
    let message = message(MODEL, "gemini_signatures.sse").await;
    let Part::Reasoning(thought) = &message.parts[0] else {
        panic!("{:?}", message.parts)
    };
    assert_eq!(thought.text, "Two cities.");
    assert_eq!(message.text(), "Checking.");
    assert_eq!(
        calls(&message),
        [
            ("get_weather", "f1", &json!({"city": "Paris"})),
            ("get_weather", "f2", &json!({"city": "Rome"}))
        ]
    );
    let signatures: Vec<_> = message.calls().map(|call| call.signature.as_deref()).collect();
    assert_eq!(signatures, [Some("c2lnMQ=="), None]);
    assert_eq!(message.stop, StopReason::ToolCalls);
    // FC-148: the totals are running ones.
    assert_eq!(
        (message.usage.input, message.usage.output, message.usage.reasoning),
        (10, 25, 5)
    );
}

#[tokio::test]
async fn a_signature_on_a_text_is_kept_beside_it() {
    let message = message(MODEL, "gemini_signed_text.sse").await;
    assert_eq!(message.text(), "The answer is 42.");
    let Part::Provider(beside) = &message.parts[1] else {
        panic!("{:?}", message.parts)
    };
    assert_eq!(beside.block["item"]["thoughtSignature"], "dGV4dA==");
}

#[tokio::test]
async fn a_blocked_prompt_is_a_refusal() {
    let body = "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n";
    assert_eq!(
        answer(MODEL, Reply::events(body)).await.unwrap_err().kind,
        ModelErrorKind::Refused
    );
}

#[tokio::test]
async fn an_answer_without_a_reason_was_cut() {
    let body = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"half\"}]},\"index\":0}]}\n\n";
    assert_eq!(
        answer(MODEL, Reply::events(body)).await.unwrap_err().kind,
        ModelErrorKind::Truncated
    );
}

#[tokio::test]
async fn an_error_in_the_stream_has_its_status() {
    let body =
        "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\n\n";
    let error = answer(MODEL, Reply::events(body)).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ModelErrorKind::Overloaded, Some(503)));
}
