//! Parallel-safe middlewares side by side.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use catena::message::Message;
use catena::middleware::{Hook, OnFailure};
use catena::prelude::*;
use catena::principal::Principal;
use catena::state::Slot;
use catena::testing::{say, scripted};
use proptest::prelude::*;
use tokio::sync::Barrier;
use tokio::time::Instant;

use crate::kit::{AGES, Log, of_hook, watch};

const SEEN: Slot<u32> = Slot::thread("member.seen");

/// What a member does beside adding its section.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Nothing,
    State,
    Input,
    Fold,
    Stop,
    Replace,
    Shorten,
    Fail,
    Panic,
    Hang,
}

#[derive(Clone)]
struct Member {
    name: String,
    priority: u16,
    parallel: bool,
    sections: Vec<(Stability, String)>,
    wait: Duration,
    meet: Option<Arc<Barrier>>,
    deed: Deed,
    on_failure: OnFailure,
    log: Log,
}

fn member(name: &str, priority: u16, section: &str) -> Member {
    Member {
        name: name.into(),
        priority,
        parallel: true,
        sections: vec![(Stability::PerRun, section.into())],
        wait: Duration::ZERO,
        meet: None,
        deed: Deed::Nothing,
        on_failure: OnFailure::Close,
        log: Log::default(),
    }
}

#[middleware]
impl Middleware for Member {
    fn name(&self) -> &str {
        &self.name
    }
    fn priority(&self) -> Priority {
        Priority(self.priority)
    }
    fn parallel_safe(&self) -> bool {
        self.parallel
    }
    fn on_failure(&self) -> OnFailure {
        self.on_failure
    }
    async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
        if let Some(meet) = &self.meet {
            meet.wait().await;
        }
        if !self.wait.is_zero() {
            tokio::time::sleep(self.wait).await;
        }
        for (stability, text) in &self.sections {
            intake.prompt.push(self.name.clone(), *stability, Trusted(text.clone()));
        }
        self.log
            .add(format!("{} for {}", self.name, intake.run().principal().user));
        match self.deed {
            Deed::Nothing => {}
            Deed::State => intake.run().update(&SEEN, |seen| *seen += 1)?,
            Deed::Input => intake.input_mut().push(Arc::new(Message::user("and this"))),
            Deed::Fold => {
                let first = intake.run().messages()[0].id().clone();
                intake.fold(first, Message::user("a summary"))?;
            }
            Deed::Stop => return Ok(Flow::Stop(Ending::stopped("x", "x"))),
            Deed::Replace => {
                let mut first = true;
                intake.prompt.retain(|_| !std::mem::take(&mut first));
                intake.prompt.push("base", Stability::PerRun, "BASE!");
            }
            Deed::Shorten => intake.prompt.retain(|_| false),
            Deed::Fail => return Err(Error::other("no memory")),
            Deed::Panic => panic!("out of memory"),
            Deed::Hang => tokio::time::sleep(AGES).await,
        }
        Ok(Flow::Continue)
    }
}

/// The prompt of a run with these members, after a first one that is not parallel-safe.
async fn prompt(members: Vec<Member>) -> String {
    let model = scripted([say("done")]);
    let base = Member {
        parallel: false,
        ..member("base", 1, "base 🦀")
    };
    let builder = Agent::builder(model.clone()).with(base);
    let agent = members
        .into_iter()
        .fold(builder, catena::AgentBuilder::with)
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    model.requests()[0].prompt.render()
}

/// CORE-WAVE-01: members of a wave run at the same time: each waits for all the others.
#[tokio::test(start_paused = true)]
async fn members_of_a_wave_run_at_the_same_time() {
    let meet = Arc::new(Barrier::new(3));
    let members = ["a", "b", "c"].map(|name| Member {
        meet: Some(meet.clone()),
        ..member(name, 500, name)
    });
    assert_eq!(prompt(members.into()).await, "base 🦀\n\na\n\nb\n\nc");
}

