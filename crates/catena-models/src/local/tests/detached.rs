//! The server that stays.

use std::time::Duration;

use super::fake::{Fake, health_endpoint};
use crate::local::{DetachedStart, DetachedStatus, DetachedStop, ServerState, process};

/// Ends with its input like the real script, unless it is told to stay; then it sleeps as the same process.
fn serve(port: u16, setup: &str) -> String {
    format!(
        r#"{setup}
        echo "listening http://127.0.0.1:{port}"; read -r word || exit 7; [ "$word" = detach ] || exit 8; exec sleep 60"#
    )
}

fn write_state(fake: &Fake, pid: u32, started: &str, port: u16) {
    std::fs::create_dir_all(fake.data().join("local")).unwrap();
    let state = ServerState {
        pid,
        started: started.to_owned(),
        port,
        model: "local".to_owned(),
        weights: "w.gguf".into(),
    };
    std::fs::write(
        fake.data().join("local/server.json"),
        serde_json::to_vec(&state).unwrap(),
    )
    .unwrap();
}

#[tokio::test]
async fn a_detached_server_is_started_once_seen_and_stopped() {
    let (port, _endpoint) = health_endpoint(&[200]).await;
    let mut fake = Fake::new();
    fake.serve = serve(port, "echo hello >&2");
    let model = fake.provisioned().await;
    assert_eq!(model.status().await.unwrap(), DetachedStatus::Stopped);

    let DetachedStart::Started(state) = model.start_detached().await.unwrap() else {
        panic!("nothing ran before")
    };
    assert_eq!(
        (state.base_url(), state.model.as_str()),
        (format!("http://127.0.0.1:{port}/v1"), "local")
    );
    assert!(fake.read("server-args").ends_with("--detachable\n"));
    assert_eq!(fake.read("data/local/server.log"), "hello\n");
    assert_eq!(model.status().await.unwrap(), DetachedStatus::Running(state.clone()));
    assert_eq!(
        model.start_detached().await.unwrap(),
        DetachedStart::AlreadyRunning(state.clone())
    );

    assert_eq!(model.stop_detached().await.unwrap(), DetachedStop::Stopped);
    assert_eq!(process::started(state.pid).await, None);
    assert_eq!(model.status().await.unwrap(), DetachedStatus::Stopped);
    assert_eq!(model.stop_detached().await.unwrap(), DetachedStop::NotRunning);
}

#[tokio::test]
async fn a_server_deaf_to_asking_is_forced() {
    let (port, _endpoint) = health_endpoint(&[200]).await;
    let mut fake = Fake::new();
    fake.serve = serve(port, "trap '' TERM");
    let model = fake.provisioned().await;
    let DetachedStart::Started(state) = model.start_detached().await.unwrap() else {
        panic!("nothing ran before")
    };
    assert_eq!(
        model.stop_within(Duration::from_millis(200)).await.unwrap(),
        DetachedStop::Killed
    );
    assert_eq!(process::started(state.pid).await, None);
    assert_eq!(model.status().await.unwrap(), DetachedStatus::Stopped);
}

#[tokio::test]
async fn a_process_id_that_someone_else_got_is_stale_and_is_never_signalled() {
    let fake = Fake::new();
    let model = fake.model();
    let mut stranger = tokio::process::Command::new("sleep")
        .arg("60")
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    write_state(&fake, stranger.id().unwrap(), "before the stranger", 1);
    assert_eq!(model.status().await.unwrap(), DetachedStatus::Stale);
    assert_eq!(model.stop_detached().await.unwrap(), DetachedStop::NotRunning);
    assert_eq!(stranger.try_wait().unwrap(), None);
    assert_eq!(model.status().await.unwrap(), DetachedStatus::Stopped);
}

#[tokio::test]
async fn a_start_clears_a_stale_or_unreadable_state_away() {
    let (port, _endpoint) = health_endpoint(&[200]).await;
    let mut fake = Fake::new();
    fake.serve = serve(port, "");
    let model = fake.provisioned().await;
    std::fs::write(fake.data().join("local/server.json"), "{").unwrap();
    assert_eq!(model.status().await.unwrap(), DetachedStatus::Stale);
    assert!(matches!(
        model.start_detached().await.unwrap(),
        DetachedStart::Started(_)
    ));
    assert_eq!(model.stop_detached().await.unwrap(), DetachedStop::Stopped);
}

#[tokio::test]
async fn a_living_server_that_does_not_answer_is_told_apart_and_can_be_stopped() {
    let (port, _endpoint) = health_endpoint(&[503]).await;
    let fake = Fake::new();
    let model = fake.provisioned().await;
    let mut server = tokio::process::Command::new("sleep")
        .arg("60")
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let pid = server.id().unwrap();
    write_state(&fake, pid, &process::started(pid).await.unwrap(), port);
    assert!(matches!(model.status().await.unwrap(), DetachedStatus::Unresponsive(_)));
    assert_eq!(model.start_detached().await.unwrap_err().kind(), "unresponsive");
    assert_eq!(model.stop_detached().await.unwrap(), DetachedStop::Stopped);
    assert!(!server.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_detached_start_that_fails_tells_the_log_and_leaves_no_state() {
    let mut fake = Fake::new();
    fake.serve = "echo 'no such architecture' >&2; exit 1".to_owned();
    let model = fake.provisioned().await;
    let error = model.start_detached().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().ends_with("no such architecture")),
        ("exited_early", true),
        "{error}"
    );
    assert_eq!(model.status().await.unwrap(), DetachedStatus::Stopped);
}

#[tokio::test]
async fn two_detached_starts_at_once_make_one_server() {
    let (port, _endpoint) = health_endpoint(&[200]).await;
    let mut fake = Fake::new();
    fake.serve = serve(port, r#"echo start >>"$HERE/starts""#);
    let model = fake.provisioned().await;
    let (one, two) = tokio::join!(model.start_detached(), model.start_detached());
    let started = |start: &DetachedStart| matches!(start, DetachedStart::Started(_));
    assert_eq!(
        [one.unwrap(), two.unwrap()]
            .iter()
            .filter(|start| started(start))
            .count(),
        1
    );
    assert_eq!(fake.read("starts"), "start\n");
    assert_eq!(model.stop_detached().await.unwrap(), DetachedStop::Stopped);
}
