//! A server of scripted answers.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// An answer.
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    split: usize,
    end: End,
}

/// How an answer ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// As HTTP wants it.
    Whole,
    /// The connection is closed inside the body.
    Cut,
    /// Nothing more comes, and the connection stays open.
    Silent,
}

impl Reply {
    /// A stream of events.
    pub(crate) fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/event-stream; charset=utf-8", body)
    }

    /// A stream of lines.
    pub(crate) fn lines(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "application/x-ndjson", body)
    }

    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = match content_type {
            "" => Vec::new(),
            kind => vec![("content-type", kind.to_owned())],
        };
        Self {
            status,
            headers,
            body: body.into(),
            split: usize::MAX,
            end: End::Whole,
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// In pieces of this many bytes.
    pub(crate) fn split(mut self, bytes: usize) -> Self {
        self.split = bytes;
        self
    }

    pub(crate) fn cut(mut self) -> Self {
        self.end = End::Cut;
        self
    }

    pub(crate) fn silent(mut self) -> Self {
        self.end = End::Silent;
        self
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// The server. It stops when it is dropped.
pub(crate) struct Mock {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    _tasks: JoinSet<()>,
}

impl Mock {
    /// A server that gives these answers, one a request, in this order.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let log = seen.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, replies.clone(), log.clone()));
            }
        });
        Self {
            address,
            seen,
            _tasks: tasks,
        }
    }

    /// Where it is reached.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The only request it got.
    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen.lock().unwrap();
        assert_eq!(seen.len(), 1, "requests");
        seen[0].clone()
    }
}

async fn serve(mut stream: TcpStream, replies: Arc<Mutex<VecDeque<Reply>>>, log: Arc<Mutex<Vec<Seen>>>) {
    let Some(request) = read(&mut stream).await else { return };
    log.lock().unwrap().push(request);
    let reply = replies
        .lock()
        .unwrap()
        .pop_front()
        .unwrap_or_else(|| Reply::new(500, "text/plain", "no answer is scripted"));
    write(&mut stream, reply).await;
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, length)| length.parse().unwrap());
    while bytes.len() < head + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[head + 4..]).unwrap_or(Value::Null);
    Some(Seen { path, headers, body })
}

async fn write(stream: &mut TcpStream, reply: Reply) {
    let mut head = format!(
        "HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\nconnection: close\r\n",
        reply.status
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let _ = stream.write_all(head.as_bytes()).await;
    for piece in reply.body.chunks(reply.split) {
        let _ = stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await;
        let _ = stream.write_all(piece).await;
        let _ = stream.write_all(b"\r\n").await;
        let _ = stream.flush().await;
        // The client reads each piece by itself.
        tokio::task::yield_now().await;
    }
    match reply.end {
        End::Whole => {
            let _ = stream.write_all(b"0\r\n\r\n").await;
        }
        End::Cut => {}
        End::Silent => {
            let _ = stream.flush().await;
            let _ = stream.read(&mut [0; 1]).await;
        }
    }
}
