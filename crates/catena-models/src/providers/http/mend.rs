//! Numbers for calls that came without one.
//!
//! In OpenAI's chat format each piece of a call says by an index which call it belongs to. Many servers leave it out, and rig then takes a
//! piece behind a call without arguments so far for a new call, which has no name and is lost.

use std::collections::HashMap;

use serde_json::{Value, json};

/// Numbers the calls of one answer.
#[derive(Default)]
pub(super) struct Mender {
    by_id: HashMap<String, u64>,
    last: Option<u64>,
    next: u64,
}

impl Mender {
    /// Puts an index on each piece of a call in this event that has none.
    pub(super) fn mend(&mut self, data: &mut String) {
        if !data.contains("\"tool_calls\"") {
            return;
        }
        let Ok(mut event) = serde_json::from_str::<Value>(data) else {
            return;
        };
        let mut mended = false;
        for choice in event["choices"].as_array_mut().into_iter().flatten() {
            for piece in choice
                .pointer_mut("/delta/tool_calls")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                mended |= self.piece(piece);
            }
        }
        if mended {
            *data = event.to_string();
        }
    }

    /// A new id starts a new call; a piece with a known id continues that call; one with neither id nor name continues the last call.
    fn piece(&mut self, piece: &mut Value) -> bool {
        let id = piece["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        let named = piece["function"]["name"].as_str().is_some_and(|name| !name.is_empty());
        let given = piece["index"].as_u64();
        let index = given
            .or_else(|| self.by_id.get(id.as_ref()?).copied())
            .or(match id.is_none() && !named {
                true => self.last,
                false => None,
            });
        let index = index.unwrap_or(self.next);
        self.next = self.next.max(index.saturating_add(1));
        self.last = Some(index);
        if let Some(id) = id {
            self.by_id.insert(id, index);
        }
        if given.is_none() && piece.is_object() {
            piece["index"] = json!(index);
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn indexes(pieces: &[Value]) -> Vec<u64> {
        let mut mender = Mender::default();
        let number = |piece: &Value| {
            let mut data = json!({"choices": [{"delta": {"tool_calls": [piece]}}]}).to_string();
            mender.mend(&mut data);
            serde_json::from_str::<Value>(&data).unwrap()["choices"][0]["delta"]["tool_calls"][0]["index"]
                .as_u64()
                .unwrap()
        };
        pieces.iter().map(number).collect()
    }

    /// FC-124: without an index, fragments belong to the call that started last.
    #[test]
    fn pieces_without_a_number_belong_to_the_last_call() {
        let pieces = [
            json!({"id": "A", "function": {"name": "f", "arguments": ""}}),
            json!({"function": {"arguments": "{}"}}),
            json!({"id": "B", "function": {"name": "g", "arguments": ""}}),
            json!({"index": null, "function": {"arguments": "{}"}}),
            json!({"id": "A", "function": {"arguments": " "}}),
        ];
        assert_eq!(indexes(&pieces), [0, 0, 1, 1, 0]);
    }

    #[test]
    fn given_numbers_stay_and_new_ones_do_not_meet_them() {
        let pieces = [
            json!({"index": 3, "id": "A", "function": {"name": "f"}}),
            json!({"id": "B", "function": {"name": "f"}}),
            json!({"function": {"name": "f", "arguments": {}}}),
        ];
        assert_eq!(indexes(&pieces), [3, 4, 5]);
    }
}
