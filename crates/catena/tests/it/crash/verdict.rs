//! What must be true after everything was done, whenever the process was killed on the way.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use catena::checkpoint::Checkpointer;
use catena::interrupt::Asker;
use catena::message::{Message, Role};
use catena::record::{CallStatus, Entry, OutcomeRecord, Thread};
use serde_json::json;

use super::scenario::{INPUTS, Place, THREAD, TURNS, VISITS};
use crate::support::{assert_valid_for_every_provider, sqlite, texts};

/// The calls of the script whose tools may not run twice; those of the others may.
const ONCE: [&str; 8] = ["a", "c", "d", "e", "f", "i", "k", "k2"];
const REPEATABLE: [&str; 3] = ["b", "g", "h"];

/// What had happened when the process was killed.
pub(super) struct Killed {
    pub(super) at: String,
    deeds: usize,
    acknowledged: usize,
}

impl Killed {
    pub(super) fn now(place: &Place, at: String) -> Self {
        let (deeds, acknowledged) = (place.deeds().len(), place.acknowledged().len());
        Self {
            at,
            deeds,
            acknowledged,
        }
    }
}

pub(super) fn check(place: &Place, killed: &[Killed], what: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let stored = runtime.block_on(async { sqlite(place.dir()).await.load(&THREAD.into(), 0).await.unwrap() });
    let thread = Thread::replay(THREAD.into(), &stored);
    let case = Case {
        deeds: place.deeds(),
        acknowledged: place.acknowledged(),
        stored,
        thread,
        what,
    };
    case.nothing_acknowledged_is_lost(killed);
    case.the_conversation_is_whole();
    case.nothing_is_done_twice();
    case.results_tell_what_happened(killed);
    for killed in killed {
        case.what_was_finished_is_not_done_again(killed);
    }
}

struct Case<'a> {
    deeds: Vec<String>,
    acknowledged: Vec<Entry>,
    stored: Vec<Arc<Entry>>,
    thread: Thread,
    what: &'a str,
}

