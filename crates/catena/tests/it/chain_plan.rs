//! The plan of a chain: what is accepted, in which order it stands, and where it forms waves.

use catena::chain::{ChainReport, Order};
use catena::middleware::Hook;
use catena::prelude::*;
use catena::testing::scripted;
use proptest::prelude::*;

/// A middleware of a plan.
#[derive(Clone, Debug)]
struct Planned {
    name: String,
    priority: u16,
    parallel: bool,
    after: &'static [&'static str],
}

fn planned(name: &str, priority: u16) -> Planned {
    Planned {
        name: name.into(),
        priority,
        parallel: false,
        after: &[],
    }
}

fn parallel(name: &str, priority: u16) -> Planned {
    Planned {
        parallel: true,
        ..planned(name, priority)
    }
}

#[middleware]
impl Middleware for Planned {
    fn name(&self) -> &str {
        &self.name
    }
    fn priority(&self) -> Priority {
        Priority(self.priority)
    }
    fn parallel_safe(&self) -> bool {
        self.parallel
    }
    fn must_run_after(&self) -> &[&str] {
        self.after
    }
    async fn before_agent(&self, _: &mut Intake) -> Result<Flow> {
        Ok(Flow::Continue)
    }
}

/// Has another hook than `before_agent`.
struct Later(u16);

#[middleware]
impl Middleware for Later {
    fn name(&self) -> &str {
        "later"
    }
    fn priority(&self) -> Priority {
        Priority(self.0)
    }
    async fn before_model(&self, _: &mut Turn) -> Result<Flow> {
        Ok(Flow::Continue)
    }
}

fn build(middlewares: impl IntoIterator<Item = Planned>) -> Result<ChainReport> {
    let builder = Agent::builder(scripted([]));
    let agent = middlewares
        .into_iter()
        .fold(builder, catena::AgentBuilder::with)
        .build()?;
    Ok(agent.chain())
}

