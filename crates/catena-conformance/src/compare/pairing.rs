//! Pairs patterns with items where the order does not count.
//!
//! Taking the first item that fits would be wrong: a loose pattern could take what only a strict one can use. So this finds a pairing of
//! the largest size, by augmenting paths.

/// Which pattern is paired with which item.
pub(crate) struct Pairs {
    item_of: Vec<Option<usize>>,
    pattern_of: Vec<Option<usize>>,
}

impl Pairs {
    /// Patterns without an item, in order.
    pub(crate) fn unmet(&self) -> impl Iterator<Item = usize> {
        free(&self.item_of)
    }

    /// Items without a pattern, in order.
    pub(crate) fn unused(&self) -> impl Iterator<Item = usize> {
        free(&self.pattern_of)
    }
}

fn free(side: &[Option<usize>]) -> impl Iterator<Item = usize> {
    side.iter()
        .enumerate()
        .filter(|(_, other)| other.is_none())
        .map(|(index, _)| index)
}

/// The largest pairing of `patterns` with `items`. A pattern that has found an item keeps one when later patterns are added, so those that
/// must be met go first.
pub(crate) fn pair(patterns: usize, items: usize, fits: impl Fn(usize, usize) -> bool) -> Pairs {
    let fits: Vec<Vec<usize>> = (0..patterns)
        .map(|pattern| (0..items).filter(|&item| fits(pattern, item)).collect())
        .collect();
    let mut pairs = Pairs {
        item_of: vec![None; patterns],
        pattern_of: vec![None; items],
    };
    for pattern in 0..patterns {
        augment(pattern, &fits, &mut pairs, &mut vec![false; items]);
    }
    pairs
}

fn augment(pattern: usize, fits: &[Vec<usize>], pairs: &mut Pairs, seen: &mut [bool]) -> bool {
    for &item in &fits[pattern] {
        if std::mem::replace(&mut seen[item], true) {
            continue;
        }
        let available = match pairs.pattern_of[item] {
            None => true,
            Some(other) => augment(other, fits, pairs, seen),
        };
        if available {
            pairs.pattern_of[item] = Some(pattern);
            pairs.item_of[pattern] = Some(item);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loose_pattern_leaves_the_item_that_a_strict_one_needs() {
        let fits = |pattern, item| pattern == 0 || item == 0;
        let pairs = pair(2, 2, fits);
        assert_eq!((pairs.unmet().count(), pairs.unused().count()), (0, 0));
    }

    #[test]
    fn what_cannot_be_paired_is_left_on_both_sides() {
        let pairs = pair(2, 3, |pattern, item| pattern == item && pattern == 0);
        assert_eq!(pairs.unmet().collect::<Vec<_>>(), [1]);
        assert_eq!(pairs.unused().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn earlier_patterns_stay_met_when_items_are_short() {
        let pairs = pair(2, 1, |_, _| true);
        assert_eq!(pairs.unmet().collect::<Vec<_>>(), [1]);
    }
}
