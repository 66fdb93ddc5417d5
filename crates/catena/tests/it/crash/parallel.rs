//! Many tools that finish at the same moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use catena::checkpoint::{Checkpointer, MemoryCheckpointer, StoreError};
use catena::prelude::*;
use catena::record::{CallStatus, Entry};
use catena::testing::{Reply, say};
use catena::tool::json_tool;
use serde_json::json;
use tokio::sync::{Barrier, Notify};

use crate::support::{Watch, Watched, by_turn, spec, sqlite, valid_thread};

const TOOLS: usize = 8;

/// Stops the world after the last result.
#[derive(Default)]
struct AfterTheLast {
    results: AtomicUsize,
    reached: Arc<Notify>,
}

#[async_trait]
impl Watch for AfterTheLast {
    async fn after(&self, _: usize, entries: &[Arc<Entry>]) -> Result<(), StoreError> {
        let results = entries
            .iter()
            .filter(|entry| matches!(***entry, Entry::CallEnded { .. }))
            .count();
        if self.results.fetch_add(results, Ordering::SeqCst) + results == TOOLS {
            self.reached.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

fn agent(store: impl Checkpointer, executed: &Arc<AtomicUsize>) -> Agent {
    let model = by_turn(|turn| match turn {
        0 => (0..TOOLS).fold(Reply::nothing(), |reply, n| {
            reply.and_call_id(format!("c{n}"), "work", json!({"n": n}))
        }),
        _ => say("all done"),
    });
    let (executed, barrier) = (executed.clone(), Arc::new(Barrier::new(TOOLS)));
    let work = json_tool(spec("work"), move |input, _| {
        let (executed, barrier) = (executed.clone(), barrier.clone());
        async move {
            barrier.wait().await;
            executed.fetch_add(1, Ordering::SeqCst);
            format!("result {}", input["n"])
        }
    });
    Agent::builder(model).tool(work).store(store).build().unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// FC-163: the results of eight tools that finish at the same moment are all there after a crash, 100 times of 100, and none runs again.
#[test]
fn results_of_parallel_tools_are_all_there_after_a_crash() {
    for round in 0..100 {
        let executed = Arc::new(AtomicUsize::new(0));
        let dir = tempfile::tempdir().unwrap();
        // The runtime is what dies here: its tasks stop where they are, and the store's leases die with it.
        let dying = runtime();
        let watch = AfterTheLast::default();
        let reached = watch.reached.clone();
        dying.block_on(async {
            let agent = agent(Watched::new(sqlite(dir.path()).await, watch), &executed);
            agent.start(Input::new("go").thread("t")).detach();
            reached.notified().await;
        });
        dying.shutdown_timeout(Duration::from_secs(60));

        runtime().block_on(async {
            let agent = agent(sqlite(dir.path()).await, &executed);
            let done = agent.run(Resume::thread("t")).await.unwrap();
            assert_eq!(
                (done.outcome.clone(), done.executed("work")),
                (Outcome::Done, 8),
                "round {round}"
            );
            let thread = valid_thread(agent.store(), "t").await;
            for n in 0..TOOLS {
                let result = thread.result(&format!("c{n}").into()).unwrap();
                assert_eq!(result.text(), format!("result {n}"), "round {round}");
            }
            assert!(
                thread
                    .run()
                    .unwrap()
                    .calls()
                    .iter()
                    .all(|call| call.status == CallStatus::Ok)
            );
        });
        assert_eq!(executed.load(Ordering::SeqCst), TOOLS, "round {round}");
    }
}

/// A tool that asks while its siblings work: the question survives a crash that comes before they are done.
#[tokio::test]
async fn a_tools_question_is_durable_before_its_siblings_are_done() {
    let store = Arc::new(MemoryCheckpointer::new());
    let sibling = crate::support::Hold::new();
    let ask = json_tool(spec("ask"), |_, context: ToolContext| async move {
        match context.answer() {
            None => ToolOutcome::Interrupt(catena::interrupt::InterruptRequest::question("which?")),
            Some(_) => ToolOutput::text("answered").into(),
        }
    });
    let model = by_turn(|turn| match turn {
        0 => Reply::nothing()
            .and_call_id("q", "ask", json!({}))
            .and_call_id("s", "slow", json!({})),
        _ => say("done"),
    });
    let agent = Agent::builder(model)
        .tool(ask)
        .tool(sibling.tool("slow"))
        .store(store.clone())
        .build()
        .unwrap();
    let _run = agent.start(Input::new("go").thread("t"));
    sibling.reached().await;
    // The question is recorded while the sibling works; nothing but the loop has to take its turn.
    let asked = async {
        loop {
            let entries = store.load(&"t".into(), 0).await.unwrap();
            if entries.iter().any(|entry| matches!(**entry, Entry::Paused { .. })) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), asked).await.unwrap();
}
