//! Bodies with a limit on silence.

use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use rig_core::http_client::BoxedStream;

use super::error::{TransportError, clean};

/// The body, ending with an error if nothing comes for `limit` or if the connection ends inside it.
pub(super) fn timed(body: BoxedStream, limit: Duration) -> BoxedStream {
    Box::pin(stream::unfold(Some(body), move |body| async move {
        let mut body = body?;
        match tokio::time::timeout(limit, body.next()).await {
            Ok(Some(Ok(chunk))) => Some((Ok(chunk), Some(body))),
            Ok(Some(Err(error))) => Some((Err(clean(error, TransportError::Cut)), None)),
            Ok(None) => None,
            Err(_) => Some((
                Err(TransportError::Timeout {
                    what: "nothing more came from the server",
                    limit,
                }
                .into()),
                None,
            )),
        }
    }))
}
