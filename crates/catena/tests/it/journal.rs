//! Properties of the journal and of the loop over it, on random scripts.
//!
//! The same random agent is run with random gates, limits, answers and disturbances; what must hold however it goes is checked at the
//! end. The seed is fixed, so that a failure is the same failure tomorrow.

mod gates;
mod script;
mod waves;

use std::sync::{Arc, Mutex};

use catena::event::{EventKind, RunEvent};
use catena::prelude::*;
use catena::record::{Entry, Thread};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::support::assert_valid_for_every_provider;
use script::{Disturbance, Script, World, disturbances, gate_tables, scripts};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(0x00ca_7e4a),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(work)
}

/// Remembers the record as the process saw it when a run ended or paused.
#[derive(Clone, Default)]
struct Live(Arc<Mutex<Option<Thread>>>);

#[middleware]
impl Middleware for Live {
    fn name(&self) -> &str {
        "live"
    }

    fn observe(&self, run: &RunContext, event: &RunEvent) {
        if let EventKind::RunEnded { .. } = event.kind {
            *self.0.lock().unwrap() = Some(run.record(Thread::clone));
        }
    }
}

proptest! {
    #![proptest_config(config(300))]

    /// However a run goes (gates, limits, failures, panics, questions, cancellations, errors of the store), its thread ends with every call
    /// answered once, right behind its message, and no result without a call; no tool works twice; and the record read back from the
    /// store is the live one.
    #[test]
    fn however_a_run_goes_its_thread_is_valid_and_its_replay_is_the_live_record(
        script in scripts(),
        gates in gate_tables(),
        disturbance in disturbances(),
    ) {
        block_on(valid_and_same(script, gates, disturbance));
    }
}

async fn valid_and_same(script: Script, gates: Vec<script::Table>, disturbance: Disturbance) {
    let live = Live::default();
    let world = World::new(script, gates, disturbance);
    world.play(|builder| builder.with(live.clone())).await;
    assert_eq!(world.repeated(), [""; 0]);
    let stored = world.stored().await;
    let replayed = replayed_from_text(&stored);
    assert_valid_for_every_provider(&replayed.view());
    assert_every_result_has_its_call(&replayed);
    if let Some(live) = live.0.lock().unwrap().take() {
        assert_same(&live, &replayed);
    }
}

/// The record as another process would read it: through its text.
fn replayed_from_text(entries: &[Arc<Entry>]) -> Thread {
    let read = |entry: &Arc<Entry>| {
        let text = serde_json::to_string(entry).unwrap();
        Arc::new(serde_json::from_str::<Entry>(&text).unwrap())
    };
    let entries: Vec<_> = entries.iter().map(read).collect();
    Thread::replay(script::THREAD.into(), &entries)
}

fn assert_every_result_has_its_call(thread: &Thread) {
    for result in thread.messages().iter().filter_map(|m| m.as_tool()) {
        assert!(thread.has_call(&result.call), "{} has no call", result.call);
    }
    for call in thread.messages().iter().flat_map(|m| m.calls()) {
        let results = thread
            .messages()
            .iter()
            .filter_map(|m| m.as_tool())
            .filter(|result| result.call == call.id);
        assert_eq!(results.count(), 1, "results of {}", call.id);
    }
}

fn assert_same(live: &Thread, replayed: &Thread) {
    assert_eq!(live.length(), replayed.length());
    assert_eq!(live.messages(), replayed.messages());
    assert_eq!(live.view(), replayed.view());
    assert_eq!(live.totals(), replayed.totals());
    assert_eq!(live.slots().collect::<Vec<_>>(), replayed.slots().collect::<Vec<_>>());
    let (live_run, run) = (live.run().unwrap(), replayed.run().unwrap());
    assert_eq!(live_run.start(), run.start());
    assert_eq!(live_run.outcome(), run.outcome());
    assert_eq!(live_run.turns(), run.turns());
    assert_eq!(live_run.totals(), run.totals());
    assert_eq!(live_run.calls(), run.calls());
    assert_eq!(live_run.open_calls(), run.open_calls());
    assert_eq!(live_run.pauses().collect::<Vec<_>>(), run.pauses().collect::<Vec<_>>());
    // An entry that supersedes nothing makes the view anew, from the whole record.
    let mut anew = replayed.clone();
    anew.apply(&Entry::Superseded { messages: Vec::new() });
    assert_eq!(anew.view(), replayed.view());
}
