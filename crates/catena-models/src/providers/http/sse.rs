//! Server-sent events, written again in the plainest form.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use rig_core::http_client::framing::{SseEvent, SseFramer};
use rig_core::http_client::{self, BoxedStream};
use serde_json::Value;

use super::error::TransportError;
use super::mend::Mender;

/// An answer's images may come in one event; nothing else is near this.
const MAX_EVENT: usize = 64 * 1024 * 1024;

/// Shows what passes to who needs it earlier than rig tells: finished reasoning items, with their place in the answer.
///
/// rig holds a reasoning item back until the item after it is complete; by then its text has long been passed on, and the proof would
/// come behind the words that follow it.
#[derive(Clone, Default)]
pub(in crate::providers) struct Tap(Arc<Mutex<VecDeque<(usize, Value)>>>);

impl Tap {
    /// The finished reasoning items before the item at `place`.
    pub(in crate::providers) fn before(&self, place: usize) -> Vec<Value> {
        let mut items = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = items.iter().take_while(|(at, _)| *at < place).count();
        items.drain(..count).map(|(_, item)| item).collect()
    }

    fn look(&self, data: &str) {
        if !data.contains("\"reasoning\"") {
            return;
        }
        let Ok(mut event) = serde_json::from_str::<Value>(data) else {
            return;
        };
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A whole answer in one document.
        if event["object"] == "response" {
            let items = event["output"].as_array().into_iter().flatten().enumerate();
            seen.extend(
                items
                    .filter(|(_, item)| item["type"] == "reasoning")
                    .map(|(at, item)| (at, item.clone())),
            );
            return;
        }
        if event["type"] == "response.output_item.done" && event["item"]["type"] == "reasoning" {
            let place = event["output_index"].as_u64().and_then(|at| usize::try_from(at).ok());
            seen.extend(place.map(|place| (place, event["item"].take())));
        }
    }
}

/// A body of events, each of them written as rig expects it; the last one counts even without its blank line, if it is whole.
pub(super) fn reframed(body: BoxedStream, tap: Option<Tap>) -> BoxedStream {
    let state = Some((
        body,
        Reframer {
            framer: SseFramer::new(),
            tap,
            mender: Mender::default(),
        },
    ));
    Box::pin(stream::unfold(state, |state| async move {
        let (mut body, mut reframer) = state?;
        loop {
            match body.next().await {
                Some(Ok(chunk)) => {
                    let events = reframer.push(&chunk);
                    if reframer.framer.pending() > MAX_EVENT {
                        return Some((Err(TransportError::TooLarge(MAX_EVENT).into()), None));
                    }
                    if !events.is_empty() {
                        return Some((Ok(events), Some((body, reframer))));
                    }
                }
                Some(Err(error)) => return Some((Err(error), None)),
                None => return Some((Ok(reframer.finish()), None)),
            }
        }
    }))
}

/// A body that is one JSON document, as one event.
pub(super) fn as_one_event(body: BoxedStream, tap: Option<Tap>) -> BoxedStream {
    Box::pin(stream::once(async move {
        let mut body = body;
        let mut whole = Vec::new();
        while let Some(chunk) = body.next().await {
            whole.extend_from_slice(&chunk?);
            if whole.len() > MAX_EVENT {
                return Err(http_client::Error::from(TransportError::TooLarge(MAX_EVENT)));
            }
        }
        let data = String::from_utf8_lossy(&whole).replace('\r', "");
        if let Some(tap) = tap {
            tap.look(&data);
        }
        let mut out = String::with_capacity(data.len() + 16);
        write(
            &SseEvent {
                data,
                ..SseEvent::default()
            },
            &mut out,
        );
        Ok(Bytes::from(out))
    }))
}

struct Reframer {
    framer: SseFramer,
    tap: Option<Tap>,
    mender: Mender,
}

impl Reframer {
    fn push(&mut self, chunk: &[u8]) -> Bytes {
        let mut out = String::new();
        for mut event in self.framer.push(chunk) {
            if let Some(tap) = &self.tap {
                tap.look(&event.data);
            }
            self.mender.mend(&mut event.data);
            write(&event, &mut out);
        }
        out.into()
    }

    /// What was left when the body ended. Half an event is none: the stream was cut inside it.
    fn finish(&mut self) -> Bytes {
        let mut out = String::new();
        for event in self.framer.push(b"\n\n") {
            let data = event.data.trim();
            if data == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok() {
                if let Some(tap) = &self.tap {
                    tap.look(data);
                }
                write(&event, &mut out);
            }
        }
        out.into()
    }
}

fn write(event: &SseEvent, out: &mut String) {
    if !event.event.is_empty() && event.event != "message" {
        out.push_str("event: ");
        out.push_str(&event.event);
        out.push('\n');
    }
    for line in event.data.split('\n') {
        out.push_str("data: ");
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn framed(chunks: &[&[u8]]) -> String {
        let mut reframer = Reframer {
            framer: SseFramer::new(),
            tap: None,
            mender: Mender::default(),
        };
        let mut out = Vec::new();
        for chunk in chunks {
            out.extend_from_slice(&reframer.push(chunk));
        }
        out.extend_from_slice(&reframer.finish());
        String::from_utf8(out).unwrap()
    }

    /// FC-130: line ends, missing blanks, several data lines and a missing last blank line are all read.
    #[test]
    fn every_legal_framing_is_read() {
        assert_eq!(framed(&[b"data:{\"a\":1}\r\n\r\n"]), "data: {\"a\":1}\n\n");
        assert_eq!(framed(&[b"data: a\ndata: b\n\n"]), "data: a\ndata: b\n\n");
        assert_eq!(framed(&[b"event: x\rdata: {}\r\r"]), "event: x\ndata: {}\n\n");
        assert_eq!(
            framed(&[b"data: {\"a\":1}\n\ndata:[DONE]"]),
            "data: {\"a\":1}\n\ndata: [DONE]\n\n"
        );
    }

    /// FC-131: comments are not events.
    #[test]
    fn comments_are_dropped() {
        assert_eq!(
            framed(&[b": ping\n\n: OPENROUTER PROCESSING\n\ndata: {}\n\n"]),
            "data: {}\n\n"
        );
    }

    #[test]
    fn bytes_may_be_split_anywhere() {
        let text = "event: x\r\ndata: {\"t\":\"中文 🦀\"}\r\n\r\ndata: [DONE]\n\n";
        let whole = framed(&[text.as_bytes()]);
        for at in 1..text.len() {
            let (left, right) = text.as_bytes().split_at(at);
            assert_eq!(framed(&[left, right]), whole, "split at {at}");
        }
    }

    #[test]
    fn half_an_event_at_the_end_is_none() {
        assert_eq!(framed(&[b"data: {\"a\":1}\n\ndata: {\"a\":"]), "data: {\"a\":1}\n\n");
    }
}
