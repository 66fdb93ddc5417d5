//! A Python made of shell, and a health endpoint.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::local::{LocalModel, LocalOptions, ProvisionEvent, pins};

/// A fake interpreter in a directory of its own. The fields are shell, run for one kind of call each; `$HERE` is that directory.
pub(super) struct Fake {
    pub(super) dir: TempDir,
    /// Answers the first question: version, modules, free space.
    pub(super) probe: String,
    /// Makes the environment; `$1` is its path.
    pub(super) venv: String,
    /// `pip --version`.
    pub(super) pip_version: String,
    /// `pip install`; a line in `$HERE/installs` is written before.
    pub(super) install: String,
    /// The server; `$HERE/server-args` is written before.
    pub(super) serve: String,
}

impl Fake {
    /// One where everything works, except that the server ends at once.
    pub(super) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            probe: r#"echo '{"major": 3, "minor": 12, "free": 9000000000, "venv": true}'"#.to_owned(),
            venv: r#"mkdir -p "$1/bin" && ln -s "$HERE/python3" "$1/bin/python""#.to_owned(),
            pip_version: "echo 'pip 26.3 from /somewhere (python 3.12)'".to_owned(),
            install: "echo Installing collected packages: some".to_owned(),
            serve: "exit 0".to_owned(),
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(super) fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Writes the script and describes a model that uses it.
    pub(super) fn model(&self) -> LocalModel {
        LocalModel::new(self.options())
    }

    pub(super) fn options(&self) -> LocalOptions {
        let python = self.path("python3");
        write_script(&python, &self.script());
        LocalOptions::new(self.data()).python(python)
    }

    pub(super) async fn provisioned(&self) -> LocalModel {
        let model = self.model();
        model.provision(&|_| ()).await.unwrap();
        model
    }

    fn script(&self) -> String {
        let Self {
            dir,
            probe,
            venv,
            pip_version,
            install,
            serve,
        } = self;
        let (here, sha, file) = (
            dir.path().canonicalize().unwrap(),
            pins::WEIGHTS_SHA256,
            pins::WEIGHTS_FILE,
        );
        let here = here.display();
        format!(
            r#"#!/bin/sh
HERE='{here}'
last() {{ shift $(($# - 1)); printf %s "$1"; }}
case "$*" in
*disk_usage*) {probe} ;;
*'-m venv '*) set -- "$(last "$@")"; {venv} ;;
*'-m pip --version'*) {pip_version} ;;
*'-m pip install '*) echo "$*" >>"$HERE/installs"; {install} ;;
*hashlib*) mkdir -p "$HERE/data/local/venv/pkg"; : >"$HERE/data/local/venv/pkg/{file}"
  echo '["'"$HERE/data/local/venv/pkg/{file}"'", "{sha}"]' ;;
*server.py*) printf '%s\n' "$@" >"$HERE/server-args"; {serve} ;;
*) echo "unexpected call: $*" >&2; exit 99 ;;
esac
"#
        )
    }
}

/// Written by another process: a script that a thread of ours has open for writing cannot be run if a fork elsewhere in the tests has copied
/// the handle.
pub(super) fn write_script(path: &Path, text: &str) {
    let mut writer = Command::new("sh")
        .args(["-c", r#"cat >"$1" && chmod +x "$1""#, "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}

/// Events of a provisioning.
#[derive(Default)]
pub(super) struct Seen(Mutex<Vec<ProvisionEvent>>);

impl crate::local::Progress for Seen {
    fn report(&self, event: ProvisionEvent) {
        self.0.lock().unwrap().push(event);
    }
}

impl Seen {
    pub(super) fn take(&self) -> Vec<ProvisionEvent> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// An endpoint that answers each request with the next of the given codes, and the last one ever after. Lives as long as the set.
pub(super) async fn health_endpoint(codes: &'static [u16]) -> (u16, JoinSet<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        for code in codes.iter().chain(std::iter::repeat(codes.last().unwrap())) {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                assert!(
                    stream.read_buf(&mut request).await.unwrap() > 0,
                    "the request ends early"
                );
            }
            assert!(request.starts_with(b"GET /health HTTP/1.0\r\n"), "{request:?}");
            stream
                .write_all(format!("HTTP/1.1 {code} X\r\n\r\n{{}}").as_bytes())
                .await
                .unwrap();
        }
    });
    (port, tasks)
}
