//! Errors of rig's, as catena's: sorted by what the provider says, and without the key.

use std::time::Duration;

use catena_core::model::{ModelError, ModelErrorKind};
use http::HeaderMap;
use http::header::RETRY_AFTER;
use jiff::Timestamp;
use rig_core::ProviderResponseError;
use rig_core::error::ProviderError;
use rig_core::http_client;
use rig_core::wire::Secret;
use serde_json::Value;

use super::http::TransportError;

/// Longer texts are pages or echoes of the request.
const MAX_MESSAGE: usize = 2_000;

/// What an error of rig's means.
pub(super) fn model_error(error: &ProviderError, key: &Secret) -> ModelError {
    tidy(sorted(error), key)
}

/// A failure that a provider reports as the end of an answer: `code: message`.
pub(super) fn reported(text: &str, key: &Secret) -> ModelError {
    let code = text.split_once(": ").map_or(text, |(code, _)| code);
    let kind = by_word(code).unwrap_or_else(|| overflow_or(text, ModelErrorKind::Other));
    tidy(ModelError::new(kind, text), key)
}

/// No provider's key is shorter.
const SHORTEST_KEY: usize = 8;

/// Without the key, and not longer than anyone reads. In this order: a key that is cut in two would not be found.
fn tidy(mut error: ModelError, key: &Secret) -> ModelError {
    // A "key" of a few letters is a slip, and taking it out would only garble the words.
    if key.expose().len() >= SHORTEST_KEY {
        error.message = error.message.replace(key.expose(), "[key]");
    }
    error.message = shorten(&error.message);
    error
}

fn sorted(error: &ProviderError) -> ModelError {
    if let Some(response) = error.provider_response() {
        return answered(response);
    }
    match error {
        ProviderError::Http(error) => transport(error),
        ProviderError::Truncated => ModelError::new(
            ModelErrorKind::Truncated,
            "the stream was cut before the answer was complete",
        ),
        ProviderError::Json(error) => ModelError::new(
            ModelErrorKind::Malformed,
            format!("the provider sent something that is not valid JSON: {error}"),
        ),
        ProviderError::Response(text) => ModelError::new(ModelErrorKind::Malformed, text),
        ProviderError::Request(error) => ModelError::new(ModelErrorKind::InvalidRequest, error.to_string()),
        ProviderError::Url(error) => ModelError::new(ModelErrorKind::InvalidRequest, error.to_string()),
        ProviderError::UnsupportedOption(option) => ModelError::new(ModelErrorKind::InvalidRequest, option.to_string()),
        other => ModelError::new(ModelErrorKind::Other, other.to_string()),
    }
}

fn transport(error: &http_client::Error) -> ModelError {
    if let http_client::Error::InvalidContentType(kind) = error {
        let kind = kind.to_str().unwrap_or("nothing readable");
        let text = format!("the server answered with `{kind}` and not with a stream; check `base_url`");
        return ModelError::new(ModelErrorKind::InvalidRequest, text);
    }
    let below = match error {
        http_client::Error::Instance(inner) => inner.downcast_ref::<TransportError>(),
        _ => None,
    };
    let Some(below) = below else {
        return ModelError::new(ModelErrorKind::Network, error.to_string());
    };
    let kind = match below {
        TransportError::Timeout { .. } => ModelErrorKind::Timeout,
        TransportError::Unreachable(_) => ModelErrorKind::Network,
        TransportError::Cut(_) => ModelErrorKind::Truncated,
        TransportError::TooLarge(_) => ModelErrorKind::Malformed,
    };
    // The error is shared with rig and cannot be moved out, so its causes are told.
    let mut text = below.to_string();
    let mut source = std::error::Error::source(below);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    ModelError::new(kind, text)
}

