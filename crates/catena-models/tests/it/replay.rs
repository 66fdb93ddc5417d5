//! Answers sent back: to the provider that gave them, and to others.

use catena_core::message::{AssistantMessage, Message, Part, Reasoning, ToolStatus};
use serde_json::{Value, json};

use crate::mock::{Mock, Reply};
use crate::support::{ask, fixture, model, question, result, sent};

/// The thread after an answer whose calls are all answered; stored and read again on the way.
async fn thread(name: &str, reply: Reply) -> Vec<Message> {
    let mock = Mock::start([reply]).await;
    let message = ask(&question(&model(name, &mock))).await.unwrap();
    let stored = serde_json::to_string(&message).unwrap();
    let message: AssistantMessage = serde_json::from_str(&stored).unwrap();
    let results: Vec<Message> = message
        .calls()
        .map(|call| {
            result(
                call.id.as_str(),
                &call.name,
                vec![Part::text("sunny")],
                ToolStatus::Success,
            )
        })
        .collect();
    let mut thread = vec![Message::user("hello"), Message::Assistant(message)];
    match results.is_empty() {
        true => thread.push(Message::user("go on")),
        false => thread.extend(results),
    }
    thread
}

fn events(file: &str) -> Reply {
    Reply::events(fixture(file))
}

/// FC-146: the provider that signed a thought gets every block back as it was.
#[tokio::test]
async fn anthropic_gets_its_blocks_back_as_they_were() {
    let thread = thread("anthropic:claude-test", events("anthropic_thinking.sse")).await;
    let body = sent("anthropic:claude-test", thread).await.body;
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "thinking", "thinking": "I should search.", "signature": "c2lnbmVk"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rust"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
                {"type": "web_search_result", "title": "Rust", "url": "https://example.org/rust", "encrypted_content": "ZW5j", "page_age": null}
            ]},
            {"type": "text", "text": "Rust is a language.", "citations": [
                {"type": "web_search_result_location", "url": "https://example.org/rust", "title": "Rust", "encrypted_index": "aWR4", "cited_text": "a language"}
            ]},
            {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}},
        ])
    );
    assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "toolu_1");
}

/// FC-146: a thought without text goes back with its signature, before the call.
#[tokio::test]
async fn thoughts_without_text_go_back() {
    let thread = thread("anthropic:claude-test", events("anthropic_empty_thought.sse")).await;
    let body = sent("anthropic:claude-other", thread).await.body;
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "thinking", "thinking": "", "signature": "czE="},
            {"type": "redacted_thinking", "data": "ZDE="},
            {"type": "tool_use", "id": "c1", "name": "now", "input": {}},
        ])
    );
}

/// FC-146: no other provider sees a thought, a signature or a foreign block.
#[tokio::test]
async fn no_other_provider_sees_what_one_vouched_for() {
    let answers = [
        ("anthropic:claude-test", events("anthropic_thinking.sse")),
        ("openai-responses:gpt-test", events("responses_reasoning.sse")),
        ("gemini:gemini-3-test", events("gemini_signatures.sse")),
        ("deepseek:m", events("chat_reasoning_parallel.sse")),
    ];
    let secret = [
        "I should search",
        "c2lnbmVk",
        "srvtoolu_1",
        "aWR4",
        "Weather needed",
        "ZW5jMQ",
        "rs_1",
        "msg_1",
        "fc_1",
        "Two cities",
        "c2lnMQ",
        "catena.",
    ];
    for (from, reply) in answers {
        let thread = thread(from, reply).await;
        for to in [
            "openai:m",
            "anthropic:m",
            "openai-responses:m",
            "gemini:m",
            "ollama:m",
            "deepseek:m",
            "openrouter:m",
        ] {
            if to.split(':').next() == from.split(':').next() {
                continue;
            }
            let body = sent(to, thread.clone()).await.body.to_string();
            for word in secret {
                assert!(!body.contains(word), "{to} sees `{word}` of {from}: {body}");
            }
            assert!(
                body.contains("get_weather") && body.contains("sunny"),
                "{to} misses the call of {from}: {body}"
            );
        }
    }
}

#[tokio::test]
async fn a_thought_that_nobody_signed_is_dropped_whole() {
    let mut message = AssistantMessage::new(vec![
        Part::Reasoning(Reasoning {
            text: "unsigned".into(),
            ..Reasoning::default()
        }),
        Part::text("hi"),
    ]);
    message.model = Some("anthropic:claude-test".into());
    let thread = vec![
        Message::user("hello"),
        Message::Assistant(message),
        Message::user("go on"),
    ];
    let body = sent("anthropic:claude-test", thread).await.body;
    assert_eq!(body["messages"][1]["content"], json!([{"type": "text", "text": "hi"}]));
}

/// Newer Claude models bind a thought to its prompt: it is dropped, never turned into words.
#[tokio::test]
async fn a_bound_thought_never_becomes_words() {
    let thread = thread("anthropic:claude-opus-5", events("anthropic_thinking.sse")).await;
    let spec = catena_models::providers::ProviderSpec::new("anthropic:claude-opus-5");
    let body = sent("anthropic:claude-opus-5", thread.clone()).await.body;
    assert_eq!(body["messages"][1]["content"][0]["signature"], "c2lnbmVk");
    let fixed = spec.extra("thinking", json!({"type": "enabled", "budget_tokens": 2_000}));
    let body = crate::support::sent_with(fixed, thread, |_| {}).await.body;
    assert!(!body.to_string().contains("I should search"), "{body}");
}

