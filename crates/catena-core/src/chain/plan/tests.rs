use proptest::prelude::*;

use super::*;
use crate::context::Intake;
use crate::error::Result as CatenaResult;
use crate::middleware::{Flow, middleware};

struct Fake {
    name: &'static str,
    priority: u16,
    parallel: bool,
    after: &'static [&'static str],
}

#[middleware]
impl Middleware for Fake {
    fn name(&self) -> &str {
        self.name
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
    async fn before_agent(&self, _: &mut Intake) -> CatenaResult<Flow> {
        Ok(Flow::Continue)
    }
}

/// Parallel-safe by name only: the hook is missing.
struct Hookless;

#[middleware]
impl Middleware for Hookless {
    fn name(&self) -> &str {
        "hookless"
    }
    fn parallel_safe(&self) -> bool {
        true
    }
}

fn fake(name: &'static str, priority: u16, parallel: bool) -> Arc<dyn Middleware> {
    Arc::new(Fake {
        name,
        priority,
        parallel,
        after: &[],
    })
}

#[test]
fn consecutive_parallel_safe_middlewares_form_a_wave() {
    let chain = Chain::new(
        vec![
            fake("evolution", 78, true),
            fake("skill_router", 80, true),
            fake("summarization", 100, false),
            fake("memory", 150, true),
            fake("title", 180, true),
            fake("skills", 200, true),
            fake("alone", 500, true),
        ]
        .into_iter()
        .rev()
        .collect(),
        Order::Priority,
    )
    .unwrap();
    assert_eq!(
        chain.segments,
        [
            Segment::Wave(vec![0, 1]),
            Segment::One(2),
            Segment::Wave(vec![3, 4, 5, 6])
        ],
        "a priority between them would have to break the wave, a gap does not"
    );
    let rows = chain.report().rows;
    assert_eq!(
        rows.iter().map(|row| row.wave).collect::<Vec<_>>(),
        [Some(1), Some(1), None, Some(2), Some(2), Some(2), Some(2)]
    );
}

#[test]
fn ties_are_broken_by_name() {
    let chain = Chain::new(vec![fake("b", 500, false), fake("a", 500, false)], Order::Priority).unwrap();
    assert_eq!(chain.names(Hook::BeforeAgent), ["a", "b"]);
}

#[test]
fn listed_order_ignores_priorities() {
    let chain = Chain::new(vec![fake("b", 900, false), fake("a", 1, false)], Order::Listed).unwrap();
    assert_eq!(chain.names(Hook::BeforeAgent), ["b", "a"]);
}

#[test]
fn a_hook_that_is_not_written_is_not_in_the_plan() {
    let chain = Chain::new(vec![fake("a", 1, false)], Order::Priority).unwrap();
    assert_eq!(chain.names(Hook::BeforeModel), Vec::<&str>::new());
}

#[test]
fn all_problems_are_reported_together() {
    let late = Fake {
        name: "late",
        priority: 10,
        parallel: false,
        after: &["limit"],
    };
    let chain = vec![
        fake("dup", 1, false),
        fake("dup", 2, false),
        fake("no spaces", 3, false),
        fake("far", 1000, false),
        Arc::new(Hookless),
        Arc::new(late),
        fake("limit:search", 20, false),
    ];
    let problems = Chain::new(chain, Order::Priority).unwrap_err();
    for needle in [
        "`dup`",
        "`no spaces`",
        "`far` has priority 1000",
        "`hookless` is parallel-safe",
        "`late` (10) must run after `limit:search` (20)",
    ] {
        assert!(problems.iter().any(|p| p.contains(needle)), "{needle} in {problems:?}");
    }
    assert_eq!(problems.len(), 5);
}

proptest! {
    #[test]
    fn the_plan_does_not_depend_on_the_order_of_registration(
        order in Just([("a", 500), ("b", 500), ("c", 1), ("d", 999), ("e", 80), ("f", 79)]).prop_shuffle()
    ) {
        let chain = Chain::new(order.iter().map(|(name, priority)| fake(name, *priority, true)).collect(), Order::Priority).unwrap();
        prop_assert_eq!(chain.names(Hook::BeforeAgent), ["c", "f", "e", "a", "b", "d"]);
    }
}
