//! What a run weighs: 1,000 runs in one process, all waiting for their model.
#![allow(missing_docs, clippy::expect_used, clippy::print_stdout)]

use std::sync::Arc;

use async_trait::async_trait;
use catena::model::{Model, ModelError, ModelProfile, ModelRequest, ModelStream};
use catena::prelude::*;
use futures::StreamExt;
use tokio::sync::Semaphore;

const RUNS: usize = 1_000;

/// Says that it was asked, and then nothing.
struct Silent {
    profile: ModelProfile,
    asked: Arc<Semaphore>,
}

#[async_trait]
impl Model for Silent {
    fn name(&self) -> &str {
        "bench:silent"
    }

    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    async fn stream(&self, _: &ModelRequest) -> Result<ModelStream, ModelError> {
        self.asked.add_permits(1);
        Ok(futures::stream::pending().boxed())
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        // The first round makes the allocator take what it keeps; the second one is measured on top of it.
        let warm = round().await;
        drop(warm);
        let before = resident();
        let runs = round().await;
        let after = resident();
        let each = after.saturating_sub(before) as f64 / RUNS as f64 / 1024.0;
        println!("concurrent: {RUNS} runs waiting for their model: {each:.1} KiB each (resident memory)");
        drop(runs);
    });
}

async fn round() -> Vec<catena::RunHandle> {
    let asked = Arc::new(Semaphore::new(0));
    let agent = Agent::builder(Silent {
        profile: ModelProfile::default(),
        asked: asked.clone(),
    })
    .build()
    .expect("the agent of the bench is complete");
    let runs = (0..RUNS).map(|_| agent.start("go")).collect();
    let all = u32::try_from(RUNS).expect("a small number");
    asked.acquire_many(all).await.expect("the semaphore is open").forget();
    runs
}

/// Resident memory of this process in bytes; 0 where the system does not tell.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    pages * 4096
}