/// ZC-WAVE-05, ZC-WAVE-06: a wave takes as long as its slowest member; one after another they take as long as all together; sections are
/// merged by priority, even if the members finish the other way round.
#[tokio::test(start_paused = true)]
async fn a_wave_takes_as_long_as_its_slowest_member_and_keeps_the_plans_order() {
    for (parallel, seconds) in [(true, 3), (false, 6)] {
        let log = Log::default();
        let members = [("a", 3), ("b", 2), ("c", 1)].map(|(name, wait)| Member {
            wait: Duration::from_secs(wait),
            parallel,
            log: log.clone(),
            ..member(name, 500, name)
        });
        let started = Instant::now();
        assert_eq!(prompt(members.into()).await, "base 🦀\n\na\n\nb\n\nc");
        assert_eq!(started.elapsed().as_secs(), seconds);
        let finished = if parallel {
            ["c for ", "b for ", "a for "]
        } else {
            ["a for ", "b for ", "c for "]
        };
        assert_eq!(log.take(), finished);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// ZC-WAVE-07, ZC-WAVE-10: side by side and one after another give the same prompt, byte for byte; text of any script survives the
    /// merge whole.
    #[test]
    fn a_wave_gives_the_prompt_that_serial_runs_give(
        members in prop::collection::vec((0u16..1000, 0u64..3, prop::collection::vec((0usize..4, "\\PC{0,12}|記憶{1,4}|🦀{1,3}"), 0..3)), 1..6)
    ) {
        let stabilities = [Stability::Static, Stability::PerThread, Stability::PerRun, Stability::PerTurn];
        let made = |parallel: bool| -> Vec<Member> {
            members.iter().enumerate().map(|(n, (priority, wait, sections))| Member {
                parallel,
                wait: Duration::from_secs(*wait),
                sections: sections.iter().map(|(s, text)| (stabilities[*s], text.clone())).collect(),
                ..member(&format!("m{n}"), *priority, "")
            }).collect()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (parallel, serial) = runtime.block_on(async { (prompt(made(true)).await, prompt(made(false)).await) });
        prop_assert_eq!(parallel, serial);
    }
}

/// A run on a thread that has a message already, with one member that misbehaves between two that do not.
async fn misbehaving(deed: Deed, on_failure: OnFailure) -> (Vec<catena::event::RunEvent>, Result<String>, Agent) {
    let model = scripted([say("one"), say("two")]);
    let bad = Member {
        deed,
        on_failure,
        ..member("bad", 500, "bad")
    };
    let agent = Agent::builder(model.clone())
        .with(Member {
            parallel: false,
            ..member("base", 1, "base")
        })
        .with(member("good", 400, "good"))
        .with(member("better", 600, "better"))
        .with(OnlySecond(bad))
        .build()
        .unwrap();
    agent.run(Input::new("first").thread("t")).await.unwrap();
    let (events, result) = watch(&agent, Input::new("second").thread("t")).await;
    let prompt = result.map(|_| model.requests()[1].prompt.render());
    (events, prompt, agent)
}

/// A member that only acts on the second question, so that there is something to fold.
struct OnlySecond(Member);

#[middleware]
impl Middleware for OnlySecond {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn priority(&self) -> Priority {
        self.0.priority()
    }
    fn parallel_safe(&self) -> bool {
        true
    }
    fn on_failure(&self) -> OnFailure {
        self.0.on_failure()
    }
    async fn before_agent(&self, intake: &mut Intake) -> Result<Flow> {
        match intake.text() == "first" {
            true => Ok(Flow::Continue),
            false => self.0.before_agent(intake).await,
        }
    }
}

const VIOLATIONS: [(Deed, &str); 6] = [
    (Deed::State, "changed state"),
    (Deed::Input, "edited the input"),
    (Deed::Fold, "folded the conversation"),
    (Deed::Stop, "ended the run"),
    (Deed::Replace, "changed sections of others"),
    (Deed::Shorten, "changed sections of others"),
];

/// ZC-WAVE-08, ZC-WAVE-09, ZC-WAVE-11, ZC-WAVE-12, ZC-WAVE-13: a member that makes the prompt shorter is an error that names it; a member
/// that edits a section of somebody else is an error that names it; a member that edits the input is an error that names it; a member that
/// ends the run is an error that names it, and the wave's sections are dropped; each of these is an error of its own.
#[tokio::test]
async fn a_member_that_does_more_than_adding_sections_is_named() {
    for (deed, said) in VIOLATIONS {
        let (events, result, agent) = misbehaving(deed, OnFailure::Close).await;
        let error = result.unwrap_err();
        assert_eq!(error.kind(), "not_parallel_safe", "{deed:?}");
        assert_eq!(
            error.to_string(),
            format!("middleware `bad` is declared parallel-safe and {said}")
        );
        assert_eq!(of_hook(&events, "bad", Hook::BeforeAgent), [format!("failed {error}")]);
        let thread = agent.thread(&"t".into()).await.unwrap();
        assert_eq!(thread.slots().count(), 0, "{deed:?}: what it changed is taken back");
        assert_eq!(crate::kit::lines(thread.messages()), ["user: first", "agent: one"]);
    }
}

/// CORE-WAVE-02: a violation of a member that fails open costs its own sections only, and is told.
#[tokio::test]
async fn a_violation_that_fails_open_costs_its_own_sections() {
    for (deed, said) in VIOLATIONS {
        let (events, prompt, agent) = misbehaving(deed, OnFailure::Open).await;
        assert_eq!(prompt.unwrap(), "base\n\ngood\n\nbetter", "{deed:?}");
        assert!(of_hook(&events, "bad", Hook::BeforeAgent)[0].ends_with(said));
        let thread = agent.thread(&"t".into()).await.unwrap();
        assert_eq!(thread.slots().count(), 0);
        assert_eq!(
            crate::kit::lines(&thread.view()),
            ["user: first", "agent: one", "user: second", "agent: two"]
        );
    }
}

/// ZC-WAVE-14, ZC-WAVE-15, ZC-WAVE-16: a member that errs loses its own sections; those of the others are there; a member that panics is a
/// member that errs; a member that hangs is given up at its budget.
#[tokio::test(start_paused = true)]
async fn a_failure_in_a_wave_is_that_members_own() {
    for deed in [Deed::Fail, Deed::Panic, Deed::Hang] {
        let started = Instant::now();
        let (events, prompt, _) = misbehaving(deed, OnFailure::Open).await;
        assert_eq!(prompt.unwrap(), "base\n\ngood\n\nbetter", "{deed:?}");
        assert!(started.elapsed() <= Duration::from_secs(10), "{deed:?}");
        assert!(of_hook(&events, "bad", Hook::BeforeAgent)[0].starts_with("failed"));
        assert_eq!(of_hook(&events, "good", Hook::BeforeAgent), ["continue prompt"]);

        let error = misbehaving(deed, OnFailure::Close).await.1.unwrap_err();
        assert!(error.to_string().contains("`bad`"), "{error}");
    }
}

/// ZC-WAVE-17: a run that is cancelled during a wave drops all its members at once.
#[tokio::test(start_paused = true)]
async fn cancelling_during_a_wave_drops_its_members() {
    struct Guarded(&'static str, Arc<AtomicUsize>, Arc<AtomicUsize>);
    struct Inside(Arc<AtomicUsize>);
    impl Drop for Inside {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    #[middleware]
    impl Middleware for Guarded {
        fn name(&self) -> &str {
            self.0
        }
        fn parallel_safe(&self) -> bool {
            true
        }
        async fn before_agent(&self, _: &mut Intake) -> Result<Flow> {
            self.1.fetch_add(1, Ordering::SeqCst);
            let _inside = Inside(self.2.clone());
            std::future::pending().await
        }
    }
    let (entered, left) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let agent = Agent::builder(scripted([]))
        .with(Guarded("a", entered.clone(), left.clone()))
        .with(Guarded("b", entered.clone(), left.clone()))
        .build()
        .unwrap();
    let handle = agent.start("go");
    while entered.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    let started = Instant::now();
    handle.cancel();
    assert_eq!(handle.outcome().await.unwrap().outcome, Outcome::Cancelled);
    assert_eq!(left.load(Ordering::SeqCst), 2);
    assert_eq!(started.elapsed(), Duration::ZERO);
}

/// ZC-WAVE-18: members know for whom the run is.
#[tokio::test]
async fn members_know_the_principal() {
    let log = Log::default();
    let members = ["a", "b"].map(|name| Member {
        log: log.clone(),
        ..member(name, 500, name)
    });
    let [a, b] = members;
    let agent = Agent::builder(scripted([say("done")])).with(a).with(b).build().unwrap();
    agent
        .run(Input::new("go").principal(Principal::user("ann")))
        .await
        .unwrap();
    assert_eq!(log.take(), ["a for ann", "b for ann"]);
}
