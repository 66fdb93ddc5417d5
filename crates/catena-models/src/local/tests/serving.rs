//! The server that ends with catena.

use std::time::Duration;

use super::fake::{Fake, health_endpoint};
use crate::local::{LocalModel, LocalServer, launch};

/// Announces the port of a real endpoint and lives until its input ends, which it notes.
fn serve(port: u16) -> String {
    format!(r#"echo "listening http://127.0.0.1:{port}"; cat >/dev/null; echo gone >"$HERE/gone""#)
}

async fn started(fake: &mut Fake, port: u16) -> LocalServer {
    fake.serve = serve(port);
    fake.provisioned().await.start().await.unwrap()
}

#[tokio::test]
async fn a_start_waits_until_the_server_is_healthy() {
    let (port, _endpoint) = health_endpoint(&[503, 503, 200]).await;
    let mut fake = Fake::new();
    let server = started(&mut fake, port).await;
    assert_eq!(server.base_url, format!("http://127.0.0.1:{port}/v1"));
    assert_eq!(server.model, "local");
    let args = fake.read("server-args");
    let threads = crate::local::options::default_threads();
    assert!(
        args.ends_with(&format!("--name\nlocal\n--context\n4096\n--threads\n{threads}\n")),
        "{args}"
    );
    assert!(args.starts_with("-I\n-u\n"), "{args}");
    server.stop().await.unwrap();
}

/// What happens when catena is killed is the same: the pipe's other end closes.
#[tokio::test]
async fn a_server_ends_by_itself_when_its_input_ends() {
    let (port, _endpoint) = health_endpoint(&[200]).await;
    let mut fake = Fake::new();
    started(&mut fake, port).await.stop().await.unwrap();
    assert_eq!(fake.read("gone"), "gone\n");
}

#[tokio::test]
async fn a_server_that_ends_early_is_told_with_its_status_and_last_words() {
    let mut fake = Fake::new();
    fake.serve = "echo loading >&2; echo 'RuntimeError: out of memory' >&2; exit 3".to_owned();
    let error = fake.provisioned().await.start().await.unwrap_err();
    let expected = "the local model's server ended while starting (exit status: 3); its output ended with:\nloading\nRuntimeError: out of memory";
    assert_eq!((error.kind(), error.to_string().as_str()), ("exited_early", expected));
}

#[tokio::test]
async fn a_server_that_ends_between_announcement_and_health_is_told_too() {
    let (port, _endpoint) = health_endpoint(&[503]).await;
    let mut fake = Fake::new();
    fake.serve = format!(r#"echo "listening http://127.0.0.1:{port}"; echo 'bad model' >&2; exit 1"#);
    let error = fake.provisioned().await.start().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().ends_with("bad model")),
        ("exited_early", true),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_never_gets_healthy_runs_into_the_limit() {
    let (port, _endpoint) = health_endpoint(&[503]).await;
    let mut fake = Fake::new();
    fake.serve = serve(port);
    fake.provisioned().await;
    let model = LocalModel::new(fake.options().start_limit(Duration::from_millis(300)));
    let error = model.start().await.unwrap_err();
    assert_eq!(error.kind(), "timed_out", "{error}");
}

#[tokio::test]
async fn an_announcement_that_is_no_loopback_address_is_refused() {
    let mut fake = Fake::new();
    fake.serve = "echo listening http://10.0.0.1:80; cat".to_owned();
    let error = fake.provisioned().await.start().await.unwrap_err();
    assert_eq!(
        (
            error.kind(),
            error.to_string().contains("`listening http://10.0.0.1:80`")
        ),
        ("bad_announcement", true),
        "{error}"
    );
}

#[tokio::test]
async fn a_running_server_that_dies_is_seen_with_its_last_words() {
    let (port, _endpoint) = health_endpoint(&[200]).await;
    let mut fake = Fake::new();
    fake.serve = format!(
        r#"echo "listening http://127.0.0.1:{port}"; until [ -e "$HERE/die" ]; do sleep 0.05; done; echo dying >&2; exit 9"#
    );
    let mut server = fake.provisioned().await.start().await.unwrap();
    std::fs::write(fake.path("die"), "").unwrap();
    let told = server.exited().await.to_string();
    assert!(told.contains("exit status: 9") && told.ends_with("dying"), "{told}");
    assert_eq!(server.pid(), None);
}

#[tokio::test]
async fn the_server_gets_none_of_the_shells_secrets() {
    let mut fake = Fake::new();
    fake.serve = r#"env >"$HERE/env"; exit 1"#.to_owned();
    fake.provisioned().await.start().await.unwrap_err();
    let names: Vec<String> = fake
        .read("env")
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0.to_owned()))
        .collect();
    assert!(names.contains(&"PATH".to_owned()), "{names:?}");
    // Cargo sets this one for every test, so it stands for all the others.
    #[expect(clippy::disallowed_methods, reason = "the test is about the environment itself")]
    let set_for_the_test = std::env::var_os("CARGO_MANIFEST_DIR").is_some();
    assert!(
        set_for_the_test && !names.contains(&"CARGO_MANIFEST_DIR".to_owned()),
        "{names:?}"
    );
}

#[tokio::test]
async fn ones_own_weights_are_checked_before_the_server_is_started() {
    let fake = Fake::new();
    fake.provisioned().await;
    let refused = async |path: &std::path::Path| LocalModel::new(fake.options().gguf(path)).start().await.unwrap_err();

    let error = refused(&fake.path("missing.gguf")).await;
    assert_eq!(
        (error.kind(), error.to_string().contains("there is no such file")),
        ("bad_gguf", true),
        "{error}"
    );
    assert!(std::error::Error::source(&error).is_some());

    let other = fake.path("other.gguf");
    std::fs::write(&other, "PK").unwrap();
    assert!(refused(&other).await.to_string().contains("it is not a GGUF file"));
    assert!(refused(fake.dir.path()).await.to_string().contains("it cannot be read"));

    std::fs::write(&other, "GGUF and more").unwrap();
    assert_eq!(launch::checked_gguf(&other).await.unwrap(), other);
    assert_eq!(fake.read("server-args"), "");
}

#[tokio::test]
async fn without_an_environment_a_start_says_to_provision_first() {
    let fake = Fake::new();
    assert_eq!(fake.model().start().await.unwrap_err().kind(), "not_provisioned");
    assert_eq!(
        fake.model().start_detached().await.unwrap_err().kind(),
        "not_provisioned"
    );
}

/// The futures are run on tasks by their callers.
#[test]
fn every_future_can_move_between_threads() {
    fn sent<T: Send>(_: &T) {}
    let fake = Fake::new();
    let model = fake.model();
    sent(&model.provision(&|_| ()));
    sent(&model.start());
    sent(&model.start_detached());
    sent(&model.stop_detached());
    sent(&model.status());
    assert_eq!(fake.read("installs"), "", "a future that is not awaited does nothing");
}