/// An answer that is an error, as HTTP status or as an event in a stream.
fn answered(response: &ProviderResponseError) -> ModelError {
    if let Some(status) = response.status.filter(|status| status.is_redirection()) {
        let text = "the server sends requests elsewhere; check `base_url`";
        let error = ModelError::new(ModelErrorKind::InvalidRequest, text);
        return ModelError {
            status: Some(status.as_u16()),
            ..error
        };
    }
    let body = serde_json::from_str::<Value>(&response.body).unwrap_or(Value::Null);
    // OpenAI's Responses puts the error into the response that failed.
    let places = [&body["error"], &body["response"]["error"]];
    let error = places.into_iter().find(|error| !error.is_null()).unwrap_or(&body);
    let message = words(error).unwrap_or_else(|| response.body.trim().to_owned());
    let status = response
        .status
        .map(|status| status.as_u16())
        .filter(|status| *status >= 400);
    let mut out = match status {
        Some(status) => ModelError::from_status(status, message.clone()),
        None => ModelError::new(ModelErrorKind::Other, message.clone()),
    };
    out.kind = kind(status, error, response, &message);
    out.with_retry_after(response.headers.as_ref().and_then(retry_after))
}

fn kind(status: Option<u16>, error: &Value, response: &ProviderResponseError, message: &str) -> ModelErrorKind {
    if response.refusal {
        return ModelErrorKind::Refused;
    }
    let listed = [&error["type"], &error["code"], &error["status"]];
    let said = listed.iter().filter_map(|word| word.as_str()).find_map(by_word);
    let by_status = status.map(|status| ModelErrorKind::classify(status, message));
    match (by_status, said) {
        // A status that stands for many things: the word is more exact.
        (Some(ModelErrorKind::InvalidRequest | ModelErrorKind::RateLimited | ModelErrorKind::Other), Some(said)) => {
            said
        }
        (Some(kind), _) => kind,
        (None, Some(ModelErrorKind::InvalidRequest)) => overflow_or(message, ModelErrorKind::InvalidRequest),
        (None, Some(said)) => said,
        // Gateways put the status of the provider behind them where the code belongs.
        (None, None) => match error["code"].as_u64().and_then(|code| u16::try_from(code).ok()) {
            Some(code) if code >= 400 => ModelErrorKind::classify(code, message),
            _ if response.transient == Some(true) => ModelErrorKind::Overloaded,
            _ => overflow_or(message, ModelErrorKind::Other),
        },
    }
}

/// What the words mean that providers use for kinds of errors.
fn by_word(word: &str) -> Option<ModelErrorKind> {
    Some(match word.to_ascii_lowercase().as_str() {
        "overloaded_error"
        | "overloaded"
        | "api_error"
        | "server_error"
        | "internal_server_error"
        | "internal_error"
        | "service_unavailable"
        | "unavailable"
        | "internal"
        | "vector_store_timeout" => ModelErrorKind::Overloaded,
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "rate_limit_reached_error"
        | "resource_exhausted"
        | "too_many_requests"
        | "engine_overloaded_error"
        | "throttling" => ModelErrorKind::RateLimited,
        "insufficient_quota"
        | "exceeded_current_quota_error"
        | "billing_error"
        | "billing_hard_limit_reached"
        | "authentication_error"
        | "permission_error"
        | "invalid_api_key"
        | "invalid_authentication_error"
        | "permission_denied"
        | "unauthenticated" => ModelErrorKind::Auth,
        "timeout_error" | "timeout" | "deadline_exceeded" => ModelErrorKind::Timeout,
        "context_length_exceeded" | "request_too_large" | "exceed_context_size_error" => {
            ModelErrorKind::ContextOverflow
        }
        "content_filter" | "content_policy_violation" | "data_inspection_failed" => ModelErrorKind::Refused,
        "invalid_request_error" | "not_found_error" | "invalid_argument" | "invalid_prompt" | "model_not_found" => {
            ModelErrorKind::InvalidRequest
        }
        _ => return None,
    })
}

