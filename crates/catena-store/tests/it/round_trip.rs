//! Whatever is written is read again unchanged.

use std::sync::Arc;

use catena_core::checkpoint::Checkpointer;
use catena_core::id::ThreadId;
use catena_core::message::{Message, Part, ToolCall};
use catena_core::model::Usage;
use catena_core::record::Entry;
use catena_core::state::Scope;
use catena_store::{SqliteCheckpointer, SqliteOptions};
use proptest::prelude::*;
use serde_json::{Map, Number, Value};

use crate::support::LONG;

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("not in JSON", |number| Number::from_f64(number).map(Value::Number)),
        any::<String>().prop_map(Value::String),
        "[\\\\\"\u{0}-\u{1f}\u{7f}\u{2028}'$.\\[\\]{}]{0,8}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn objects() -> impl Strategy<Value = Value> {
    prop::collection::vec((any::<String>(), values()), 0..4).prop_map(|pairs| Value::Object(Map::from_iter(pairs)))
}

fn messages() -> impl Strategy<Value = Arc<Message>> {
    let parts = prop_oneof![
        any::<String>().prop_map(Part::text),
        (any::<String>(), any::<String>(), objects())
            .prop_map(|(id, name, input)| Part::ToolCall(ToolCall::new(id, name, input))),
    ];
    prop::collection::vec(parts, 0..4).prop_map(|parts| Arc::new(Message::user_parts(parts)))
}

fn entries() -> impl Strategy<Value = Arc<Entry>> {
    prop_oneof![
        messages().prop_map(|message| Entry::Message { message }),
        prop::collection::vec(messages(), 0..3).prop_map(|input| Entry::Admitted {
            input,
            prompt: Vec::new()
        }),
        (any::<String>(), any::<String>(), values(), any::<String>()).prop_map(|(call, tool, input, by)| {
            Entry::CallInput {
                call: call.into(),
                tool,
                input,
                by,
            }
        }),
        any::<String>().prop_map(|call| Entry::CallStarted { call: call.into() }),
        prop::collection::vec(any::<String>(), 0..4).prop_map(|ids| Entry::Superseded {
            messages: ids.into_iter().map(Into::into).collect()
        }),
        (any::<String>(), any::<bool>(), values()).prop_map(|(key, run, value)| Entry::State {
            key,
            scope: if run { Scope::Run } else { Scope::Thread },
            value,
        }),
        (any::<String>(), any::<u64>()).prop_map(|(by, input)| Entry::InternalCall {
            by,
            model: "provider:model".to_owned(),
            usage: Usage {
                input,
                ..Usage::default()
            },
        }),
    ]
    .prop_map(Arc::new)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn entries_come_back_unchanged(steps in prop::collection::vec(prop::collection::vec(entries(), 0..4), 1..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = SqliteCheckpointer::open(":memory:", SqliteOptions::default()).await.unwrap();
            let lease = store.acquire(&ThreadId::from("t"), LONG).await.unwrap();
            for step in &steps {
                store.append(&lease, step).await.unwrap();
            }
            let all: Vec<_> = steps.iter().flatten().cloned().collect();
            prop_assert_eq!(store.load(&lease.thread, 0).await.unwrap(), all);
            Ok(())
        })?;
    }
}
