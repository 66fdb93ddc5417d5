//! The HTTP client below rig: time limits, extra headers, errors without secrets, and streams in one framing.
//!
//! rig reads server-sent events by the letter of the standard. Servers do not always write them so: the last event may lack its blank
//! line, the content type may be missing, and a server that cannot stream answers with one JSON document. All of that is normalised here,
//! before rig reads it, so that rig's decoders stay untouched.

mod body;
mod error;
mod mend;
mod sse;

pub(super) use error::TransportError;
pub(super) use sse::Tap;

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use rig_core::http_client::{HttpClientExt, LazyBody, MultipartForm, Request, Response, Result, StreamingResponse};
use rig_core::wasm_compat::WasmCompatSend;
use rig_reqwest::ReqwestClient;
use rig_reqwest::reqwest::{self, Url, redirect};

use super::{ProviderError, ProviderSpec, TimeLimits};

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A client for one model; clones share its connections.
#[derive(Clone)]
pub(super) struct Http {
    client: ReqwestClient,
    limits: TimeLimits,
    headers: Arc<HeaderMap>,
    tap: Option<Tap>,
}

impl Http {
    pub(super) fn new(spec: &ProviderSpec, base_url: &Url) -> std::result::Result<Self, ProviderError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &spec.headers {
            let wrong = || ProviderError::Header {
                model: spec.model.clone(),
                name: name.clone(),
            };
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            headers.insert(key, HeaderValue::from_str(value).map_err(|_| wrong())?);
        }
        let mut builder = reqwest::Client::builder()
            .connect_timeout(spec.limits.connect())
            // A redirect could carry the key to another host.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("catena/", env!("CARGO_PKG_VERSION")));
        if is_loopback(base_url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(ProviderError::Client)?;
        Ok(Self {
            client: client.into(),
            limits: spec.limits,
            headers: Arc::new(headers),
            tap: None,
        })
    }

    /// The same client, showing `tap` what passes.
    pub(super) fn with_tap(&self, tap: Option<Tap>) -> Self {
        Self { tap, ..self.clone() }
    }

    fn add_headers(&self, headers: &mut HeaderMap) {
        for (name, value) in self.headers.iter() {
            // Betas add up; everything else is replaced.
            let joined = headers.get(name).filter(|_| name == "anthropic-beta").and_then(|old| {
                let mut text = old.as_bytes().to_vec();
                text.push(b',');
                text.extend_from_slice(value.as_bytes());
                HeaderValue::from_bytes(&text).ok()
            });
            headers.insert(name.clone(), joined.unwrap_or_else(|| value.clone()));
        }
    }
}

impl HttpClientExt for Http {
    fn send<T, U>(
        &self,
        mut req: Request<T>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + WasmCompatSend + 'static
    where
        T: Into<Bytes> + WasmCompatSend,
        U: From<Bytes> + WasmCompatSend + 'static,
    {
        self.add_headers(req.headers_mut());
        let (sent, limits) = (self.client.send(req), self.limits);
        async move { error::in_time(limits, sent).await }
    }

    fn send_multipart<U>(
        &self,
        mut req: Request<MultipartForm>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + WasmCompatSend + 'static
    where
        U: From<Bytes> + WasmCompatSend + 'static,
    {
        self.add_headers(req.headers_mut());
        let (sent, limits) = (self.client.send_multipart(req), self.limits);
        async move { error::in_time(limits, sent).await }
    }

    async fn send_streaming<T>(&self, mut req: Request<T>) -> Result<StreamingResponse>
    where
        T: Into<Bytes> + WasmCompatSend,
    {
        self.add_headers(req.headers_mut());
        let events = req.headers().get(ACCEPT) == Some(&EVENT_STREAM);
        let response = error::in_time(self.limits, self.client.send_streaming(req)).await?;
        let (mut parts, body) = response.into_parts();
        let body = body::timed(body, self.limits.idle());
        if !events || !parts.status.is_success() {
            return Ok(Response::from_parts(parts, body));
        }
        let body = match Kind::of(&parts.headers) {
            Kind::Events => sse::reframed(body, self.tap.clone()),
            Kind::Json => sse::as_one_event(body, self.tap.clone()),
            // A web page: the address is wrong. rig says so.
            Kind::Page => return Ok(Response::from_parts(parts, body)),
        };
        parts.headers.insert(CONTENT_TYPE, EVENT_STREAM);
        Ok(Response::from_parts(parts, body))
    }
}

enum Kind {
    Events,
    Json,
    Page,
}

impl Kind {
    fn of(headers: &HeaderMap) -> Self {
        let kind = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_ascii_lowercase();
        match kind.split(';').next().unwrap_or_default().trim() {
            "application/json" => Self::Json,
            "text/html" | "application/xhtml+xml" => Self::Page,
            _ => Self::Events,
        }
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
