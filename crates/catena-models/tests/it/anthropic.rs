//! Anthropic's Messages.

use catena_core::message::Part;
use catena_core::model::{ModelDelta, ModelErrorKind, StopReason, Usage};
use serde_json::json;

use crate::mock::{Mock, Reply};
use crate::support::{answer, calls, deltas, fixture, message, model, question};

const MODEL: &str = "anthropic:claude-test";

#[tokio::test]
async fn every_kind_of_block_is_kept_in_its_place() {
    let message = message(MODEL, "anthropic_thinking.sse").await;
    let kinds: Vec<String> = message
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => format!("text {}", text.text),
            Part::Reasoning(thought) => format!(
                "thought {:?} {:?} {:?}",
                thought.text, thought.signature, thought.encrypted
            ),
            Part::ToolCall(call) => format!("call {} {}", call.id, call.input),
            Part::Provider(block) => format!("{} {}", block.provider, block.block["type"].as_str().unwrap()),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            r#"thought "I should search." Some("c2lnbmVk") None"#,
            r#"thought "" None Some("b3BhcXVl")"#,
            "anthropic server_tool_use",
            "anthropic web_search_tool_result",
            "text Rust is a language.",
            "anthropic catena.text",
            r#"call toolu_1 {"city":"Paris"}"#,
        ]
    );
    assert_eq!(message.stop, StopReason::ToolCalls);
    assert_eq!(message.model.as_deref(), Some(MODEL));
    // FC-149: the count at the end replaces the one at the start.
    let usage = Usage {
        input: 135,
        output: 15,
        cached: 100,
        cache_write: 10,
        reasoning: 6,
        micro_usd: 0,
    };
    assert_eq!(message.usage, usage);
    let Part::Provider(beside) = &message.parts[5] else {
        panic!()
    };
    assert_eq!(beside.block["item"]["citations"][0]["url"], "https://example.org/rust");
    assert_eq!(
        beside.block["item"]["text"],
        json!(null),
        "a filter may have taken something out of the text"
    );
}

#[tokio::test]
async fn the_answer_streams_as_it_comes() {
    let mock = Mock::start([Reply::events(fixture("anthropic_thinking.sse"))]).await;
    let (deltas, _) = deltas(&question(&model(MODEL, &mock))).await.unwrap();
    let pieces: Vec<&str> = deltas
        .iter()
        .filter_map(|delta| match delta {
            ModelDelta::Text { text } | ModelDelta::Reasoning { text } => Some(&**text),
            ModelDelta::ToolCall { arguments, .. } if !arguments.is_empty() => Some(arguments),
            _ => None,
        })
        .collect();
    assert_eq!(
        pieces,
        [
            "I should ",
            "search.",
            "Rust is a ",
            "language.",
            "{\"city\": \"Pa",
            "ris\"}"
        ]
    );
}

/// FC-146: a thought without text is legal and survives with its signature.
#[tokio::test]
async fn a_thought_without_text_survives() {
    let message = message(MODEL, "anthropic_empty_thought.sse").await;
    let Part::Reasoning(signed) = &message.parts[0] else {
        panic!("{:?}", message.parts)
    };
    assert_eq!((signed.text.as_str(), signed.signature.as_deref()), ("", Some("czE=")));
    let Part::Reasoning(redacted) = &message.parts[1] else {
        panic!("{:?}", message.parts)
    };
    assert_eq!(redacted.encrypted.as_deref(), Some("ZDE="));
    // FC-127: a call without arguments has an empty object.
    assert_eq!(calls(&message), [("now", "c1", &json!({}))]);
}

#[tokio::test]
async fn arguments_that_are_not_json_make_the_call_invalid_and_stay_readable() {
    let message = message(MODEL, "anthropic_malformed_arguments.sse").await;
    let call = message.calls().next().unwrap();
    assert_eq!(call.input, json!({}));
    let invalid = call.invalid.as_ref().unwrap();
    assert_eq!(invalid.text, "{\"path\": /tmp/a}");
    assert!(invalid.reason.contains("not valid JSON"), "{}", invalid.reason);
}

/// FC-139: arguments that the output limit cut off are an error that says so.
#[tokio::test]
async fn arguments_cut_by_the_output_limit_are_invalid() {
    let message = message(MODEL, "anthropic_cut_by_limit.sse").await;
    assert_eq!(message.stop, StopReason::Length);
    let invalid = message.calls().next().unwrap().invalid.as_ref().unwrap();
    assert!(invalid.reason.contains("output limit"), "{}", invalid.reason);
    assert!(invalid.text.ends_with("abc"), "{}", invalid.text);
}

#[tokio::test]
async fn overload_in_mid_stream_may_be_retried() {
    let mock = Mock::start([Reply::events(fixture("anthropic_overloaded_after_text.sse"))]).await;
    let (seen, error) = deltas(&question(&model(MODEL, &mock))).await.unwrap_err();
    assert_eq!(
        seen,
        [ModelDelta::Text {
            text: "Half an ans".into()
        }]
    );
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ModelErrorKind::Overloaded, "Overloaded")
    );
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_refusal_is_told_from_an_answer() {
    let body = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":5}}}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"},\"usage\":{\"output_tokens\":1}}\n\n",
    );
    let error = answer(MODEL, Reply::events(body)).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Refused);
}

#[tokio::test]
async fn a_turn_paused_in_the_providers_own_tools_is_not_a_plain_end() {
    let body = String::from_utf8(fixture("anthropic_thinking.sse")).unwrap();
    let body = body.replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":\"pause_turn\"");
    assert_eq!(
        answer(MODEL, Reply::events(body)).await.unwrap().stop,
        StopReason::Paused
    );
}

#[tokio::test]
async fn a_listed_model_has_a_price() {
    let priced = message("anthropic:claude-haiku-4-5", "anthropic_thinking.sse")
        .await
        .usage;
    assert!(priced.micro_usd > 0, "{priced:?}");
}
