//! A process that is killed at any point of a run loses nothing that was acknowledged and does nothing twice.

mod parallel;
mod scenario;
mod verdict;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use scenario::{Place, Points, serve};
use verdict::Killed;

/// Tells the test binary to be the process that is killed: the directory, and the point.
const VICTIM: &str = "CATENA_TEST_VICTIM";
const THIS_TEST: &str = "crash::a_process_killed_at_any_point_loses_nothing_and_does_nothing_twice";
/// Processes at once.
const AT_ONCE: usize = 3;

/// FC-164: what a tool did is durable before anything follows from it, wherever the process is killed: before and after every append,
/// while tools work, while the model is asked, between runs. Every point is tried, and after most of them a second one.
#[test]
fn a_process_killed_at_any_point_loses_nothing_and_does_nothing_twice() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the parent tells its child by the environment what to be"
    )]
    if let Ok(victim) = std::env::var(VICTIM) {
        let (point, dir) = victim.split_once(' ').unwrap();
        return run(&Place::new(dir.as_ref()), Arc::new(Points::new(point.parse().unwrap())));
    }
    let points = undisturbed();
    assert!(points > 90, "{points} points are fewer than this script has");
    let next = AtomicUsize::new(1);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(point) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|point| *point <= points) {
                    killed_at(point);
                }
            });
        }
    });
}

/// How many points there are when nothing happens.
fn undisturbed() -> usize {
    let dir = tempfile::tempdir().unwrap();
    let (place, points) = (Place::new(dir.path()), Arc::new(Points::new(0)));
    run(&place, points.clone());
    verdict::check(&place, &[], "undisturbed");
    points.passed()
}

fn run(place: &Place, points: Arc<Points>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(serve(place, points));
}

fn killed_at(point: usize) {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::new(dir.path());
    let first = kill(&place, point).unwrap_or_else(|| panic!("point {point} was not reached"));
    // Recovery itself is killed too, a little later each time; near the end there may be nothing left to kill.
    let second = kill(&place, 1 + point % 7);
    let killed: Vec<Killed> = std::iter::once(first).chain(second).collect();
    run(&place, Arc::new(Points::new(0)));
    let told: Vec<_> = killed.iter().map(|killed| killed.at.as_str()).collect();
    verdict::check(
        &place,
        &killed,
        &format!("point {point}: killed {}", told.join(", then ")),
    );
}

/// Starts a process, waits until it is at the point, and kills it. `None` if it came to its end before.
fn kill(place: &Place, point: usize) -> Option<Killed> {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([THIS_TEST, "--exact", "--nocapture"])
        .env(VICTIM, format!("{point} {}", place.dir().display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let at = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("now ").map(str::to_owned));
    if at.is_some() {
        victim.kill().unwrap();
    }
    let status = victim.wait().unwrap();
    assert!(
        at.is_some() || status.success(),
        "the process at point {point} failed: {status}"
    );
    at.map(|at| Killed::now(place, at))
}
