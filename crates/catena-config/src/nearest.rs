//! The nearest of some names.

/// Below this a suggestion is more confusing than none.
const SIMILAR: f64 = 0.75;

/// The name that was probably meant.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let wanted = plain(name);
    let scored = names
        .into_iter()
        .map(|other| (strsim::jaro_winkler(&wanted, &plain(other)), other));
    let close = scored.filter(|(score, _)| *score >= SIMILAR);
    close.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, other)| other)
}

/// What to say about a name that is not there: the nearest one, or else those that are.
pub(crate) fn instead<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// More than these are no help.
    const LISTED: usize = 12;
    let names: Vec<&str> = names.into_iter().collect();
    if let Some(near) = nearest(name, names.iter().copied()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let quoted: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    let more = match names.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| format!("there is {}{more}", quoted.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_listed() {
        assert_eq!(
            instead("modle", ["prompt", "model"]).as_deref(),
            Some("did you mean `model`?")
        );
        assert_eq!(
            instead("Max-Turns", ["max_turns"]).as_deref(),
            Some("did you mean `max_turns`?")
        );
        assert_eq!(instead("zzz", ["a", "b"]).as_deref(), Some("there is `a`, `b`"));
        assert_eq!(instead("zzz", []), None);
    }
}
