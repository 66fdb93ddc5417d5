//! What is sent.

use catena_core::message::{AssistantMessage, Data, File, Image, Message, Part, ToolCall, ToolStatus};
use catena_core::model::ToolChoice;
use catena_core::output::OutputFormat;
use catena_core::prompt::Stability;
use catena_core::tool::ToolSpec;
use catena_models::providers::ProviderSpec;
use serde_json::{Value, json};

use crate::mock::{Mock, Reply};
use crate::support::{KEY, ask, chunks, finish, model, question, result, sent, sent_with, tool};

fn png() -> Part {
    Part::Image(Image {
        media_type: "image/png".into(),
        data: Data::Base64("aW1n".into()),
    })
}

fn weather() -> ToolSpec {
    ToolSpec::new(
        "get_weather",
        "Weather.",
        json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    )
}

/// A call, its failed result with a picture, and the question before.
fn failed_call() -> Vec<Message> {
    vec![
        Message::user("hello"),
        Message::Assistant(AssistantMessage::new(vec![
            Part::text("let me check"),
            Part::ToolCall(ToolCall::new("c1", "get_weather", json!({"city": "Paris"}))),
        ])),
        result(
            "c1",
            "get_weather",
            vec![Part::text("no such city"), png()],
            ToolStatus::Error,
        ),
    ]
}

/// A call without any text, and its result without any content.
fn silent_call() -> Vec<Message> {
    vec![
        Message::user("hello"),
        Message::Assistant(AssistantMessage::new(vec![Part::ToolCall(ToolCall::new(
            "c1",
            "now",
            json!({}),
        ))])),
        result("c1", "now", vec![], ToolStatus::Success),
    ]
}

#[tokio::test]
async fn the_key_goes_where_each_provider_wants_it() {
    assert_eq!(
        sent("openai:m", vec![Message::user("x")]).await.header("authorization"),
        Some(&*format!("Bearer {KEY}"))
    );
    assert_eq!(
        sent("anthropic:m", vec![Message::user("x")]).await.header("x-api-key"),
        Some(KEY)
    );
    assert!(
        sent("gemini:m", vec![Message::user("x")])
            .await
            .path
            .ends_with(&format!("key={KEY}"))
    );
}

#[tokio::test]
async fn paths_follow_from_the_address() {
    for (name, path) in [
        ("openai:m", "/v1/chat/completions"),
        ("mistral:m", "/v1/chat/completions"),
        ("xai:m", "/v1/chat/completions"),
        ("together:m", "/v1/chat/completions"),
        ("llamacpp:m", "/v1/chat/completions"),
        ("openai-responses:m", "/v1/responses"),
        ("anthropic:m", "/v1/messages"),
        ("ollama:m", "/api/chat"),
    ] {
        assert_eq!(sent(name, vec![Message::user("x")]).await.path, path, "{name}");
    }
    let gemini = sent("gemini:m", vec![Message::user("x")]).await.path;
    assert!(
        gemini.starts_with("/v1beta/models/m:streamGenerateContent?alt=sse&"),
        "{gemini}"
    );
}