fn waves(report: &ChainReport) -> Vec<(&str, Option<usize>)> {
    report.rows.iter().map(|row| (row.name.as_str(), row.wave)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// ZC-CHAIN-02: any order of registration gives the same plan, byte for byte.
    #[test]
    fn the_plan_does_not_depend_on_registration(
        order in Just(vec![
            parallel("evolution", 78), parallel("skill_router", 80), planned("summarization", 100), parallel("memory", 150),
            parallel("title", 180), parallel("skills", 200), planned("patch", 300), planned("b", 500), planned("a", 500),
        ]).prop_shuffle()
    ) {
        let sorted = {
            let mut sorted = order.clone();
            sorted.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
            sorted
        };
        let [shuffled, sorted] = [order, sorted].map(|order| serde_json::to_string(&build(order).unwrap()).unwrap());
        prop_assert_eq!(shuffled, sorted);
    }
}

/// ZC-CHAIN-03: priorities from 0 to 999 are accepted, others are an error that names middleware and value.
#[test]
fn priorities_have_a_range() {
    assert!(build([planned("first", 0), planned("last", 999)]).is_ok());
    let error = build([planned("late", 1_000)]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`late` has priority 1000; it must be 0 to 999"),
        "{error}"
    );
}

/// ZC-CHAIN-04: the default priority is 500, and of two that have it the names decide.
#[test]
fn ties_are_broken_by_name() {
    struct Plain(&'static str);
    #[middleware]
    impl Middleware for Plain {
        fn name(&self) -> &str {
            self.0
        }
        async fn before_model(&self, _: &mut Turn) -> Result<Flow> {
            Ok(Flow::Continue)
        }
    }
    let agent = Agent::builder(scripted([]))
        .with(Plain("b"))
        .with(Plain("a"))
        .build()
        .unwrap();
    let report = agent.chain();
    assert_eq!(report.hooks[&Hook::BeforeModel], ["a", "b"]);
    assert!(report.rows.iter().all(|row| row.priority == Some(Priority(500))));
}

/// ZC-CHAIN-07: every priority belongs to a band.
#[test]
fn bands_have_edges() {
    for (edge, name) in [
        (0, "intake"),
        (69, "intake"),
        (70, "evolution"),
        (79, "evolution"),
        (80, "routing"),
        (99, "routing"),
        (100, "context"),
        (199, "context"),
        (200, "capability"),
        (399, "capability"),
        (400, "safety"),
        (599, "safety"),
        (600, "telemetry"),
        (799, "telemetry"),
        (800, "unassigned"),
    ] {
        assert_eq!(Priority(edge).band(), name, "{edge}");
    }
}

/// ZC-CHAIN-40: a priority that breaks an ordering constraint is an error that names both sides; a kind stands for all its instances.
#[test]
fn ordering_constraints_are_checked() {
    let guard = |priority| Planned {
        after: &["tool_error"],
        ..planned("tool_output_guard", priority)
    };
    assert!(build([guard(360), planned("tool_error", 350)]).is_ok());
    assert!(build([guard(360)]).is_ok(), "what is not there need not stand before");
    let error = build([guard(340), planned("tool_error:shell", 350)])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`tool_output_guard` (340) must run after `tool_error:shell` (350)"),
        "{error}"
    );
}

/// ZC-WAVE-01: ZClaw's plan has a wave before compaction and one behind it.
#[test]
fn compaction_stands_between_two_waves() {
    let report = build([
        parallel("evolution", 78),
        parallel("skill_router", 80),
        planned("summarization", 100),
        parallel("memory", 150),
        parallel("title", 180),
        parallel("skills", 200),
        planned("patch_tool_calls", 300),
    ])
    .unwrap();
    assert_eq!(
        waves(&report),
        [
            ("evolution", Some(1)),
            ("skill_router", Some(1)),
            ("summarization", None),
            ("memory", Some(2)),
            ("title", Some(2)),
            ("skills", Some(2)),
            ("patch_tool_calls", None),
        ]
    );
}

/// ZC-WAVE-02: without the one between them, all five form one wave.
#[test]
fn without_a_barrier_there_is_one_wave() {
    let five = [
        ("evolution", 78),
        ("skill_router", 80),
        ("memory", 150),
        ("title", 180),
        ("skills", 200),
    ];
    let report = build(five.map(|(name, priority)| parallel(name, priority))).unwrap();
    assert!(report.rows.iter().all(|row| row.wave == Some(1)));
}

/// ZC-WAVE-03: without one of its members a wave is the smaller for it.
#[test]
fn a_wave_is_of_those_that_are_there() {
    let report = build([
        planned("summarization", 100),
        parallel("memory", 150),
        parallel("title", 180),
    ])
    .unwrap();
    assert_eq!(
        waves(&report),
        [("summarization", None), ("memory", Some(1)), ("title", Some(1))]
    );
}

/// ZC-WAVE-04: a parallel-safe middleware between two that are not runs by itself.
#[test]
fn one_alone_is_no_wave() {
    let report = build([planned("a", 1), parallel("b", 2), planned("c", 3)]).unwrap();
    assert_eq!(waves(&report), [("a", None), ("b", None), ("c", None)]);
}

/// ZC-WAVE-21: a middleware without before_agent does not split a wave.
#[test]
fn who_does_not_take_part_splits_no_wave() {
    let agent = Agent::builder(scripted([]))
        .with(parallel("a", 1))
        .with(Later(2))
        .with(parallel("b", 3))
        .build()
        .unwrap();
    assert_eq!(waves(&agent.chain()), [("a", Some(1)), ("later", None), ("b", Some(1))]);
}

/// CORE-CHAIN-01: a chain reads as a table of what runs when.
#[test]
fn a_chain_reads_as_a_table() {
    let agent = Agent::builder(scripted([]))
        .with(parallel("a", 150))
        .with(parallel("b", 160))
        .with(Later(500))
        .build()
        .unwrap();
    let mut report = agent.chain();
    report.push_off("pii", "not listed");
    expect_test::expect![[r#"
        priority  middleware  wave  band          hooks
             150  a           1     context       before_agent
             160  b           1     context       before_agent
             500  later             safety        before_model
               -  pii                             off: not listed
    "#]]
    .assert_eq(&report.to_string());
    assert_eq!(report.order, Order::Priority);
}
