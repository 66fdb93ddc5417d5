//! Asks a server on this machine whether it is ready, by hand: one GET needs no HTTP client.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Limit of one question. The engine answers from a thread of its own, also while it generates.
const ASK_LIMIT: Duration = Duration::from_secs(2);

/// Bytes of the answer that are read: the status line is all that counts.
const ANSWER_BYTES: usize = 64;

/// Whether the server at this loopback port answers `/health` with 200. Anything else, a refusal or 503 while it loads among them, is a no.
pub(super) async fn is_healthy(port: u16) -> bool {
    matches!(timeout(ASK_LIMIT, status(port)).await, Ok(Ok(Some(200))))
}

/// HTTP/1.0, so that the server closes the connection and never answers in chunks.
async fn status(port: u16) -> std::io::Result<Option<u16>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    stream
        .write_all(b"GET /health HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
        .await?;
    let mut answer = Vec::with_capacity(ANSWER_BYTES);
    while answer.len() < ANSWER_BYTES && !answer.contains(&b'\n') && stream.read_buf(&mut answer).await? > 0 {}
    Ok(status_code(&answer))
}

/// The code in `HTTP/1.1 200 OK`.
fn status_code(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_whitespace();
    words.next().filter(|version| version.starts_with("HTTP/"))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn only_a_status_line_has_a_code() {
        assert_eq!(status_code(b"HTTP/1.1 200 OK\r\nServer: x\r\n"), Some(200));
        assert_eq!(status_code(b"HTTP/1.0 503 Service Unavailable\r\n"), Some(503));
        for answer in ["", "SSH-2.0-x 200", "HTTP/1.1", "HTTP/1.1 many"] {
            assert_eq!(status_code(answer.as_bytes()), None, "{answer}");
        }
    }

    #[tokio::test]
    async fn a_connection_that_closes_without_an_answer_is_not_healthy() {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let close = async { drop(listener.accept().await.unwrap()) };
        let (healthy, ()) = tokio::join!(is_healthy(port), close);
        assert!(!healthy);
    }
}
