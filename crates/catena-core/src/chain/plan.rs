//! Which middleware runs when.

use std::collections::HashMap;
use std::sync::Arc;

use super::report::{ChainReport, ReportRow};
use crate::event::Observer;
use crate::middleware::{Hook, Middleware, Priority};

/// How a chain is ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// By priority, ties by name, the same for every `before_*` and `after_*` hook; wraps nest, lowest priority outermost.
    #[default]
    Priority,
    /// LangChain's rule: `before_*` as listed, `after_*` in reverse, wraps nest with the first one outermost.
    Listed,
}

/// Middlewares in order.
pub struct Chain {
    planned: Vec<Planned>,
    /// For each hook, positions in `planned`, in the order in which the hook runs.
    by_hook: [Vec<usize>; Hook::ALL.len()],
    segments: Vec<Segment>,
    order: Order,
}

/// A middleware in a chain.
pub(super) struct Planned {
    pub(super) middleware: Arc<dyn Middleware>,
    pub(super) name: Arc<str>,
    hooks: Vec<Hook>,
    /// Names that are of no hook: it would never be called there.
    unknown: Vec<&'static str>,
}

/// A stretch of `before_agent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// One middleware.
    One(usize),
    /// Two or more, side by side.
    Wave(Vec<usize>),
}

impl Chain {
    /// Plans a chain.
    ///
    /// # Errors
    /// Every problem: a name that is empty, malformed or used twice, a priority out of range, a hook that does not exist, a parallel-safe
    /// middleware without `before_agent`, an ordering constraint that the plan violates.
    pub fn new(middlewares: Vec<Arc<dyn Middleware>>, order: Order) -> Result<Self, Vec<String>> {
        let mut planned: Vec<Planned> = middlewares.into_iter().map(Planned::new).collect();
        if order == Order::Priority {
            planned.sort_by(|a, b| (a.middleware.priority(), &a.name).cmp(&(b.middleware.priority(), &b.name)));
        }
        let problems: Vec<String> = [each_alone(&planned), twice(&planned), constraints(&planned)].concat();
        if !problems.is_empty() {
            return Err(problems);
        }
        let by_hook = Hook::ALL.map(|hook| {
            let has = |(index, entry): (usize, &Planned)| entry.hooks.contains(&hook).then_some(index);
            let mut indexes: Vec<usize> = planned.iter().enumerate().filter_map(has).collect();
            if order == Order::Listed && matches!(hook, Hook::AfterModel | Hook::AfterToolCall | Hook::AfterAgent) {
                indexes.reverse();
            }
            indexes
        });
        let segments = segments(&by_hook[Hook::BeforeAgent as usize], &planned);
        Ok(Self {
            planned,
            by_hook,
            segments,
            order,
        })
    }

    pub(super) fn hook(&self, hook: Hook) -> impl Iterator<Item = &Planned> {
        self.by_hook[hook as usize]
            .iter()
            .filter_map(|&index| self.planned.get(index))
    }

    pub(super) fn nth(&self, hook: Hook, position: usize) -> Option<&Planned> {
        self.planned.get(*self.by_hook[hook as usize].get(position)?)
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = Vec<&Planned>> {
        self.segments.iter().map(|segment| match segment {
            Segment::One(index) => self.planned.get(*index).into_iter().collect(),
            Segment::Wave(indexes) => indexes.iter().filter_map(|&index| self.planned.get(index)).collect(),
        })
    }

    /// Whether any middleware has the hook.
    pub(crate) fn has(&self, hook: Hook) -> bool {
        !self.by_hook[hook as usize].is_empty()
    }

    /// The middlewares that observe.
    pub(crate) fn observers(&self) -> Arc<[Observer]> {
        let observer = |entry: &Planned| Observer {
            name: entry.name.clone(),
            middleware: entry.middleware.clone(),
        };
        self.hook(Hook::Observe).map(observer).collect()
    }

    /// How the chain is ordered.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Names of the middlewares that have a hook, in the order in which the hook runs.
    pub fn names(&self, hook: Hook) -> Vec<&str> {
        self.hook(hook).map(|entry| &*entry.name).collect()
    }

    /// What the chain is, for people and programs.
    pub fn report(&self) -> ChainReport {
        let wave_of = |index: usize| {
            let mut waves = self.segments.iter().filter_map(|segment| match segment {
                Segment::Wave(members) => Some(members),
                Segment::One(_) => None,
            });
            waves.position(|members| members.contains(&index)).map(|wave| wave + 1)
        };
        let row = |(index, entry): (usize, &Planned)| ReportRow {
            name: entry.name.to_string(),
            priority: Some(entry.middleware.priority()),
            hooks: entry.hooks.clone(),
            on_failure: Some(entry.middleware.on_failure()),
            wave: wave_of(index),
            off: None,
        };
        let hooks = Hook::ALL
            .into_iter()
            .map(|hook| (hook, self.names(hook).into_iter().map(str::to_owned).collect()))
            .collect();
        ChainReport {
            order: self.order,
            rows: self.planned.iter().enumerate().map(row).collect(),
            hooks,
        }
    }
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.planned.iter().map(|entry| &entry.name))
            .finish()
    }
}

