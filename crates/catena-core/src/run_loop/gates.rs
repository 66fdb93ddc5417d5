//! Gates before hands: every call of a message is decided before any of them runs.
//!
//! Verdicts combine by severity: `AbortLoop`, `Block`, `Interrupt`, `Allow`. `AbortLoop` and `Block` settle a call at once; `Interrupt`
//! does not, so a person is never asked about a call that a later gate refuses.

use serde_json::Value;

use super::results::ended_without_tool;
use super::runner::Runner;
use crate::context::{BatchCall, Turn, Verdict};
use crate::error::{Error, Result};
use crate::id::PauseId;
use crate::interrupt::{Answer, Asker, Decision, InterruptRequest, Pause};
use crate::message::ToolCall;
use crate::middleware::{Ending, ToolDecision};
use crate::record::{Approval, CallState, CallStatus, Entry, OpenCall};
use crate::tool::ToolOutput;

/// How often a call may be replaced before it is refused: gates that disagree would go on for ever.
const REPLACEMENTS: u32 = 3;
/// How much of broken arguments is shown to the model again.
const ECHO: usize = 1_000;

/// What was decided about all open calls of a message.
#[derive(Default)]
struct Decided {
    entries: Vec<Entry>,
    pauses: Vec<Pause>,
    run: Vec<ToolCall>,
    abort: Option<(String, Ending)>,
}

impl Runner {
    /// Judges the open calls, and runs those that may.
    pub(super) async fn calls(&mut self) -> Result<()> {
        let mut turn = self.take_turn().await?;
        let open = self
            .run
            .record(|thread| thread.run().map(|run| run.open.clone()).unwrap_or_default());
        let decided = self.judge(&mut turn, open).await;
        if let Some((by, ending)) = decided.abort {
            // Nothing of the message runs; what was refused keeps its own answer.
            let mut entries = decided.entries;
            entries.retain(|entry| matches!(entry, Entry::CallEnded { .. }));
            return self.end(&by, ending, entries).await;
        }
        if !decided.pauses.is_empty() {
            let mut entries = decided.entries;
            entries.push(Entry::Paused { pauses: decided.pauses });
            self.commit(entries).await?;
            self.turn = Some(turn);
            return Ok(());
        }
        self.run_tools(turn, decided.run, decided.entries).await
    }

    async fn judge(&self, turn: &mut Turn, open: Vec<OpenCall>) -> Decided {
        let mut decided = Decided::default();
        let offer = self
            .run
            .record(|thread| thread.run().map(|run| run.offer.clone()).unwrap_or_default());
        let mut to_judge = Vec::new();
        for open in open {
            match self.before_gates(turn, &offer, open) {
                Ready::Ended(entry) => decided.entries.push(entry),
                Ready::Waits => {}
                Ready::Judge(call) => to_judge.push(*call),
            }
        }
        turn.batch.calls = to_judge
            .iter()
            .map(|judged| BatchCall {
                call: judged.call.clone(),
                answer: judged.answer.clone(),
                verdict: None,
            })
            .collect();
        for (index, judged) in to_judge.into_iter().enumerate() {
            let (call, verdict, by) = self.judge_call(turn, &judged).await;
            if let Some(slot) = turn.batch.calls.get_mut(index) {
                slot.call = call.clone();
                slot.verdict = Some(verdict.clone());
            }
            let runs = matches!(verdict, Verdict::Allow | Verdict::Interrupt { .. });
            if runs && (call.input != judged.recorded.input || call.name != judged.recorded.name) {
                let (tool, input) = (call.name.clone(), call.input.clone());
                decided.entries.push(Entry::CallInput {
                    call: call.id.clone(),
                    tool,
                    input,
                    by,
                });
            }
            match verdict {
                Verdict::Allow => decided.run.push(call),
                Verdict::Block { by, output } => {
                    decided
                        .entries
                        .push(ended_without_tool(&call, output, CallStatus::Blocked, &by))
                }
                Verdict::Interrupt { by, request } => decided.pauses.push(pause(call, Asker::Gates(by), request)),
                Verdict::AbortLoop { by, ending } => {
                    decided.abort = Some((by, ending));
                    break;
                }
            }
        }
        decided
    }

