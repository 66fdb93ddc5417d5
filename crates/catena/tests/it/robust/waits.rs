//! Every wait ends: for models, for readers, for answers that do not end. Limits that could not work are refused.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use catena::agent::Limits;
use catena::event::EventKind;
use catena::middleware::before_model_fn;
use catena::model::{
    DeltaFilter, Model, ModelDelta, ModelError, ModelErrorKind, ModelProfile, ModelRequest, ModelStream, StopReason,
    StreamFilter,
};
use catena::prelude::*;
use catena::testing::{say, scripted};
use futures::StreamExt;

/// A model that streams these deltas with a wait before each.
struct Streams<F> {
    deltas: F,
    wait: Duration,
    profile: ModelProfile,
}

fn streams<I: Iterator<Item = ModelDelta> + Send + 'static>(
    wait: Duration,
    deltas: impl Fn() -> I + Send + Sync + 'static,
) -> impl Model {
    let profile = ModelProfile::default();
    Streams { deltas, wait, profile }
}

#[async_trait]
impl<I: Iterator<Item = ModelDelta> + Send + 'static, F: Fn() -> I + Send + Sync + 'static> Model for Streams<F> {
    fn name(&self) -> &str {
        "test:streams"
    }

    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    async fn stream(&self, _: &ModelRequest) -> Result<ModelStream, ModelError> {
        let wait = self.wait;
        let paced = futures::stream::iter((self.deltas)()).then(move |delta| async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            Ok(delta)
        });
        Ok(paced.boxed())
    }
}

fn words(count: usize) -> impl Iterator<Item = ModelDelta> + Send {
    let word = |_| ModelDelta::Text { text: "x".into() };
    let end = ModelDelta::End { stop: StopReason::End };
    (0..count).map(word).chain(std::iter::once(end))
}

/// Holds everything back until the end.
#[derive(Default)]
struct HoldsBack(String);

impl StreamFilter for HoldsBack {
    fn start(&self) -> Box<dyn DeltaFilter> {
        Box::new(Self::default())
    }
}

impl DeltaFilter for HoldsBack {
    fn push(&mut self, delta: ModelDelta, emit: &mut dyn FnMut(ModelDelta)) -> Result<(), ModelError> {
        match delta {
            ModelDelta::Text { text } => self.0.push_str(&text),
            other => emit(other),
        }
        Ok(())
    }

    fn finish(&mut self, emit: &mut dyn FnMut(ModelDelta)) -> Result<(), ModelError> {
        let text = std::mem::take(&mut self.0);
        emit(ModelDelta::Text { text });
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_goes_on_is_not_silent_because_a_filter_holds_its_words_back() {
    let add = before_model_fn("holds", |turn| {
        turn.request.filters.push(Arc::new(HoldsBack::default()));
        Ok(Flow::Continue)
    });
    let limits = Limits::default();
    let agent = Agent::builder(streams(limits.model_idle / 2, || words(6)))
        .with(add)
        .limits(limits)
        .build()
        .unwrap();
    assert_eq!(agent.run("go").await.unwrap().text(), "xxxxxx");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stops_reading_does_not_keep_the_run_for_ever() {
    const WORDS: usize = 3_000;
    let agent = Agent::builder(streams(Duration::ZERO, || words(WORDS)))
        .build()
        .unwrap();
    let mut handle = agent.start(Input::new("go").thread("t"));
    // The run waits for its reader for ten minutes, and then no more.
    tokio::time::sleep(Duration::from_secs(599)).await;
    assert!(
        agent
            .thread(&"t".into())
            .await
            .unwrap()
            .run()
            .unwrap()
            .outcome()
            .is_none()
    );
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(
        agent
            .thread(&"t".into())
            .await
            .unwrap()
            .run()
            .unwrap()
            .outcome()
            .is_some()
    );
    let (mut seen, mut missed, mut last) = (0, 0, None);
    while let Some(event) = handle.next().await {
        match &event.kind {
            EventKind::Text { .. } => seen += 1,
            EventKind::Lagged { dropped } => missed += dropped,
            _ => {}
        }
        last = Some(event.kind);
    }
    assert!(seen >= 200 && missed > 1_000, "{seen} seen, {missed} missed");
    assert!(matches!(last, Some(EventKind::RunEnded { .. })), "{last:?}");
    assert_eq!(handle.outcome().await.unwrap().text().len(), WORDS);
}

#[tokio::test]
async fn an_answer_without_end_is_malformed_once_it_is_too_large() {
    let page = "x".repeat(1 << 20);
    let agent = Agent::builder(streams(Duration::ZERO, move || {
        std::iter::repeat(ModelDelta::Text { text: page.clone() })
    }))
    .build()
    .unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert_eq!(error.as_model().unwrap().kind, ModelErrorKind::Malformed, "{error}");
}

#[tokio::test]
async fn limits_that_cannot_work_are_told_together() {
    let limits = Limits {
        max_turns: 0,
        parallel_tools: 0,
        invalid_calls: 0,
        model_idle: Duration::ZERO,
        lease: Duration::ZERO,
        ..Limits::default()
    };
    let error = Agent::builder(scripted([say("no")]))
        .limits(limits)
        .build()
        .unwrap_err();
    let Error::Build { problems } = error else {
        panic!("{error}")
    };
    assert_eq!(problems.len(), 5, "{problems:#?}");
    for name in ["max_turns", "parallel_tools", "invalid_calls", "model_idle", "lease"] {
        assert!(
            problems.iter().any(|problem| problem.contains(&format!("`{name}`"))),
            "{name}: {problems:#?}"
        );
    }
}