fn overflow_or(message: &str, other: ModelErrorKind) -> ModelErrorKind {
    match ModelErrorKind::classify(400, message) {
        ModelErrorKind::ContextOverflow => ModelErrorKind::ContextOverflow,
        _ => other,
    }
}

/// The sentence in an error's body.
fn words(error: &Value) -> Option<String> {
    let text = match error {
        Value::String(text) => text.clone(),
        _ => ["message", "detail", "msg"]
            .iter()
            .find_map(|key| error[*key].as_str())?
            .to_owned(),
    };
    // OpenRouter wraps the error of the provider behind it.
    match error["metadata"]["raw"].as_str() {
        Some(raw) => Some(format!("{text}: {raw}")),
        None => Some(text),
    }
}

/// How long a provider asks to wait.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse::<u64>().ok()) {
        return Some(Duration::from_millis(millis));
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Duration::try_from(at.duration_since(Timestamp::now()))
        .ok()
        .or(Some(Duration::ZERO))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use rig_core::http_client::StatusCode;

    use super::*;

    fn event(body: &str) -> ModelErrorKind {
        model_error(&ProviderError::from_provider_body(body), &Secret::default()).kind
    }

    #[test]
    fn errors_inside_a_stream_are_sorted_by_their_words() {
        use ModelErrorKind::{Auth, ContextOverflow, InvalidRequest, Overloaded, RateLimited, Refused};
        let cases = [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Overloaded,
            ),
            (
                r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#,
                Overloaded,
            ),
            (
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#,
                RateLimited,
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3 tokens > 2 maximum"}}"#,
                ContextOverflow,
            ),
            (
                r#"{"error":{"message":"bad","type":"invalid_request_error"}}"#,
                InvalidRequest,
            ),
            (r#"{"error":{"message":"no","code":"insufficient_quota"}}"#, Auth),
            (
                r#"{"error":{"message":"Provider returned error","code":502}}"#,
                Overloaded,
            ),
            (
                r#"{"error":{"message":"Provider returned error","code":429}}"#,
                RateLimited,
            ),
            (
                r#"{"error":{"message":"blocked","code":"data_inspection_failed"}}"#,
                Refused,
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(event(body), expected, "{body}");
        }
    }

    #[test]
    fn a_wait_may_be_seconds_milliseconds_or_a_date() {
        let wait = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(wait("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(wait("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(
            wait("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(Duration::ZERO)
        );
        assert!(wait("retry-after", "Thu, 01 Jan 2099 00:00:00 GMT").unwrap() > Duration::from_secs(1_000_000));
        assert_eq!(wait("retry-after", "soon"), None);
    }

    #[test]
    fn a_key_that_a_provider_echoes_is_taken_out() {
        let error = ProviderError::from_http_response(
            StatusCode::UNAUTHORIZED,
            r#"{"error":{"message":"Incorrect API key provided: sk-secret"}}"#,
        );
        let error = model_error(&error, &Secret::from("sk-secret"));
        assert_eq!((error.kind, error.status), (ModelErrorKind::Auth, Some(401)));
        assert_eq!(error.message, "Incorrect API key provided: [key]");
    }

    #[test]
    fn a_key_is_taken_out_of_what_a_provider_reports_as_the_end() {
        let error = reported("server_error: for key sk-secret", &Secret::from("sk-secret"));
        assert_eq!(error.kind, ModelErrorKind::Overloaded);
        assert_eq!(error.message, "server_error: for key [key]");
    }

    #[test]
    fn a_key_is_taken_out_before_the_text_is_cut() {
        let text = format!("{}sk-secret and more", "x".repeat(MAX_MESSAGE - 4));
        let key = Secret::from("sk-secret");
        let event = serde_json::json!({"error": {"message": text}}).to_string();
        for error in [
            reported(&text, &key),
            model_error(&ProviderError::from_provider_body(event), &key),
        ] {
            assert!(!error.message.contains("sk-"), "{}", error.message);
            assert!(error.message.chars().count() <= MAX_MESSAGE + 1);
        }
    }
}