#[tokio::test]
async fn settings_and_parameters_reach_the_body() {
    let spec = ProviderSpec::new("openai:m")
        .extra("seed", json!(1))
        .extra("user", json!("u"))
        .header("x-title", "catena");
    let seen = sent_with(spec, vec![Message::user("x")], |request| {
        request.prompt.push("agent", Stability::Static, "Be brief.");
        request.settings.temperature = Some(0.5);
        request.settings.max_tokens = Some(100);
        request.settings.extra.insert("seed".into(), json!(2));
    })
    .await;
    assert_eq!(seen.header("x-title"), Some("catena"));
    let body = &seen.body;
    assert_eq!(
        (&body["temperature"], &body["max_tokens"], &body["seed"], &body["user"]),
        (&json!(0.5), &json!(100), &json!(2), &json!("u"))
    );
    assert_eq!(
        (&body["stream"], &body["stream_options"]["include_usage"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(body["messages"][0]["role"], "system");
    assert!(body["messages"][0].to_string().contains("Be brief."));
}

#[tokio::test]
async fn a_failed_result_with_a_picture_reaches_anthropic_as_such() {
    let body = sent("anthropic:m", failed_call()).await.body;
    let block = &body["messages"][2]["content"][0];
    assert_eq!(
        (&block["type"], &block["tool_use_id"], &block["is_error"]),
        (&json!("tool_result"), &json!("c1"), &json!(true))
    );
    assert_eq!(block["content"][0], json!({"type": "text", "text": "no such city"}));
    assert_eq!(
        block["content"][1]["source"],
        json!({"type": "base64", "media_type": "image/png", "data": "aW1n"})
    );
    assert!(body["max_tokens"].as_u64().unwrap() > 0, "Anthropic wants a limit");
}

#[tokio::test]
async fn a_failed_result_reaches_gemini_as_an_error() {
    let body = sent("gemini:gemini-3-test", failed_call()).await.body;
    let response = &body["contents"][2]["parts"][0]["functionResponse"];
    assert_eq!(response["response"], json!({"error": "no such city"}));
    assert_eq!(response["parts"][0]["inlineData"]["data"], "aW1n");
}

/// FC-137: the words beside a call stay.
#[tokio::test]
async fn the_words_beside_a_call_stay() {
    let body = sent("openai:m", failed_call()).await.body;
    let assistant = &body["messages"][1];
    assert_eq!(assistant["content"], "let me check");
    assert_eq!(
        assistant["tool_calls"][0]["function"],
        json!({"name": "get_weather", "arguments": "{\"city\":\"Paris\"}"})
    );
    assert_eq!(body["messages"][2]["tool_call_id"], "c1");
}

/// FC-136: a call without text is kept in every format, with its result next.
#[tokio::test]
async fn a_call_without_text_is_kept_in_every_format() {
    let chat = sent("deepseek:m", silent_call()).await.body;
    assert_eq!(chat["messages"][1]["tool_calls"][0]["id"], "c1");
    // FC-137: and the empty result is a neutral text, not null.
    assert_eq!(
        (&chat["messages"][2]["role"], &chat["messages"][2]["content"]),
        (&json!("tool"), &json!("(no tool output)"))
    );
    let anthropic = sent("anthropic:m", silent_call()).await.body;
    assert_eq!(
        anthropic["messages"][1]["content"],
        json!([{"type": "tool_use", "id": "c1", "name": "now", "input": {}}])
    );
    assert_eq!(anthropic["messages"][2]["content"][0]["tool_use_id"], "c1");
    let gemini = sent("gemini:m", silent_call()).await.body;
    assert_eq!(gemini["contents"][1]["parts"][0]["functionCall"]["name"], "now");
    assert_eq!(gemini["contents"][1]["parts"].as_array().unwrap().len(), 1);
    assert_eq!(gemini["contents"][2]["parts"][0]["functionResponse"]["name"], "now");
    let responses = sent("openai-responses:m", silent_call()).await.body;
    assert_eq!(responses["input"][1]["call_id"], "c1");
    assert_eq!(
        (&responses["input"][2]["type"], &responses["input"][2]["output"]),
        (&json!("function_call_output"), &json!("(no tool output)"))
    );
    let ollama = sent("ollama:m", silent_call()).await.body;
    assert_eq!(
        ollama["messages"][1]["tool_calls"][0]["function"]["arguments"],
        json!({})
    );
}

#[tokio::test]
async fn pictures_and_files_of_a_person_are_sent() {
    let parts = vec![
        Part::text("look"),
        png(),
        Part::File(File {
            name: "a.pdf".into(),
            media_type: "application/pdf".into(),
            data: Data::Base64("cGRm".into()),
        }),
        Part::File(File {
            name: "b.txt".into(),
            media_type: "text/plain".into(),
            data: Data::Text("words".into()),
        }),
    ];
    let body = sent("anthropic:claude-haiku-4-5", vec![Message::user_parts(parts.clone())])
        .await
        .body;
    let content = &body["messages"][0]["content"];
    assert_eq!(content[1]["source"]["data"], "aW1n");
    assert_eq!(
        (&content[2]["type"], &content[2]["title"]),
        (&json!("document"), &json!("a.pdf"))
    );
    assert_eq!(content[3]["text"], "File `b.txt`:\n\nwords");
    let body = sent("openai:m", vec![Message::user_parts(parts)]).await.body;
    let content = &body["messages"][0]["content"];
    assert_eq!(content[1]["image_url"]["url"], "data:image/png;base64,aW1n");
    assert_eq!(content[2]["file"]["file_data"], "data:application/pdf;base64,cGRm");
}

#[tokio::test]
async fn native_descriptors_go_to_the_provider_that_knows_them() {
    let descriptor = json!({"type": "bash_20250124", "name": "bash"});
    let with_tools = |request: &mut catena_core::model::ModelRequest| {
        let bash = ToolSpec::new("bash", "Runs a command.", Value::Null).native(descriptor.clone());
        *request.tools_mut() = vec![tool(weather()), tool(bash)];
    };
    let spec = ProviderSpec::new("anthropic:m").header("anthropic-beta", "context-management-2025-06-27");
    let seen = sent_with(spec, vec![Message::user("x")], with_tools).await;
    assert_eq!(seen.header("anthropic-beta"), Some("context-management-2025-06-27"));
    let tools = seen.body["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[1]), (2, &descriptor));
    assert_eq!(tools[0]["input_schema"]["properties"]["city"]["type"], "string");
    let seen = sent_with(ProviderSpec::new("openai:m"), vec![Message::user("x")], with_tools).await;
    assert_eq!(seen.body["tools"][1]["function"]["name"], "bash");
}

#[tokio::test]
async fn the_choice_of_tools_is_sent_in_each_providers_words() {
    let choose = |choice: ToolChoice| {
        move |request: &mut catena_core::model::ModelRequest| {
            *request.tools_mut() = vec![tool(weather()), tool(ToolSpec::new("now", "Time.", Value::Null))];
            request.tool_choice = choice;
        }
    };
    let one = ToolChoice::Tool("now".into());
    let body = sent_with(
        ProviderSpec::new("openai:m"),
        vec![Message::user("x")],
        choose(one.clone()),
    )
    .await
    .body;
    assert_eq!(body["tool_choice"]["function"]["name"], "now");
    let body = sent_with(
        ProviderSpec::new("anthropic:m"),
        vec![Message::user("x")],
        choose(one.clone()),
    )
    .await
    .body;
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "now"}));
    // A server that cannot be told which one is offered that one only.
    let body = sent_with(ProviderSpec::new("llamacpp:m"), vec![Message::user("x")], choose(one))
        .await
        .body;
    assert_eq!(
        (&body["tool_choice"], body["tools"].as_array().unwrap().len()),
        (&json!("required"), 1)
    );
    let body = sent_with(
        ProviderSpec::new("openai:m"),
        vec![Message::user("x")],
        choose(ToolChoice::None),
    )
    .await
    .body;
    assert_eq!(body["tool_choice"], "none");
    let body = sent_with(
        ProviderSpec::new("openai:m"),
        vec![Message::user("x")],
        choose(ToolChoice::Auto),
    )
    .await
    .body;
    assert_eq!(body.get("tool_choice"), None);
}

#[tokio::test]
async fn a_schema_is_sent_to_models_that_take_one() {
    let format = || {
        OutputFormat::new(
            "answer",
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
        )
    };
    let ask_for = |request: &mut catena_core::model::ModelRequest| {
        request.output = Some(format());
        *request.tools_mut() = vec![tool(weather())];
    };
    let body = sent_with(ProviderSpec::new("openai:m"), vec![Message::user("x")], ask_for)
        .await
        .body;
    assert_eq!(body["response_format"]["json_schema"]["name"], "answer");
    let body = sent_with(ProviderSpec::new("anthropic:m"), vec![Message::user("x")], ask_for)
        .await
        .body;
    assert_eq!(body["output_config"]["format"]["type"], "json_schema");
    let body = sent_with(
        ProviderSpec::new("openai-responses:m"),
        vec![Message::user("x")],
        ask_for,
    )
    .await
    .body;
    assert_eq!(body["text"]["format"]["type"], "json_schema");
    let body = sent_with(ProviderSpec::new("deepseek:m"), vec![Message::user("x")], ask_for)
        .await
        .body;
    assert_eq!(body.get("response_format"), None);
}

#[tokio::test]
async fn nothing_is_stored_at_openai_unless_the_operator_says_so() {
    assert_eq!(
        sent("openai-responses:m", vec![Message::user("x")]).await.body["store"],
        json!(false)
    );
    let spec = ProviderSpec::new("openai-responses:m").extra("store", json!(true));
    assert_eq!(
        sent_with(spec, vec![Message::user("x")], |_| {}).await.body["store"],
        json!(true)
    );
}

/// FC-142: a request does not end with the model's own words by accident.
#[tokio::test]
async fn a_request_does_not_end_with_the_models_words() {
    let mock = Mock::start([]).await;
    let mut request = question(&model("mistral:m", &mock));
    request
        .messages_mut()
        .push(std::sync::Arc::new(Message::assistant("x")));
    let error = ask(&request).await.unwrap_err();
    assert!(error.message.contains("prefill"), "{error:?}");
    let mut spec = ProviderSpec::new("anthropic:m");
    spec.prefill = true;
    let body = sent_with(spec, vec![Message::user("hello"), Message::assistant("x")], |_| {})
        .await
        .body;
    assert_eq!(body["messages"][1]["role"], "assistant");
}

#[tokio::test]
async fn a_local_server_without_a_key_gets_no_authorization() {
    let mock = Mock::start([Reply::events(chunks(&[
        crate::support::chunk(json!({"content": "hi"})),
        finish("stop"),
    ]))])
    .await;
    let spec = ProviderSpec::new("vllm:m").base_url(mock.url("/v1"));
    let model = catena_models::providers::connect(&spec, &|_| None).unwrap();
    assert_eq!(ask(&question(&model)).await.unwrap().text(), "hi");
    assert_eq!(mock.only().header("authorization"), None);
}

/// A last answer without tools is asked for with the calls so far as calls, not as words about calls.
#[tokio::test]
async fn a_request_without_tools_still_sends_calls_as_calls() {
    let anthropic = sent("anthropic:m", failed_call()).await.body;
    assert_eq!(
        anthropic["tools"][0]["name"], "get_weather",
        "Anthropic wants the tools of a history declared"
    );
    assert_eq!(anthropic["tool_choice"], json!({"type": "none"}));
    for name in ["openai:m", "openai-responses:m", "gemini:m", "ollama:m"] {
        let body = sent(name, failed_call()).await.body;
        assert_eq!(body.get("tools"), None, "{name}");
        assert!(!body.to_string().contains("called tool"), "{name}: {body}");
    }
}