    /// What needs no gate: calls that cannot run, and calls that a person has answered.
    fn before_gates(&self, turn: &Turn, offer: &[String], open: OpenCall) -> Ready {
        let recorded = open.call.clone();
        let mut call = open.call;
        let answer = match open.state {
            CallState::Answered(pause, decision) => match (&pause.asked_by, decision) {
                (Asker::Gates(by), Decision::Reject { message }) => {
                    let by = by.first().map_or("human", String::as_str);
                    return Ready::Ended(ended_without_tool(
                        &call,
                        rejected(&call.name, message),
                        CallStatus::Rejected,
                        by,
                    ));
                }
                (Asker::Gates(by), Decision::Respond { value }) => {
                    let by = by.first().map_or("human", String::as_str);
                    return Ready::Ended(ended_without_tool(
                        &call,
                        ToolOutput::text(plain(&value)),
                        CallStatus::Responded,
                        by,
                    ));
                }
                (Asker::Gates(_), Decision::Edit { name, input }) => {
                    call.name = name.clone().unwrap_or(call.name);
                    call.input = input.clone();
                    call.invalid = None;
                    Some(Decision::Edit { name, input })
                }
                (_, decision) => Some(decision),
            },
            CallState::Paused(_) | CallState::Started => return Ready::Waits,
            CallState::Undecided => None,
        };
        match unfit(turn, offer, &call) {
            Some(problem) => Ready::Ended(ended_without_tool(
                &call,
                ToolOutput::error(problem),
                CallStatus::Invalid,
                "catena",
            )),
            None => Ready::Judge(Box::new(Judged {
                recorded,
                call,
                answer,
                approved: open.approved,
            })),
        }
    }

    /// All gates, again after each replacement. Yields the call as it would run, the verdict, and who changed the call last.
    async fn judge_call(&self, turn: &mut Turn, judged: &Judged) -> (ToolCall, Verdict, String) {
        let mut call = judged.call.clone();
        let mut changed_by = "human".to_owned();
        let mut replacements = 0;
        let mut position = 0;
        let mut asked: Vec<(String, InterruptRequest)> = Vec::new();
        while let Some((name, decision)) = self.agent.chain.gate(turn, &call, position).await {
            position += 1;
            match decision {
                ToolDecision::Allow => {}
                ToolDecision::Block(output) => {
                    let by = name.to_string();
                    return (call, Verdict::Block { by, output }, changed_by);
                }
                ToolDecision::AbortLoop(ending) => {
                    let by = name.to_string();
                    return (call, Verdict::AbortLoop { by, ending }, changed_by);
                }
                ToolDecision::Interrupt(request) => {
                    if let Err(problem) = request.check() {
                        let (by, output) = (
                            name.to_string(),
                            ToolOutput::error(format!("the call was not made: {problem}")),
                        );
                        return (call, Verdict::Block { by, output }, changed_by);
                    }
                    if !judged.approved.iter().any(|approval| approval.covers(&name, &call)) {
                        asked.push((name.to_string(), request));
                    }
                }
                // What it wants is what there is.
                ToolDecision::Replace(new) if new.input == call.input && new.name == call.name => {}
                ToolDecision::Replace(new) => {
                    if let Some(refusal) = replaced(turn, &call, &new, replacements, &changed_by, &name) {
                        let (by, output) = (name.to_string(), ToolOutput::error(refusal));
                        return (call, Verdict::Block { by, output }, changed_by);
                    }
                    replacements += 1;
                    call.input = new.input;
                    changed_by = name.to_string();
                    asked.clear();
                    position = 0;
                }
            }
        }
        match merged(asked) {
            Some((by, request)) => (call, Verdict::Interrupt { by, request }, changed_by),
            None => (call, Verdict::Allow, changed_by),
        }
    }

    /// A person's edit must be a call that can be made; otherwise it is refused and the pause stays.
    pub(super) async fn check_edits(&mut self, answers: &[Answer]) -> Result<()> {
        let open = self
            .run
            .record(|thread| thread.run().map(|run| run.open.clone()).unwrap_or_default());
        let edited = |answer: &Answer| {
            let Decision::Edit { name, input } = &answer.decision else {
                return None;
            };
            // What an edit means to a tool's own question is the tool's matter.
            let asked = |open: &&OpenCall| matches!(&open.state, CallState::Paused(pause) if pause.id == answer.pause && pause.asked_by != Asker::Tool);
            let mut call = open.iter().find(asked)?.call.clone();
            call.name = name.clone().unwrap_or(call.name);
            call.input = input.clone();
            Some((answer.pause.clone(), call))
        };
        let edits: Vec<_> = answers.iter().filter_map(edited).collect();
        if edits.is_empty() {
            return Ok(());
        }
        let turn = self.take_turn().await?;
        let offer = self
            .run
            .record(|thread| thread.run().map(|run| run.offer.clone()).unwrap_or_default());
        for (pause, call) in edits {
            if let Some(reason) = unfit(&turn, &offer, &call) {
                return Err(Error::InvalidAnswer { pause, reason });
            }
        }
        self.turn = Some(turn);
        Ok(())
    }
}

