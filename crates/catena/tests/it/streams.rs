//! From the model's stream to those who watch: deltas, filters, resets, silence, and readers of every pace.

use std::sync::Arc;
use std::time::Duration;

use catena::agent::Limits;
use catena::event::{EventKind, RunEvent};
use catena::middleware::{before_model_fn, wrap_model_fn};
use catena::model::{DeltaFilter, ModelDelta, ModelError, ModelErrorKind, StreamFilter};
use catena::prelude::*;
use catena::testing::{Reply, call, say, scripted};
use serde_json::json;

use crate::kit::{at, echo, lines, shown_text, text, tool, watch};

/// The deltas among the events, in words.
fn deltas(events: &[RunEvent]) -> Vec<String> {
    let deltas = events.iter().filter_map(|event| match &event.kind {
        EventKind::ModelStarted { turn, attempt, .. } => Some(format!("started {turn}.{attempt}")),
        EventKind::Text { text } => Some(format!("text {text}")),
        EventKind::Reasoning { text } => Some(format!("thought {text}")),
        EventKind::ToolCallDelta { name, arguments, .. } => {
            Some(format!("call {}{arguments}", name.clone().unwrap_or_default()))
        }
        EventKind::ModelReset => Some("reset".to_owned()),
        EventKind::Message { message } => Some(format!("message {:?}", message.role()).to_lowercase()),
        _ => None,
    });
    deltas.collect()
}

/// A wrap that asks up to three times.
fn retry() -> impl Middleware {
    wrap_model_fn("retry", |request, next| {
        Box::pin(async move {
            for _ in 0..2 {
                if let Ok(response) = next.call(request.clone()).await {
                    return Ok(response);
                }
            }
            next.call(request).await
        })
    })
}

fn cut(text: &str) -> Reply {
    say(text).cut()
}

/// CORE-STREAM-01: the deltas of an answer reach the events in order, before its message.
#[tokio::test]
async fn deltas_are_told_in_order_and_then_the_message() {
    let model = scripted([say("ab").and_think("hm").and_call("echo", text("x")), say("done")]);
    let agent = Agent::builder(model).tool(echo()).build().unwrap();
    let (events, _) = watch(&agent, "go").await;
    assert_eq!(
        deltas(&events),
        [
            "message user",
            "started 1.1",
            "text a",
            "text b",
            "thought hm",
            "call echo",
            r#"call {"text":"x"}"#,
            "message assistant",
            "message tool",
            "started 2.1",
            "text do",
            "text ne",
            "message assistant",
        ]
    );
    assert_eq!(
        events.iter().map(|event| event.seq).collect::<Vec<_>>(),
        (0..events.len() as u64).collect::<Vec<_>>()
    );
}

