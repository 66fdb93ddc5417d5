//! Middlewares side by side write the prompt that they would write one after another.

use catena::prelude::*;
use catena::testing::{say, scripted};
use proptest::prelude::*;

use super::{block_on, config};

/// Adds sections, with some turns for others in between.
#[derive(Clone, Debug)]
struct Writer {
    name: String,
    priority: u16,
    parallel: bool,
    sections: Vec<(Stability, u8, u8)>,
}

#[middleware]
impl Middleware for Writer {
    fn name(&self) -> &str {
        &self.name
    }

    fn priority(&self) -> Priority {
        Priority(self.priority)
    }

    fn parallel_safe(&self) -> bool {
        self.parallel
    }

    async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
        for (stability, text, turns) in &self.sections {
            for _ in 0..*turns {
                tokio::task::yield_now().await;
            }
            intake.prompt.push(
                self.name.as_str(),
                *stability,
                Trusted(format!("{} says {text}", self.name)),
            );
        }
        Ok(Flow::Continue)
    }
}

fn writers() -> impl Strategy<Value = Vec<Writer>> {
    let stability = prop::sample::select(vec![
        Stability::Static,
        Stability::PerThread,
        Stability::PerRun,
        Stability::PerTurn,
    ]);
    let sections = prop::collection::vec((stability, any::<u8>(), 0..4u8), 0..4);
    prop::collection::vec((0..6u16, prop::bool::weighted(0.8), sections), 0..7).prop_map(|writers| {
        let named = writers
            .into_iter()
            .enumerate()
            .map(|(n, (priority, parallel, sections))| Writer {
                name: format!("w{n}"),
                priority: 100 + priority,
                parallel,
                sections,
            });
        named.collect()
    })
}

async fn prompt(writers: impl IntoIterator<Item = Writer>) -> String {
    let model = scripted([say("done")]);
    let builder = Agent::builder(model.clone()).prompt("You are here.");
    let agent = writers
        .into_iter()
        .fold(builder, |builder, writer| builder.with(writer))
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    model.requests()[0].prompt.render()
}

proptest! {
    #![proptest_config(config(100))]

    /// The prompt of a wave is byte for byte that of the same middlewares one after another.
    #[test]
    fn a_wave_writes_the_bytes_that_one_after_another_would(writers in writers()) {
        let serial = writers.iter().cloned().map(|writer| Writer { parallel: false, ..writer });
        prop_assert_eq!(block_on(prompt(writers.clone())), block_on(prompt(serial)));
    }
}
