//! OpenAI's chat completions and what servers make of them.

use catena_core::message::Part;
use catena_core::model::{ModelErrorKind, StopReason, Usage};
use serde_json::{Value, json};

use crate::mock::Reply;
use crate::support::{answer, calls, chunk, chunks, finish, message};

const MODEL: &str = "compatible:m";

async fn streamed(deltas: &[Value]) -> catena_core::message::AssistantMessage {
    answer(MODEL, Reply::events(chunks(deltas))).await.unwrap()
}

fn call(fields: Value) -> Value {
    chunk(json!({"tool_calls": [fields]}))
}

#[tokio::test]
async fn reasoning_text_calls_and_late_usage_are_read() {
    let message = message("deepseek:m", "chat_reasoning_parallel.sse").await;
    let Part::Reasoning(thought) = &message.parts[0] else {
        panic!("{:?}", message.parts)
    };
    assert_eq!(
        (thought.text.as_str(), thought.provider.as_deref()),
        ("Two cities.", Some("deepseek"))
    );
    assert_eq!(message.text(), "Let me check.");
    assert_eq!(
        calls(&message),
        [
            ("get_weather", "call_a", &json!({"city": "Paris"})),
            ("get_weather", "call_b", &json!({"city": "Rom"}))
        ]
    );
    assert_eq!(message.parts.len(), 4, "{:?}", message.parts);
    assert_eq!(message.stop, StopReason::ToolCalls);
    assert_eq!(
        message.usage,
        Usage {
            input: 40,
            output: 30,
            cached: 32,
            reasoning: 12,
            ..Usage::default()
        }
    );
}

/// FC-122: a new id at a used index starts a new call.
#[tokio::test]
async fn a_new_id_at_a_used_index_starts_a_new_call() {
    let message = streamed(&[
        call(json!({"index": 0, "id": "A", "function": {"name": "f", "arguments": "{\"c\":1}"}})),
        call(json!({"index": 0, "id": "B", "function": {"name": "f", "arguments": "{\"c\":2}"}})),
        finish("tool_calls"),
    ])
    .await;
    assert_eq!(
        calls(&message),
        [("f", "A", &json!({"c": 1})), ("f", "B", &json!({"c": 2}))]
    );
}

/// FC-124: without an index, fragments belong to the call that started last.
#[tokio::test]
async fn fragments_without_an_index_belong_to_the_last_call() {
    let message = streamed(&[
        call(json!({"id": "A", "function": {"name": "f", "arguments": ""}})),
        call(json!({"function": {"arguments": "{\"a\":1}"}})),
        call(json!({"id": "B", "function": {"name": "g", "arguments": ""}})),
        call(json!({"index": null, "function": {"arguments": "{\"b\":2}"}})),
        finish("tool_calls"),
    ])
    .await;
    assert_eq!(
        calls(&message),
        [("f", "A", &json!({"a": 1})), ("g", "B", &json!({"b": 2}))]
    );
}

/// FC-125: null lists and null texts mean nothing.
#[tokio::test]
async fn null_fields_mean_nothing() {
    let message = streamed(&[
        chunk(json!({"role": "assistant", "content": null, "tool_calls": null, "reasoning_content": null})),
        chunk(json!({"content": "hi", "tool_calls": null})),
        chunk(json!({})),
        finish("stop"),
    ])
    .await;
    assert_eq!((message.text().as_str(), message.parts.len()), ("hi", 1));
}

/// FC-127: empty and null arguments mean an empty object.
#[tokio::test]
async fn missing_arguments_are_an_empty_object() {
    for arguments in [json!(""), json!(null)] {
        let message = streamed(&[
            call(json!({"index": 0, "id": "A", "function": {"name": "now", "arguments": arguments}})),
            finish("tool_calls"),
        ])
        .await;
        assert_eq!(calls(&message), [("now", "A", &json!({}))]);
        assert!(message.calls().all(|call| call.invalid.is_none()));
    }
}

/// FC-128: a whole call with object arguments and no id gets an id of its own.
#[tokio::test]
async fn whole_calls_without_ids_are_told_apart() {
    let message = streamed(&[
        chunk(json!({"tool_calls": [
            {"function": {"name": "f", "arguments": {"a": 1}}},
            {"function": {"name": "f", "arguments": {"a": 2}}},
        ]})),
        finish("tool_calls"),
    ])
    .await;
    let calls = calls(&message);
    assert_eq!(
        calls.iter().map(|call| call.2).collect::<Vec<_>>(),
        [&json!({"a": 1}), &json!({"a": 2})]
    );
    assert!(!calls[0].1.is_empty() && calls[0].1 != calls[1].1, "{calls:?}");
}

/// FC-130: framing follows the standard: CRLF, no blank after the colon, no blank line at the end.
#[tokio::test]
async fn framing_follows_the_standard() {
    let (text, end) = (chunk(json!({"content": "hi"})), finish("stop"));
    let bodies = [
        format!("data:{text}\r\n\r\ndata:{end}\r\n\r\ndata:[DONE]\r\n\r\n"),
        format!("event: x\rdata: {text}\r\rdata: {end}\r\rdata: [DONE]\r\r"),
        format!("data: {text}\n\ndata: {end}\n\ndata: [DONE]"),
        format!("data: {text}\n\ndata: {end}"),
    ];
    for body in bodies {
        let message = answer(MODEL, Reply::events(body.clone())).await;
        assert_eq!(
            message.unwrap_or_else(|error| panic!("{error} for {body:?}")).text(),
            "hi"
        );
    }
}