/// FC-134: the reasoning text goes back on messages with calls, after the thread was stored and read again.
#[tokio::test]
async fn deepseek_gets_its_reasoning_back_beside_calls() {
    let thread = thread("deepseek:m", events("chat_reasoning_parallel.sse")).await;
    let assistant = sent("deepseek:m", thread.clone()).await.body["messages"][1].clone();
    assert_eq!(assistant["reasoning_content"], "Two cities.");
    assert_eq!(assistant["content"], "Let me check.");
    assert_eq!(assistant["tool_calls"].as_array().unwrap().len(), 2);
    // Those who do not want it get nothing.
    let mut foreign = thread;
    if let Message::Assistant(message) = &mut foreign[1] {
        message.model = Some("dashscope:m".into());
    }
    assert_eq!(
        sent("dashscope:m", foreign).await.body["messages"][1].get("reasoning_content"),
        None
    );
}

#[tokio::test]
async fn openrouter_gets_the_details_of_a_thought_back() {
    let details = json!([{"type": "reasoning.encrypted", "data": "ZW5j", "format": "anthropic-claude-v1", "index": 0}]);
    let body = crate::support::chunks(&[
        crate::support::chunk(json!({"reasoning": "Hm.", "reasoning_details": details})),
        crate::support::chunk(
            json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "now", "arguments": "{}"}}]}),
        ),
        crate::support::finish("tool_calls"),
    ]);
    let thread = thread("openrouter:vendor/m", Reply::events(body)).await;
    let assistant = sent("openrouter:vendor/m", thread).await.body["messages"][1].clone();
    assert_eq!(assistant["reasoning_details"], details);
}

#[tokio::test]
async fn openai_gets_its_reasoning_items_back_before_what_they_led_to() {
    let thread = thread("openai-responses:gpt-test", events("responses_reasoning.sse")).await;
    let body = sent("openai-responses:gpt-test", thread).await.body;
    let kinds: Vec<(&str, Option<&str>)> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["type"].as_str().unwrap(), item["id"].as_str()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("message", None),
            ("reasoning", Some("rs_1")),
            ("message", Some("msg_1")),
            ("reasoning", Some("rs_2")),
            ("function_call", Some("fc_1")),
            ("function_call_output", None),
        ]
    );
    let input = &body["input"];
    assert_eq!(
        input[1],
        json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Weather needed."}], "encrypted_content": "ZW5jMQ=="})
    );
    assert_eq!(
        input[3],
        json!({"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "ZW5jMg=="})
    );
    assert_eq!(
        (&input[2]["phase"], &input[2]["content"][0]["text"]),
        (&json!("commentary"), &json!("Let me look."))
    );
    assert!(body["include"].to_string().contains("reasoning.encrypted_content"));
}

#[tokio::test]
async fn gemini_gets_its_signatures_back_where_they_were() {
    let thread = thread("gemini:gemini-3-test", events("gemini_signatures.sse")).await;
    let body = sent("gemini:gemini-3-test", thread).await.body;
    let parts = body["contents"][1]["parts"].as_array().unwrap();
    let calls: Vec<&Value> = parts.iter().filter(|part| part.get("functionCall").is_some()).collect();
    assert_eq!(
        (&calls[0]["thoughtSignature"], calls[1].get("thoughtSignature")),
        (&json!("c2lnMQ=="), None)
    );
    assert_eq!(calls[0]["functionCall"]["args"], json!({"city": "Paris"}));
    let answers = body["contents"][2]["parts"].as_array().unwrap();
    assert_eq!(
        answers
            .iter()
            .map(|part| part["functionResponse"]["id"].as_str().unwrap())
            .collect::<Vec<_>>(),
        ["f1", "f2"]
    );
}

#[tokio::test]
async fn gemini_gets_a_signed_text_back() {
    let thread = thread("gemini:gemini-3-test", events("gemini_signed_text.sse")).await;
    let body = sent("gemini:gemini-3-test", thread).await.body;
    assert_eq!(
        body["contents"][1]["parts"],
        json!([{"text": "The answer is 42.", "thoughtSignature": "dGV4dA=="}])
    );
}

#[tokio::test]
async fn ollama_gets_its_thinking_back_beside_calls() {
    let thread = thread("ollama:qwen3", Reply::lines(fixture("ollama_calls.ndjson"))).await;
    let body = sent("ollama:qwen3", thread).await.body;
    assert_eq!(body["messages"][1]["thinking"], "Both cities.");
    assert_eq!(
        body["messages"][1]["tool_calls"][1]["function"]["arguments"],
        json!({"a": 2})
    );
}

/// FC-139: arguments that were not JSON go back as an empty object.
#[tokio::test]
async fn broken_arguments_go_back_as_an_object() {
    let thread = thread("anthropic:claude-test", events("anthropic_malformed_arguments.sse")).await;
    for to in ["anthropic:claude-test", "openai:m", "gemini:m"] {
        let body = sent(to, thread.clone()).await.body.to_string();
        assert!(!body.contains("/tmp/a"), "{to}: {body}");
    }
    let body = sent("anthropic:claude-test", thread).await.body;
    assert_eq!(body["messages"][1]["content"][0]["input"], json!({}));
}

#[tokio::test]
async fn an_edited_call_goes_back_as_it_was_edited() {
    let mut thread = thread("openai-responses:gpt-test", events("responses_reasoning.sse")).await;
    if let Message::Assistant(message) = &mut thread[1] {
        message
            .calls_mut()
            .for_each(|call| call.input = json!({"city": "Rome"}));
    }
    let body = sent("openai-responses:gpt-test", thread).await.body;
    assert_eq!(body["input"][4]["arguments"], "{\"city\":\"Rome\"}");
}