impl Case<'_> {
    fn count(&self, deed: &str) -> usize {
        self.deeds.iter().filter(|done| *done == deed).count()
    }

    fn status(&self, call: &str) -> CallStatus {
        let ended = self.stored.iter().filter_map(|entry| match &**entry {
            Entry::CallEnded { message, status, .. } => message.as_tool().map(|result| (result.call.clone(), *status)),
            _ => None,
        });
        let statuses: Vec<_> = ended
            .filter(|(id, _)| id.as_str() == call)
            .map(|(_, status)| status)
            .collect();
        assert_eq!(statuses.len(), 1, "{}: results of {call}", self.what);
        statuses[0]
    }

    /// An entry that was appended but whose process was killed before it knew is not in the list of what was acknowledged.
    fn nothing_acknowledged_is_lost(&self, killed: &[Killed]) {
        let mut stored = self.stored.iter().map(|entry| serde_json::to_value(entry).unwrap());
        for entry in &self.acknowledged {
            let entry = serde_json::to_value(entry).unwrap();
            assert!(
                stored.any(|kept| kept == entry),
                "{}: lost or out of order: {entry}",
                self.what
            );
        }
        assert_eq!(
            self.acknowledged.len(),
            self.stored.len(),
            "{}: {} kill(s)",
            self.what,
            killed.len()
        );
    }

    fn the_conversation_is_whole(&self) {
        let (view, what) = (self.thread.view(), self.what);
        assert_valid_for_every_provider(&view);
        assert_eq!(view.len(), self.thread.messages().len(), "{what}");
        let said = |role| view.iter().filter(move |m: &&Arc<Message>| m.role() == role);
        assert_eq!(texts(said(Role::User)), INPUTS, "{what}");
        assert_eq!(said(Role::Assistant).count(), TURNS, "{what}");
        let run = self.thread.run().unwrap();
        assert!(
            matches!(run.outcome(), Some(OutcomeRecord::Done { .. })),
            "{what}: {:?}",
            run.outcome()
        );
        let visits = self
            .thread
            .slots()
            .find(|(key, ..)| key == VISITS.key())
            .map(|(.., value)| value);
        assert_eq!(
            visits.as_deref(),
            Some(&json!(TURNS)),
            "{what}: a slot is durable with its step"
        );
        assert_eq!(self.thread.totals().turns as usize, TURNS, "{what}");
    }

    fn nothing_is_done_twice(&self) {
        for x in ONCE {
            assert!(
                self.count(&format!("work {x}")) <= 1,
                "{}: {x} was done twice",
                self.what
            );
        }
        assert!(
            self.count("asked f") <= 1,
            "{}: f was started twice without an answer",
            self.what
        );
        assert_eq!(self.count("work j"), 0, "{}: j was rejected", self.what);
        assert_eq!(self.count("work k"), 0, "{}: k was edited", self.what);
        let mut asked: HashMap<&str, usize> = HashMap::new();
        for pause in self.stored.iter().flat_map(|entry| match &**entry {
            Entry::Paused { pauses } => pauses.as_slice(),
            _ => &[],
        }) {
            *asked.entry(pause.call.as_str()).or_default() += 1;
            let by_tool = ["f", "g"].contains(&pause.call.as_str());
            assert_eq!(pause.asked_by == Asker::Tool, by_tool, "{}", self.what);
        }
        assert!(
            asked.values().all(|times| *times == 1),
            "{}: a person was asked twice: {asked:?}",
            self.what
        );
        assert!(
            ["d", "g", "i", "j", "k"].iter().all(|call| asked.contains_key(call)),
            "{}: {asked:?}",
            self.what
        );
    }

    fn results_tell_what_happened(&self, killed: &[Killed]) {
        for (call, work) in ONCE
            .iter()
            .filter(|x| **x != "k2")
            .map(|x| (*x, if *x == "k" { "k2" } else { *x }))
        {
            match self.status(call) {
                CallStatus::Ok => assert_eq!(self.count(&format!("work {work}")), 1, "{}: {call}", self.what),
                CallStatus::Unknown => assert!(
                    killed.iter().any(|killed| self.was_under_way(killed, call)),
                    "{}: {call} is unknown and was never under way",
                    self.what
                ),
                other => panic!("{}: {call} ended as {other:?}", self.what),
            }
        }
        for call in REPEATABLE {
            assert_eq!(self.status(call), CallStatus::Ok, "{}: {call}", self.what);
        }
        assert_eq!(self.status("j"), CallStatus::Rejected, "{}", self.what);
        assert_eq!(self.thread.result(&"g".into()).unwrap().text(), "blue", "{}", self.what);
    }

    fn was_under_way(&self, killed: &Killed, call: &str) -> bool {
        let known = &self.acknowledged[..killed.acknowledged];
        let started = known
            .iter()
            .any(|e| matches!(e, Entry::CallStarted { call: id } if id.as_str() == call));
        started && !ended(known).contains(call)
    }

    fn what_was_finished_is_not_done_again(&self, killed: &Killed) {
        let known = &self.acknowledged[..killed.acknowledged];
        let later: HashSet<&str> = self.deeds[killed.deeds..].iter().map(String::as_str).collect();
        let never = |deed: String| assert!(!later.contains(deed.as_str()), "{}: {deed} again", self.what);
        for call in ended(known) {
            never(format!("work {call}"));
            never(format!("asked {call}"));
        }
        let mut turn = 0;
        let mut run = "";
        for entry in known {
            match entry {
                Entry::Admitted { input, .. } => {
                    run = INPUTS.into_iter().find(|text| *text == input[0].text()).unwrap();
                    never(format!("begin {run}"));
                }
                Entry::Model(_) => {
                    never(format!("model {turn}"));
                    turn += 1;
                }
                // The answer is used, however often the tool is started again.
                Entry::Answered { answer } => {
                    if let Some(call) = self.tool_that_asked(&answer.pause) {
                        never(format!("asked {call}"));
                    }
                }
                Entry::RunEnded { .. } => never(format!("end {run}")),
                _ => {}
            }
        }
    }

    fn tool_that_asked(&self, id: &catena::id::PauseId) -> Option<String> {
        let pauses = self.stored.iter().filter_map(|entry| match &**entry {
            Entry::Paused { pauses } => pauses.iter().find(|pause| pause.id == *id),
            _ => None,
        });
        pauses
            .into_iter()
            .find(|pause| pause.asked_by == Asker::Tool)
            .map(|pause| pause.call.to_string())
    }
}

fn ended(entries: &[Entry]) -> HashSet<&str> {
    let ended = entries.iter().filter_map(|entry| match entry {
        Entry::CallEnded { message, .. } => message.as_tool().map(|result| result.call.as_str()),
        _ => None,
    });
    ended.collect()
}
