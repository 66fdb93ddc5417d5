//! A run of two model calls and one tool call, in memory: with an empty chain, and with ten middlewares that have every hook and change
//! nothing.
#![allow(missing_docs, clippy::expect_used)]

mod kit;

use kit::agent;

fn main() {
    divan::main();
}

#[divan::bench(args = [0, 1, 10])]
fn two_model_calls_and_one_tool_call(bencher: divan::Bencher<'_, '_>, middlewares: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let agent = agent(middlewares);
    bencher.bench_local(|| {
        let result = runtime.block_on(agent.run("go")).expect("the run succeeds");
        assert_eq!(result.executed("look"), 1);
    });
}

/// The same with somebody watching: every hook then has its line in the events.
#[divan::bench(args = [0, 10])]
fn watched(bencher: divan::Bencher<'_, '_>, middlewares: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let agent = agent(middlewares);
    bencher.bench_local(|| {
        runtime.block_on(async {
            let mut run = agent.start("go");
            let mut events = 0;
            while run.next().await.is_some() {
                events += 1;
            }
            assert!(events > 5);
            run.outcome().await.expect("the run succeeds")
        })
    });
}
