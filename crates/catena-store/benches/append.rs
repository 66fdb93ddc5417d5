//! What a step costs to keep: an append early and late in a thread, and whole turns per second, in both modes.
//!
//! `cargo bench -p catena-store`. An append in `full` mode is as fast as the disk's flush.

#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;
use std::time::Duration;

use catena_core::checkpoint::{Checkpointer, Lease};
use catena_core::record::Entry;
use catena_store::{SqliteCheckpointer, SqliteOptions, Synchronous};
use divan::Bencher;
use divan::counter::ItemsCount;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const TTL: Duration = Duration::from_secs(3600);

fn main() {
    divan::main();
}

struct Bench {
    runtime: Runtime,
    store: SqliteCheckpointer,
    lease: Lease,
    _directory: TempDir,
}

impl Bench {
    /// A thread that already has `length` entries of a kilobyte.
    fn new(synchronous: Synchronous, length: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("catena.db");
        let options = SqliteOptions::default().synchronous(synchronous);
        let (store, lease) = runtime.block_on(async {
            let store = SqliteCheckpointer::open(path.to_str().unwrap(), options).await.unwrap();
            let lease = store.acquire(&"t".into(), TTL).await.unwrap();
            if length > 0 {
                store.append(&lease, &vec![entry(1000); length]).await.unwrap();
            }
            (store, lease)
        });
        Self {
            runtime,
            store,
            lease,
            _directory: directory,
        }
    }

    fn append(&self, entries: &[Arc<Entry>]) -> u64 {
        self.runtime.block_on(self.store.append(&self.lease, entries)).unwrap()
    }
}

fn entry(bytes: usize) -> Arc<Entry> {
    Arc::new(Entry::CallStarted {
        call: "x".repeat(bytes).into(),
    })
}

/// One entry of a kilobyte at the end of a thread. The two lengths should cost the same.
#[divan::bench(args = [10, 10_000], sample_count = 200, sample_size = 5)]
fn append_full(bencher: Bencher<'_, '_>, length: usize) {
    let bench = Bench::new(Synchronous::Full, length);
    let one = [entry(1000)];
    bencher.bench(|| bench.append(&one));
}

/// The same without waiting for the disk.
#[divan::bench(args = [10, 10_000], sample_count = 200, sample_size = 5)]
fn append_normal(bencher: Bencher<'_, '_>, length: usize) {
    let bench = Bench::new(Synchronous::Normal, length);
    let one = [entry(1000)];
    bencher.bench(|| bench.append(&one));
}

/// The three appends of a turn with one tool call: the model's message with the call's start, the result, the state.
#[divan::bench(args = [Synchronous::Full, Synchronous::Normal], sample_count = 200, sample_size = 5)]
fn turn(bencher: Bencher<'_, '_>, synchronous: Synchronous) {
    let bench = Bench::new(synchronous, 100);
    let steps = [vec![entry(1500), entry(20)], vec![entry(3000)], vec![entry(200)]];
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench(|| steps.iter().map(|step| bench.append(step)).last());
}

/// Reading a thread of a thousand entries of a kilobyte, as a resumed run does.
#[divan::bench(sample_count = 50)]
fn load_1000(bencher: Bencher<'_, '_>) {
    let bench = Bench::new(Synchronous::Normal, 1000);
    bencher.bench(|| {
        bench
            .runtime
            .block_on(bench.store.load(&bench.lease.thread, 0))
            .unwrap()
            .len()
    });
}
