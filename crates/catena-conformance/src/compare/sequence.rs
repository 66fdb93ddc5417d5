//! A list of message patterns against a list of messages.
//!
//! Patterns may be optional, and where the order of results does not count a run of adjacent tool messages is paired as a whole. So this is
//! a small search with memory; it reports the mismatch that got furthest, which is the one a reader means by "first".

use std::collections::BTreeSet;

use super::pairing::pair;
use super::{Check, ResultsOrder};
use crate::mismatch::Mismatch;
use crate::observed::{Message, Role};
use crate::pattern::{MessagePattern, describe_message};

/// Checks that the messages are those of the patterns, complete and in order.
///
/// # Errors
/// The difference after the longest part that fits.
pub fn check_messages(patterns: &[MessagePattern], messages: &[Message], order: ResultsOrder) -> Check {
    let mut search = Search {
        patterns,
        messages,
        order,
        failed: BTreeSet::new(),
        furthest: None,
    };
    if search.fits(0, 0) {
        return Ok(());
    }
    // A search that fails has noted why at least once.
    search.furthest.map_or(Ok(()), |(_, mismatch)| Err(mismatch))
}

/// How far a failed attempt got: messages used, whether the role was right, patterns used.
type Reach = (usize, bool, usize);

struct Search<'a> {
    patterns: &'a [MessagePattern],
    messages: &'a [Message],
    order: ResultsOrder,
    failed: BTreeSet<(usize, usize)>,
    furthest: Option<(Reach, Mismatch)>,
}

impl Search<'_> {
    fn fits(&mut self, p: usize, m: usize) -> bool {
        if self.failed.contains(&(p, m)) {
            return false;
        }
        let fits = self.step(p, m);
        if !fits {
            self.failed.insert((p, m));
        }
        fits
    }

    fn step(&mut self, p: usize, m: usize) -> bool {
        let (patterns, messages) = (self.patterns, self.messages);
        let Some(pattern) = patterns.get(p) else {
            let Some(extra) = messages.get(m) else {
                return true;
            };
            self.note(
                p,
                m,
                false,
                Mismatch::new("no further message", describe_message(extra)),
            );
            return false;
        };
        if self.order == ResultsOrder::Any && pattern.role == Role::Tool {
            return self.results(p, m);
        }
        match messages.get(m).map(|message| (message, pattern.check(message))) {
            Some((_, Ok(()))) if self.fits(p + 1, m + 1) => return true,
            Some((message, Err(mismatch))) => self.note(p, m, message.role == pattern.role, mismatch),
            None if !pattern.optional => self.note(
                p,
                m,
                false,
                Mismatch::new(format!("a {} message", pattern.role), "no further message"),
            ),
            Some((_, Ok(()))) | None => {}
        }
        pattern.optional && self.fits(p + 1, m)
    }

    /// A run of tool patterns against a run of tool messages, in any order.
    fn results(&mut self, p: usize, m: usize) -> bool {
        let patterns = &self.patterns[p..];
        let patterns = &patterns[..patterns.iter().take_while(|pattern| pattern.role == Role::Tool).count()];
        let messages = &self.messages[m..];
        let messages = &messages[..messages.iter().take_while(|message| message.role == Role::Tool).count()];
        // Those that must be met go first: the pairing keeps them.
        let (required, optional): (Vec<_>, Vec<_>) = (0..patterns.len()).partition(|&index| !patterns[index].optional);
        let ranked = [required.as_slice(), optional.as_slice()].concat();
        let pairs = pair(ranked.len(), messages.len(), |p, m| {
            patterns[ranked[p]].check(&messages[m]).is_ok()
        });
        let unmet = pairs
            .unmet()
            .find(|&rank| rank < required.len())
            .map(|rank| ranked[rank]);
        let mismatch = match (unmet, pairs.unused().next()) {
            (None, None) => return self.fits(p + patterns.len(), m + messages.len()),
            (Some(index), Some(unused)) => match patterns[index].check(&messages[unused]) {
                Err(mismatch) => (index, mismatch),
                Ok(()) => (index, Mismatch::new("another tool message", "none")),
            },
            (Some(index), None) => (index, Mismatch::new("a tool message", "no further tool message")),
            (None, Some(unused)) => (
                patterns.len(),
                Mismatch::new("no further tool message", describe_message(&messages[unused])),
            ),
        };
        self.note(p + mismatch.0, m, true, mismatch.1);
        false
    }

    fn note(&mut self, p: usize, m: usize, role: bool, mismatch: Mismatch) {
        let reach = (m, role, p);
        if self.furthest.as_ref().is_none_or(|(furthest, _)| *furthest < reach) {
            self.furthest = Some((reach, mismatch.at_index(p)));
        }
    }
}
