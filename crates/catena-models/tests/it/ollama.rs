//! Ollama's own chat.

use catena_core::message::Part;
use catena_core::model::{ModelErrorKind, StopReason};
use serde_json::json;

use crate::mock::Reply;
use crate::support::{answer, calls, fixture};

const MODEL: &str = "ollama:qwen3:4b";

/// FC-128: whole calls without ids or indexes are read from the native stream.
#[tokio::test]
async fn whole_calls_are_read_and_told_apart() {
    for size in [usize::MAX, 11] {
        let message = answer(MODEL, Reply::lines(fixture("ollama_calls.ndjson")).split(size))
            .await
            .unwrap();
        let Part::Reasoning(thought) = &message.parts[0] else {
            panic!("{:?}", message.parts)
        };
        assert_eq!(thought.text, "Both cities.");
        let calls = calls(&message);
        assert_eq!(
            calls.iter().map(|call| call.2).collect::<Vec<_>>(),
            [&json!({"a": 1}), &json!({"a": 2})]
        );
        assert!(!calls[0].1.is_empty() && calls[0].1 != calls[1].1);
        assert_eq!(message.stop, StopReason::ToolCalls);
        assert_eq!((message.usage.input, message.usage.output), (26, 12));
    }
}

#[tokio::test]
async fn a_stream_without_its_last_line_was_cut() {
    let body = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"half\"},\"done\":false}\n";
    assert_eq!(
        answer(MODEL, Reply::lines(body)).await.unwrap_err().kind,
        ModelErrorKind::Truncated
    );
}

#[tokio::test]
async fn an_error_line_is_an_error() {
    let error = answer(
        MODEL,
        Reply::lines("{\"error\":\"model runner has unexpectedly stopped\"}\n"),
    )
    .await
    .unwrap_err();
    assert_eq!(error.message, "model runner has unexpectedly stopped");
}
