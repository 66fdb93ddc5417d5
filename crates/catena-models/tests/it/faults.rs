//! Faults of the wire, for every format.

use std::time::Duration;

use catena_core::model::{ModelDelta, ModelErrorKind};
use catena_models::providers::{ProviderSpec, TimeLimits, connect};
use serde_json::json;

use crate::mock::{Mock, Reply};
use crate::support::{KEY, answer, ask, chunk, connected, deltas, fixture, model, question};

const ALL: &[&str] = &[
    "openai:m",
    "openai-responses:m",
    "anthropic:m",
    "gemini:m",
    "ollama:m",
    "deepseek:m",
    "dashscope:m",
    "mistral:m",
    "compatible:m",
];

#[tokio::test]
async fn too_many_requests_says_how_long_to_wait() {
    for name in ALL {
        let body = json!({"error": {"type": "rate_limit_error", "message": "slow down"}}).to_string();
        let error = answer(
            name,
            Reply::new(429, "application/json", body).header("retry-after", "7"),
        )
        .await
        .unwrap_err();
        assert_eq!(
            (error.kind, error.status),
            (ModelErrorKind::RateLimited, Some(429)),
            "{name}: {error:?}"
        );
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)), "{name}");
        assert_eq!(error.message, "slow down", "{name}");
    }
}

#[tokio::test]
async fn statuses_are_sorted_for_every_format() {
    let cases = [
        (401, "no such key", ModelErrorKind::Auth),
        (
            400,
            "maximum context length is 8192 tokens",
            ModelErrorKind::ContextOverflow,
        ),
        (400, "unknown parameter", ModelErrorKind::InvalidRequest),
        (529, "overloaded", ModelErrorKind::Overloaded),
        (503, "", ModelErrorKind::Overloaded),
    ];
    for name in ALL {
        for (status, text, kind) in cases {
            let body = json!({"error": {"message": text}}).to_string();
            let error = answer(name, Reply::new(status, "application/json", body))
                .await
                .unwrap_err();
            assert_eq!(
                (error.kind, error.status),
                (kind, Some(status)),
                "{name} {status}: {error:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_started_is_no_stream() {
    let mock = Mock::start([Reply::new(500, "text/plain", "down")]).await;
    let request = question(&model("openai:m", &mock));
    let error = request.model.stream(&request).await.map(|_| ()).unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ModelErrorKind::Overloaded, "down")
    );
}

#[tokio::test]
async fn a_connection_cut_inside_the_answer_is_truncated() {
    let bodies = [
        ("anthropic:m", fixture("anthropic_half.sse")),
        (
            "openai:m",
            format!("data: {}\n\n", chunk(json!({"content": "Half an ans"}))).into_bytes(),
        ),
        (
            "gemini:m",
            b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Half an ans\"}]},\"index\":0}]}\n\n".to_vec(),
        ),
        (
            "ollama:m",
            b"{\"message\":{\"content\":\"Half an ans\"},\"done\":false}\n".to_vec(),
        ),
    ];
    for (name, body) in bodies {
        // Once with the connection torn, once with a body that is simply over.
        for reply in [Reply::events(body.clone()).cut(), Reply::events(body.clone())] {
            let mock = Mock::start([reply]).await;
            let (seen, error) = deltas(&question(&model(name, &mock))).await.unwrap_err();
            assert_eq!(
                seen,
                [ModelDelta::Text {
                    text: "Half an ans".into()
                }],
                "{name}"
            );
            assert_eq!(error.kind, ModelErrorKind::Truncated, "{name}: {error:?}");
            assert!(error.is_retryable());
        }
    }
}

#[tokio::test]
async fn a_cut_inside_an_event_is_truncated_too() {
    let whole = chunk(json!({"content": "Half"})).to_string();
    let body = format!("data: {whole}\n\ndata: {}", &whole[..whole.len() / 2]);
    for reply in [Reply::events(body.clone()), Reply::events(body.clone()).cut()] {
        assert_eq!(
            answer("openai:m", reply).await.unwrap_err().kind,
            ModelErrorKind::Truncated
        );
    }
}

#[tokio::test]
async fn an_event_that_is_not_json_is_malformed() {
    let error = answer(
        "openai:m",
        Reply::events("data: {\"choices\": oops}\n\ndata: [DONE]\n\n"),
    )
    .await
    .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Malformed, "{error:?}");
}

#[tokio::test]
async fn an_empty_stream_is_truncated() {
    for name in ALL {
        let error = answer(name, Reply::events("")).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Truncated, "{name}: {error:?}");
    }
}

#[tokio::test]
async fn a_web_page_says_that_the_address_is_wrong() {
    let error = answer("openai:m", Reply::new(200, "text/html", "<html></html>"))
        .await
        .unwrap_err();
    assert!(error.message.contains("base_url"), "{error:?}");
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let mock = Mock::start([Reply::new(307, "", "").header("location", "http://127.0.0.1:1/")]).await;
    let error = ask(&question(&model("openai:m", &mock))).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ModelErrorKind::InvalidRequest, Some(307)));
    assert!(error.message.contains("base_url"));
    mock.only();
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_error_without_its_address() {
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    for name in ["openai:m", "gemini:m"] {
        let spec = ProviderSpec::new(name).base_url(format!("http://127.0.0.1:{port}"));
        let model = connect(&spec, &|_| Some(KEY.to_owned())).unwrap();
        let error = ask(&question(&model)).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Network, "{error:?}");
        assert!(!format!("{error:?}").contains(KEY), "Gemini's key is in its address");
    }
}

#[tokio::test]
async fn silence_ends_the_call() {
    let limits = TimeLimits::new(
        Duration::from_secs(5),
        Duration::from_secs(5),
        Duration::from_millis(500),
    );
    let mock = Mock::start([Reply::events(fixture("anthropic_half.sse")).silent()]).await;
    let model = connected(ProviderSpec::new("anthropic:m").limits(limits), &mock);
    let (seen, error) = deltas(&question(&model)).await.unwrap_err();
    assert_eq!((seen.len(), error.kind), (1, ModelErrorKind::Timeout), "{error:?}");
}

#[tokio::test]
async fn a_key_in_an_answer_is_not_repeated() {
    let body = json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}}).to_string();
    let error = answer("openai:m", Reply::new(401, "application/json", body))
        .await
        .unwrap_err();
    assert!(!format!("{error:?} {error}").contains(KEY), "{error:?}");
}

#[tokio::test]
async fn every_format_survives_every_split_of_its_stream() {
    for (name, file) in [
        ("anthropic:m", "anthropic_thinking.sse"),
        ("openai:m", "chat_reasoning_parallel.sse"),
        ("openai-responses:m", "responses_reasoning.sse"),
        ("gemini:m", "gemini_signatures.sse"),
    ] {
        let whole = answer(name, Reply::events(fixture(file))).await.unwrap();
        for size in [1, 13, 100] {
            let split = answer(name, Reply::events(fixture(file)).split(size)).await.unwrap();
            assert_eq!(split.parts, whole.parts, "{name} in pieces of {size}");
        }
    }
}