/// Takes a word out of texts and arguments; holds back what may be the beginning of it.
struct Redact(&'static str);

struct Redacting {
    word: &'static str,
    held: String,
}

impl StreamFilter for Redact {
    fn start(&self) -> Box<dyn DeltaFilter> {
        Box::new(Redacting {
            word: self.0,
            held: String::new(),
        })
    }
}

impl DeltaFilter for Redacting {
    fn push(&mut self, delta: ModelDelta, emit: &mut dyn FnMut(ModelDelta)) -> Result<(), ModelError> {
        match delta {
            ModelDelta::Text { text } => {
                self.held = (self.held.clone() + &text).replace(self.word, "***");
                let starts = |n: &usize| self.word.starts_with(&self.held[self.held.len() - n..]);
                let keep = (1..self.word.len().min(self.held.len() + 1))
                    .rev()
                    .find(starts)
                    .unwrap_or(0);
                let ready: String = self.held.drain(..self.held.len() - keep).collect();
                emit(ModelDelta::Text { text: ready });
            }
            ModelDelta::ToolCall {
                index,
                id,
                name,
                arguments,
            } => emit(ModelDelta::ToolCall {
                index,
                id,
                name,
                arguments: arguments.replace(self.word, "***"),
            }),
            other => emit(other),
        }
        Ok(())
    }

    fn finish(&mut self, emit: &mut dyn FnMut(ModelDelta)) -> Result<(), ModelError> {
        let text = std::mem::take(&mut self.held);
        emit(ModelDelta::Text { text });
        Ok(())
    }
}

fn redact(word: &'static str) -> impl Middleware {
    before_model_fn("redact", move |turn| {
        turn.request.filters.push(Arc::new(Redact(word)));
        Ok(Flow::Continue)
    })
}

/// CORE-STREAM-02: what a filter on the request takes out is in no event and not in the record, even when it came in two pieces.
#[tokio::test]
async fn what_a_filter_takes_out_is_nowhere() {
    let model = scripted([
        say("my hunter2 key").and_call("echo", text("hunter2!")),
        say("hunter2").and_say(" bye"),
    ]);
    let agent = Agent::builder(model)
        .tool(echo())
        .with(redact("hunter2"))
        .build()
        .unwrap();
    let (events, result) = watch(&agent, Input::new("go").thread("t")).await;
    let told = serde_json::to_string(&events).unwrap();
    assert!(!told.contains("hunter"), "{told}");
    assert_eq!(
        lines(&result.unwrap().messages)[1..],
        [
            r#"agent: my *** key [echo {"text":"***!"}]"#,
            "echo: ***!",
            "agent: *** bye"
        ]
    );
}

/// CORE-STREAM-03: a filter that fails ends the call; nothing it held back is told.
#[tokio::test]
async fn a_filter_that_fails_ends_the_call() {
    struct Refuses;
    impl StreamFilter for Refuses {
        fn start(&self) -> Box<dyn DeltaFilter> {
            Box::new(Refuses)
        }
    }
    impl DeltaFilter for Refuses {
        fn push(&mut self, _: ModelDelta, _: &mut dyn FnMut(ModelDelta)) -> Result<(), ModelError> {
            Err(ModelError::new(ModelErrorKind::Refused, "not this"))
        }
        fn finish(&mut self, _: &mut dyn FnMut(ModelDelta)) -> Result<(), ModelError> {
            Ok(())
        }
    }
    let add = before_model_fn("refuses", |turn| {
        turn.request.filters.push(Arc::new(Refuses));
        Ok(Flow::Continue)
    });
    let agent = Agent::builder(scripted([say("bad words")])).with(add).build().unwrap();
    let (events, result) = watch(&agent, "go").await;
    assert_eq!(result.unwrap_err().as_model().unwrap().kind, ModelErrorKind::Refused);
    assert_eq!(deltas(&events), ["message user", "started 1.1"]);
}

/// LC-STREAM-05, FC-071, FC-073: text of a failed attempt is followed by a reset before the next attempt's; after visible output a stream
/// is not silently started again: no text is doubled; every attempt has one start, and who resets at it shows one answer.
#[tokio::test]
async fn a_second_attempt_resets_what_was_shown() {
    let agent = Agent::builder(scripted([cut("Hello"), say("Hello world")]))
        .with(retry())
        .build()
        .unwrap();
    let (events, result) = watch(&agent, "go").await;
    assert_eq!(
        deltas(&events)[1..],
        [
            "started 1.1",
            "text He",
            "text llo",
            "reset",
            "started 1.2",
            "text Hello",
            "text  world",
            "message assistant"
        ]
    );
    assert_eq!(shown_text(&events), result.unwrap().text());
}

/// CORE-STREAM-04: what watchers have on their screens at the end is the answer, however the chain came to it.
#[tokio::test]
async fn what_is_shown_at_the_end_is_the_answer() {
    let keeps_first = || {
        wrap_model_fn("keeps_first", |request, next| {
            Box::pin(async move {
                let first = next.call(request.clone()).await?;
                let _second = next.call(request).await;
                Ok(first)
            })
        })
    };
    let gives_up = || {
        wrap_model_fn("gives_up", |request, next| {
            Box::pin(async move { next.call(request).await.or_else(|_| Ok(ModelResponse::text("sorry"))) })
        })
    };
    // Neither text of another attempt nor of a failed one may stay; the message itself is always told.
    for (name, script, wrap) in [
        (
            "a retry",
            vec![cut("one"), cut("two"), say("three")],
            Box::new(retry()) as Box<dyn Middleware>,
        ),
        (
            "the first of two",
            vec![say("first"), say("second")],
            Box::new(keeps_first()),
        ),
        (
            "the first, after a failed second",
            vec![say("first"), cut("second")],
            Box::new(keeps_first()),
        ),
        (
            "an answer in the model's place",
            vec![cut("half")],
            Box::new(gives_up()),
        ),
    ] {
        let agent = Agent::builder(scripted(script))
            .with_shared(wrap.into())
            .build()
            .unwrap();
        let (events, result) = watch(&agent, "go").await;
        let (shown, said) = (shown_text(&events), result.unwrap().text());
        assert!(
            shown.is_empty() || shown == said,
            "{name}: {shown:?} is shown, {said:?} was said"
        );
        assert!(
            crate::kit::told(&events).iter().any(|message| message.text() == said),
            "{name}"
        );
    }
}

/// CORE-STREAM-05: text of a call that failed for good is taken back.
#[tokio::test]
async fn text_of_a_failed_call_is_taken_back() {
    let agent = Agent::builder(scripted([cut("half an answer")])).build().unwrap();
    let (events, result) = watch(&agent, "go").await;
    assert_eq!(result.unwrap_err().as_model().unwrap().kind, ModelErrorKind::Truncated);
    assert_eq!(shown_text(&events), "");
}

/// FC-070: a failure before the first content is a failed call, and a fallback's answer is the only one that is seen.
#[tokio::test]
async fn a_failure_at_the_start_of_a_stream_is_a_failed_call() {
    let overloaded = ModelError::new(ModelErrorKind::Overloaded, "overloaded");
    let model = scripted([Reply::nothing().then_fail(overloaded), say("ok")]);
    let agent = Agent::builder(model).with(retry()).build().unwrap();
    let (events, result) = watch(&agent, "go").await;
    assert_eq!(result.unwrap().text(), "ok");
    assert_eq!(
        deltas(&events)[1..],
        ["started 1.1", "started 1.2", "text o", "text k", "message assistant"]
    );
}

/// FC-076: an answer of nothing is a failure that can be tried again, never an empty final answer.
#[tokio::test]
async fn an_answer_of_nothing_is_a_failure() {
    let agent = Agent::builder(scripted([Reply::nothing()])).build().unwrap();
    let error = agent.run("go").await.unwrap_err();
    let model = error.as_model().unwrap();
    assert_eq!((model.kind, model.is_retryable()), (ModelErrorKind::Empty, true));
    let agent = Agent::builder(scripted([Reply::nothing(), say("here")]))
        .with(retry())
        .build()
        .unwrap();
    assert_eq!(agent.run("go").await.unwrap().text(), "here");
}

/// CORE-STREAM-06: a model that sends nothing for the idle limit has failed, before its first word or in the middle.
#[tokio::test(start_paused = true)]
async fn a_silent_model_is_given_up() {
    let limits = Limits {
        model_idle: Duration::from_secs(60),
        ..Limits::default()
    };
    for reply in [say("half").hang(), say("late").after(Duration::from_secs(61))] {
        let agent = Agent::builder(scripted([reply])).limits(limits).build().unwrap();
        let started = tokio::time::Instant::now();
        let (events, result) = watch(&agent, "go").await;
        let error = result.unwrap_err();
        assert_eq!(error.as_model().unwrap().kind, ModelErrorKind::Timeout);
        assert!(
            error.to_string().contains("`scripted:test` sent nothing for 60s"),
            "{error}"
        );
        assert_eq!(started.elapsed(), limits.model_idle);
        assert_eq!(shown_text(&events), "");
    }
}

/// CORE-STREAM-07: a model that is slow but not silent may take longer than the idle limit.
#[tokio::test(start_paused = true)]
async fn a_slow_model_is_not_a_silent_one() {
    let limits = Limits {
        model_idle: Duration::from_secs(60),
        ..Limits::default()
    };
    let reply = (0..5).fold(say("word "), |reply, _| reply.and_say("word "));
    let model = catena::testing::ScriptedModel::new("slow:model", [reply]).pace(Duration::from_secs(50));
    let agent = Agent::builder(model).limits(limits).build().unwrap();
    assert_eq!(agent.run("go").await.unwrap().text(), "word ".repeat(6));
}

/// An answer of this many words, each in two deltas.
fn long(words: usize) -> Reply {
    (1..words).fold(say("ab"), |reply, _| reply.and_say("ab"))
}

/// CORE-STREAM-08: a reader that does not read holds up its own run, and no other.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_slows_its_own_run_only() {
    let agent = Agent::builder(scripted([long(2_000), say("quick")])).build().unwrap();
    let mut slow = agent.start(Input::new("slow").thread("slow"));
    // Long enough for every other task to have run out of things to do.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        agent.run(Input::new("quick").thread("quick")).await.unwrap().text(),
        "quick"
    );
    let slow_thread = agent.thread(&"slow".into()).await.unwrap();
    assert_eq!(
        lines(slow_thread.messages()),
        ["user: slow"],
        "the answer is still under way"
    );
    let mut words = 0;
    while let Some(event) = slow.next().await {
        words += usize::from(matches!(event.kind, EventKind::Text { .. }));
        assert!(
            !matches!(event.kind, EventKind::Lagged { .. }),
            "a model's deltas wait for the reader"
        );
    }
    assert_eq!(words, 4_000);
    assert_eq!(slow.outcome().await.unwrap().text(), "ab".repeat(2_000));
}

