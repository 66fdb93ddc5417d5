//! Calls and results on one line each.

use catena_core::message::{Message, Part};
use catena_core::record::CallStatus;
use serde_json::Value;

use super::clean::{clean, one_line};

/// A call's input, `city: "Paris", days: 3`, cut to `width` columns.
pub(crate) fn input(input: &Value, width: usize) -> String {
    let text = match input {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| format!("{key}: {value}"))
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    };
    one_line(&text, width)
}

/// A result: its first line, how much more there is, cut to `width` columns.
pub(crate) fn result(message: &Message, width: usize) -> String {
    let text = message.text();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let more = lines.count();
    let rest = match more {
        0 => String::new(),
        1 => " (+1 line)".to_owned(),
        more => format!(" (+{more} lines)"),
    };
    let other: Vec<String> = message.parts().iter().filter_map(not_text).collect();
    let shown = one_line(first, width.saturating_sub(rest.len()));
    let shown = if shown.is_empty() && other.is_empty() {
        "(nothing)".to_owned()
    } else {
        shown
    };
    [vec![format!("{shown}{rest}")], other]
        .concat()
        .join(" ")
        .trim()
        .to_owned()
}

/// A part that is not text, in brackets; none for text and for what is shown elsewhere.
pub(crate) fn not_text(part: &Part) -> Option<String> {
    match part {
        Part::Image(image) => Some(format!("[image, {}]", clean(&image.media_type))),
        Part::File(file) => Some(format!("[file {}, {}]", clean(&file.name), clean(&file.media_type))),
        _ => None,
    }
}

/// How a call ended, in a word or two.
pub(crate) fn status(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Ok => "ok",
        CallStatus::Error => "failed",
        CallStatus::Unknown => "outcome unknown",
        CallStatus::Blocked => "blocked",
        CallStatus::Rejected => "rejected",
        CallStatus::Responded => "answered by a person",
        CallStatus::Invalid => "invalid",
        CallStatus::NotRun => "not run",
        _ => "ended",
    }
}

/// A duration as people read it.
pub(crate) fn duration(duration: std::time::Duration) -> String {
    match duration.as_millis() {
        0 => "<1 ms".to_owned(),
        ms @ 1..1_000 => format!("{ms} ms"),
        ms @ 1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn an_input_is_its_fields() {
        assert_eq!(
            input(&json!({"city": "Paris", "days": 3}), 80),
            r#"city: "Paris", days: 3"#
        );
        assert_eq!(
            input(&json!({"text": "two\nlines \u{1b}[2J"}), 80),
            r#"text: "two\nlines \u001b[2J""#
        );
        assert_eq!(input(&json!({}), 80), "");
    }

    #[test]
    fn a_long_result_says_how_much_more_there_is() {
        assert_eq!(result(&Message::user("\none\ntwo\nthree"), 80), "one (+2 lines)");
        assert_eq!(result(&Message::user(""), 80), "(nothing)");
    }

    #[test]
    fn durations_keep_two_figures() {
        assert_eq!(duration(Duration::from_micros(10)), "<1 ms");
        assert_eq!(duration(Duration::from_millis(42)), "42 ms");
        assert_eq!(duration(Duration::from_millis(1_260)), "1.2 s");
        assert_eq!(duration(Duration::from_secs(75)), "1 min 15 s");
    }
}