/// FC-133: content in a chunk that also has usage is kept.
#[tokio::test]
async fn content_beside_usage_is_kept() {
    let mut only = finish("stop");
    only["choices"][0]["delta"] = json!({"content": "42"});
    only["usage"] = json!({"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4});
    let message = streamed(&[only]).await;
    assert_eq!((message.text().as_str(), message.stop), ("42", StopReason::End));
    assert_eq!((message.usage.input, message.usage.output), (3, 1));
}

/// FC-131: comments are ignored; and characters may be split over pieces.
#[tokio::test]
async fn characters_may_be_split_over_pieces() {
    for size in [1, 2, 3, 5, 7, 64] {
        let reply = Reply::events(crate::support::fixture("chat_split_utf8.sse")).split(size);
        assert_eq!(
            answer(MODEL, reply).await.unwrap().text(),
            "中文 🦀 naïve",
            "pieces of {size}"
        );
    }
}

#[tokio::test]
async fn a_server_that_never_says_done_is_understood() {
    let body = format!(
        "data: {}\n\ndata: {}\n\n",
        chunk(json!({"content": "hi"})),
        finish("stop")
    );
    assert_eq!(answer(MODEL, Reply::events(body)).await.unwrap().text(), "hi");
}

#[tokio::test]
async fn a_server_that_gives_no_reason_is_understood() {
    let message = streamed(&[chunk(json!({"content": "hi"}))]).await;
    assert_eq!((message.text().as_str(), message.stop), ("hi", StopReason::End));
}

#[tokio::test]
async fn a_server_that_cannot_stream_is_understood() {
    let body = json!({"id": "c", "object": "chat.completion", "model": "m", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}
    ], "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}});
    let pretty = serde_json::to_string_pretty(&body).unwrap();
    let message = answer(MODEL, Reply::new(200, "application/json", pretty))
        .await
        .unwrap();
    assert_eq!((message.text().as_str(), message.usage.input), ("whole", 3));
}

#[tokio::test]
async fn a_server_without_a_content_type_is_understood() {
    let body = chunks(&[chunk(json!({"content": "hi"})), finish("stop")]);
    assert_eq!(answer(MODEL, Reply::new(200, "", body)).await.unwrap().text(), "hi");
}

/// FC-139: arguments cut by the output limit are invalid even if the server calls it a tool call.
#[tokio::test]
async fn cut_arguments_are_invalid_whatever_the_reason_given() {
    let message = streamed(&[
        call(json!({"index": 0, "id": "A", "function": {"name": "write", "arguments": "{\"path\":\"/a\",\"content\":\"abc"}})),
        finish("tool_calls"),
    ])
    .await;
    let call = message.calls().next().unwrap();
    assert_eq!((&call.input, call.invalid.is_some()), (&json!({}), true));
}

/// FC-140: arguments that are JSON but no object are invalid.
#[tokio::test]
async fn arguments_must_be_an_object() {
    for arguments in ["[1]", "\"x\"", "7", "true"] {
        let message = streamed(&[
            call(json!({"index": 0, "id": "A", "function": {"name": "f", "arguments": arguments}})),
            finish("tool_calls"),
        ])
        .await;
        let reason = &message.calls().next().unwrap().invalid.as_ref().unwrap().reason;
        assert!(reason.contains("object"), "{arguments}: {reason}");
    }
}

/// FC-145: a quoted example of a call stays text.
#[tokio::test]
async fn quoted_calls_stay_text() {
    let text = "```\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n```";
    let message = streamed(&[chunk(json!({"content": text})), finish("stop")]).await;
    assert_eq!((message.text().as_str(), message.calls().count()), (text, 0));
}

/// FC-148: running totals are not added up.
#[tokio::test]
async fn running_totals_are_not_added_up() {
    let mut deltas: Vec<Value> = (1..=50)
        .map(|count| {
            let mut chunk = chunk(json!({"content": "x"}));
            chunk["usage"] = json!({"prompt_tokens": 10, "completion_tokens": count, "total_tokens": 10 + count});
            chunk
        })
        .collect();
    deltas.push(finish("stop"));
    let usage = streamed(&deltas).await.usage;
    assert_eq!((usage.input, usage.output), (10, 50));
}

#[tokio::test]
async fn an_error_inside_a_stream_keeps_its_kind() {
    let body = format!(
        "data: {}\n\ndata: {}\n\n",
        chunk(json!({"content": "hi"})),
        json!({"error": {"message": "slow down", "code": 429}})
    );
    let error = answer(MODEL, Reply::events(body)).await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ModelErrorKind::RateLimited, "slow down")
    );
}

#[tokio::test]
async fn a_server_out_of_resources_is_overloaded_and_not_done() {
    let body = chunks(&[chunk(json!({"content": "hi"})), finish("insufficient_system_resource")]);
    let error = answer("deepseek:m", Reply::events(body)).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Overloaded);
}