/// CORE-STREAM-09: a reader that goes away holds up nothing.
#[tokio::test(start_paused = true)]
async fn a_reader_that_goes_away_holds_up_nothing() {
    let agent = Agent::builder(scripted([long(2_000)])).build().unwrap();
    let mut handle = agent.start("go");
    handle.next().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(handle.outcome().await.unwrap().text().len(), 4_000);
}

/// CORE-STREAM-10: events of tools cannot wait: past the limit they are dropped, and the reader is told how many stood where.
#[tokio::test(start_paused = true)]
async fn a_reader_that_falls_behind_is_told_what_it_missed() {
    let noisy = tool("noisy", |_, context: ToolContext| async move {
        for n in 0..5_000 {
            context.progress(n.to_string(), None);
        }
    });
    let agent = Agent::builder(scripted([call("noisy", json!({})), say("done")]))
        .tool(noisy)
        .build()
        .unwrap();
    let mut handle = agent.start("go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (mut expected, mut lagged) = (0, 0);
    let mut last = None;
    while let Some(event) = handle.next().await {
        assert_eq!(event.seq, expected, "numbers have no gap that is not explained");
        expected += 1;
        if let EventKind::Lagged { dropped } = event.kind {
            lagged += dropped;
            expected += dropped - 1;
        }
        last = Some(event);
    }
    assert!(lagged > 3_000, "{lagged}");
    assert!(matches!(last.unwrap().kind, EventKind::RunEnded { .. }));
    assert_eq!(handle.outcome().await.unwrap().outcome, Outcome::Done);
}

/// CORE-STREAM-11: the stream of events is over when the run is, even if work it started goes on.
#[tokio::test(start_paused = true)]
async fn events_end_with_the_run() {
    let busy = before_model_fn("busy", |turn| {
        turn.run().spawn(async move |background| {
            tokio::time::sleep(Duration::from_secs(300)).await;
            background.run().emit("late", json!(1));
        })?;
        Ok(Flow::Continue)
    });
    let agent = Agent::builder(scripted([say("done")]))
        .with(at(10, busy))
        .build()
        .unwrap();
    let started = tokio::time::Instant::now();
    let (events, _) = watch(&agent, "go").await;
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert!(matches!(events.last().unwrap().kind, EventKind::RunEnded { .. }));
    assert!(agent.shutdown(Duration::from_secs(7_200)).await);
}