/// A call before its gates are asked.
enum Ready {
    Ended(Entry),
    Waits,
    Judge(Box<Judged>),
}

struct Judged {
    recorded: ToolCall,
    call: ToolCall,
    answer: Option<Decision>,
    approved: Vec<Approval>,
}

impl Approval {
    fn covers(&self, asker: &str, call: &ToolCall) -> bool {
        self.askers.iter().any(|name| name == asker) && self.tool == call.name && self.input == call.input
    }
}

pub(super) fn pause(call: ToolCall, asked_by: Asker, request: InterruptRequest) -> Pause {
    Pause {
        id: PauseId::fresh(),
        call: call.id,
        tool: call.name,
        input: call.input,
        asked_by,
        request,
    }
}

/// Why a call cannot run, in words for the model.
fn unfit(turn: &Turn, offer: &[String], call: &ToolCall) -> Option<String> {
    if let Some(invalid) = &call.invalid {
        let echo: String = invalid.text.chars().take(ECHO).collect();
        let cut = if echo.len() < invalid.text.len() { " (cut)" } else { "" };
        return Some(format!(
            "the call was not made: {}. The arguments were{cut}: {echo}",
            invalid.reason
        ));
    }
    if !offer.contains(&call.name) {
        let names = if offer.is_empty() {
            "there are no tools".to_owned()
        } else {
            format!("available: {}", offer.join(", "))
        };
        return Some(format!("there is no tool `{}`; {names}", call.name));
    }
    match turn.request.tool(&call.name) {
        None => Some(format!("the tool `{}` is not available any more", call.name)),
        Some(tool) => match tool.spec().validate(&call.input) {
            Ok(()) => None,
            Err(problem) => Some(format!(
                "the input of `{}` does not fit its schema: {problem}",
                call.name
            )),
        },
    }
}

/// Why a replacement is refused.
fn replaced(turn: &Turn, call: &ToolCall, new: &ToolCall, so_far: u32, before: &str, now: &str) -> Option<String> {
    if so_far >= REPLACEMENTS {
        return Some(format!(
            "the call was not made: `{before}` and `{now}` do not agree on its input"
        ));
    }
    if new.name != call.name {
        return Some(format!(
            "the call was not made: `{now}` replaced it by a call of another tool"
        ));
    }
    let tool = turn.request.tool(&call.name)?;
    let problem = tool.spec().validate(&new.input).err()?;
    Some(format!(
        "the call was not made: the input that `{now}` put in its place does not fit: {problem}"
    ))
}

fn rejected(tool: &str, message: Option<String>) -> ToolOutput {
    ToolOutput::error(
        message.unwrap_or_else(|| format!("the call of `{tool}` was rejected by a person; do not repeat it as it was")),
    )
}

/// A text as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Several questions about one call become one: the decisions that all of them allow, an answer that suits all of them, and what each of
/// them has for programs.
fn merged(asked: Vec<(String, InterruptRequest)>) -> Option<(Vec<String>, InterruptRequest)> {
    let mut asked = asked.into_iter();
    let (name, mut request) = asked.next()?;
    let mut by = vec![name];
    let mut payloads = vec![std::mem::take(&mut request.payload)];
    let mut schemas: Vec<Value> = request.answer_schema.take().into_iter().collect();
    for (name, other) in asked {
        request.description = format!("{}\n{}", request.description, other.description);
        request.allowed.retain(|kind| other.allowed.contains(kind));
        payloads.push(other.payload);
        schemas.extend(other.answer_schema.filter(|schema| !schemas.contains(schema)));
        by.push(name);
    }
    payloads.retain(|payload| !payload.is_null());
    request.payload = match payloads.len() {
        0 | 1 => payloads.pop().unwrap_or_default(),
        _ => Value::Array(payloads),
    };
    request.answer_schema = match schemas.len() {
        0 | 1 => schemas.pop(),
        _ => Some(all_of(schemas)),
    };
    if request.allowed.is_empty() {
        // They have no decision in common but the one that does no harm.
        request.allowed.push(crate::interrupt::DecisionKind::Reject);
    }
    Some((by, request))
}

/// What fits all of these schemas. Each gets an id, so that its references stay within it.
fn all_of(mut schemas: Vec<Value>) -> Value {
    for (index, schema) in schemas.iter_mut().enumerate() {
        if let Value::Object(schema) = schema {
            schema
                .entry("$id")
                .or_insert_with(|| format!("urn:catena:answer:{index}").into());
        }
    }
    serde_json::json!({ "allOf": schemas })
}

#[cfg(test)]
mod tests;