impl Planned {
    fn new(middleware: Arc<dyn Middleware>) -> Self {
        let names = middleware.hooks().iter().copied();
        let (known, unknown): (Vec<_>, Vec<_>) = names.partition(|name| Hook::from_name(name).is_some());
        Self {
            name: middleware.name().into(),
            hooks: known.into_iter().filter_map(Hook::from_name).collect(),
            unknown,
            middleware,
        }
    }

    pub(super) fn is_parallel(&self) -> bool {
        self.middleware.parallel_safe()
    }
}

/// Maximal stretches of parallel-safe middlewares; those without the hook do not break one.
fn segments(before_agent: &[usize], planned: &[Planned]) -> Vec<Segment> {
    let stretches = before_agent.chunk_by(|&a, &b| planned[a].is_parallel() && planned[b].is_parallel());
    stretches
        .map(|stretch| match stretch {
            [one] => Segment::One(*one),
            several => Segment::Wave(several.to_vec()),
        })
        .collect()
}

fn each_alone(planned: &[Planned]) -> Vec<String> {
    let mut problems = Vec::new();
    for entry in planned {
        let name = &entry.name;
        let fits = !name.is_empty()
            && name.len() <= 64
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c));
        if !fits {
            problems.push(format!(
                "middleware name `{name}` must be 1 to 64 letters, digits, `_`, `-`, `.` or `:`"
            ));
        }
        let priority = entry.middleware.priority();
        if priority > Priority::MAX {
            problems.push(format!(
                "middleware `{name}` has priority {priority}; it must be 0 to {}",
                Priority::MAX
            ));
        }
        for unknown in &entry.unknown {
            let hooks = Hook::ALL.map(Hook::as_str).join(", ");
            problems.push(format!(
                "middleware `{name}` has no such hook as `{unknown}`; there are {hooks}"
            ));
        }
        if entry.is_parallel() && !entry.hooks.contains(&Hook::BeforeAgent) {
            problems.push(format!(
                "middleware `{name}` is parallel-safe but has no `before_agent`"
            ));
        }
    }
    problems
}

fn twice(planned: &[Planned]) -> Vec<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    planned
        .iter()
        .for_each(|entry| *seen.entry(&entry.name).or_default() += 1);
    let mut twice: Vec<_> = seen.into_iter().filter(|(_, times)| *times > 1).collect();
    twice.sort_unstable();
    twice
        .into_iter()
        .map(|(name, times)| format!("{times} middlewares are named `{name}`; give each a name of its own"))
        .collect()
}

fn constraints(planned: &[Planned]) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, entry) in planned.iter().enumerate() {
        for earlier in entry.middleware.must_run_after() {
            for late in planned[index + 1..]
                .iter()
                .filter(|other| is_kind(&other.name, earlier))
            {
                problems.push(format!(
                    "middleware `{}` ({}) must run after `{}` ({}); change one of the priorities",
                    entry.name,
                    entry.middleware.priority(),
                    late.name,
                    late.middleware.priority(),
                ));
            }
        }
    }
    problems
}

/// `tool_call_limit:search` is a `tool_call_limit`.
fn is_kind(name: &str, kind: &str) -> bool {
    name == kind || name.strip_prefix(kind).is_some_and(|rest| rest.starts_with(':'))
}

#[cfg(test)]
mod tests;
