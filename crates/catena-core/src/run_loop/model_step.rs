//! One turn's model call: request, hooks, answer, record.

use std::collections::HashSet;
use std::sync::Arc;

use super::machine::Question;
use super::model_call::ModelCall;
use super::runner::Runner;
use super::structured;
use crate::chain::{AfterAnswer, BaseModel};
use crate::context::Turn;
use crate::error::{Error, Result};
use crate::id::{CallId, MessageId};
use crate::message::{AssistantMessage, Message, Part, Role};
use crate::model::{ModelError, ModelErrorKind, ModelRequest, ModelResponse, StopReason, ToolChoice};
use crate::record::{Entry, ModelStep};

/// What the model reads when it has to come to an end.
const LAST_WORD: &str = "No further tool can be called. Answer now with what is known, and say what is left undone.";

/// What the model reads when an answer without calls is to be given again, and no middleware says why.
const AGAIN: &str = "This answer was not accepted. Give another one.";

/// What became of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepKind {
    Accepted,
    /// Another one is wanted in its place.
    AskedAgain,
    /// It is the last word of a run that is ended, whatever hooks make of it.
    LastWord,
}

impl Runner {
    pub(super) async fn ask(&mut self, question: Question) -> Result<()> {
        let last_word = question == Question::LastWord;
        let mut turn = Turn::new(self.run.clone(), self.request().await?);
        let ended_by = self.run.record(|thread| Some(thread.run()?.ending.as_ref()?.0.clone()));
        let stopped = self.agent.chain.before_model(&mut turn, ended_by.as_deref()).await?;
        let staged = std::mem::take(&mut turn.staged);
        match stopped {
            // The run is ended already; what is left to stop is its last word.
            Some((_, _)) if last_word => {
                return self
                    .commit(staged.into_iter().chain(self.without_last_word()).collect())
                    .await;
            }
            Some((by, ending)) => return self.end(&by, ending, staged).await,
            None if staged.is_empty() => {}
            None => self.commit(staged).await?,
        }
        match question {
            Question::Next => {}
            Question::Object => turn.request.tools = Arc::default(),
            Question::LastWord => make_last_word(&mut turn.request),
        }
        if self
            .run
            .record(|thread| thread.run().is_some_and(|run| run.asked_again))
        {
            ask_for_another(&mut turn.request);
        }
        must_end_with_a_question(&turn.request)?;
        let number = self.run.turn() + 1;
        let call = ModelCall::new(self.run.clone(), number, self.agent.limits.model_idle);
        let answered = self
            .answer(&mut turn, &call)
            .await
            .and_then(|answered| match last_word {
                true => said_something(answered),
                false => Ok(answered),
            });
        match answered {
            Ok((response, after)) => {
                if let Some(format) = call.output(&response.message.id) {
                    turn.request.output = Some(format);
                }
                let kind = match after {
                    _ if last_word => StepKind::LastWord,
                    AfterAnswer::AskAgain => StepKind::AskedAgain,
                    AfterAnswer::Accept | AfterAnswer::Stop(..) => StepKind::Accepted,
                };
                let stopped = match after {
                    AfterAnswer::Stop(by, ending) if !last_word => Some((by, ending)),
                    _ => None,
                };
                let staged = call.take_staged();
                let step = self.step(&turn, &call, response, kind);
                self.record(turn, staged, step, stopped).await
            }
            Err(error) => {
                call.settle(None);
                let mut entries = call.take_staged();
                let attempts = call.attempts();
                if attempts > 0 {
                    let usage = call.usage();
                    entries.push(Entry::FailedAttempts { attempts, usage });
                }
                if !entries.is_empty() {
                    self.commit(entries).await?;
                }
                Err(error)
            }
        }
    }

    async fn answer(&self, turn: &mut Turn, call: &ModelCall) -> Result<(ModelResponse, AfterAnswer)> {
        let request = turn.request.clone().into_inner();
        let mut response = structured::ask(&self.agent.chain, &self.run, call, request).await?;
        self.name_and_number(&mut response.message);
        let after = self.agent.chain.after_model(turn, &mut response).await?;
        self.name_and_number(&mut response.message);
        call.settle(Some(&response.message.id));
        Ok((response, after))
    }

    fn step(&self, turn: &Turn, call: &ModelCall, response: ModelResponse, kind: StepKind) -> ModelStep {
        let (last_word, ask_again) = (kind == StepKind::LastWord, kind == StepKind::AskedAgain);
        let attempts = call.attempts();
        let offer = match attempts {
            // A wrap answered in the model's place.
            0 => turn.request.tool_specs().map(|spec| spec.name.clone()).collect(),
            _ => call.offer(&response.message.id),
        };
        let wasted = call.usage().without(response.message.usage);
        let message = Arc::new(Message::Assistant(response.message.into_inner()));
        ModelStep {
            message,
            offer,
            attempts,
            wasted,
            // Another answer is wanted in place of this one, object and all.
            structured: response.structured.filter(|_| !ask_again),
            last_word,
            ask_again,
        }
    }

    async fn record(
        &mut self,
        mut turn: Turn,
        mut entries: Vec<Entry>,
        step: ModelStep,
        stopped: crate::chain::Stopped,
    ) -> Result<()> {
        forget_messages(&mut turn);
        let (again, complete) = (step.ask_again, step.structured.is_some());
        entries.append(&mut turn.staged);
        entries.push(Entry::Model(step));
        if complete {
            let closed = self.accepting(&entries, turn.request.output.as_ref());
            entries.extend(closed);
        } else if again {
            let closed = self.closing(&entries, "another answer was asked for");
            entries.extend(closed);
        }
        // Answer and ending are one commit: a process that dies in between would run what was stopped.
        match stopped {
            Some((by, ending)) => self.end(&by, ending, entries).await?,
            None => self.commit(entries).await?,
        }
        self.turn = Some(turn);
        Ok(())
    }

    /// Gives the message its agent's name, and itself and its calls ids that are not used yet: a cache may answer with the same message
    /// again, and some providers send no ids for calls, or the same ones every time.
    fn name_and_number(&self, message: &mut AssistantMessage) {
        message.name = Some(self.agent.name.clone());
        let thread = self.run.shared.thread();
        if thread.position(&message.id).is_some() {
            message.id = MessageId::fresh();
        }
        let mut used = HashSet::new();
        for call in message.calls_mut() {
            if call.id.is_empty() || thread.has_call(&call.id) || !used.insert(call.id.clone()) {
                call.id = CallId::fresh();
                used.insert(call.id.clone());
            }
        }
    }
}

/// What the turn's gates and calls need is in the record. A view that is held here would be copied for the next message.
pub(super) fn forget_messages(turn: &mut Turn) {
    turn.request.messages = Arc::default();
}

/// A last word without the calls that a model may put into it all the same. If there is nothing else in it, it is none.
fn said_something((mut response, after): (ModelResponse, AfterAnswer)) -> Result<(ModelResponse, AfterAnswer)> {
    let calls = response.message.calls().next().is_some();
    response.message.parts.retain(|part| part.as_call().is_none());
    if calls && response.message.is_empty() {
        let text = "the model called tools in place of a last answer";
        return Err(Error::Model(ModelError::new(ModelErrorKind::Empty, text)));
    }
    Ok((response, after))
}

fn make_last_word(request: &mut ModelRequest) {
    request.tools = Arc::default();
    request.tool_choice = ToolChoice::None;
    request.output = None;
    request
        .messages_mut()
        .push(Arc::new(Message::user_parts(vec![Part::text(LAST_WORD)])));
}

fn ask_for_another(request: &mut ModelRequest) {
    let answered = |message: &Arc<Message>| message.role() == Role::Assistant;
    if request.messages.last().is_some_and(answered) {
        request
            .messages_mut()
            .push(Arc::new(Message::user_parts(vec![Part::text(AGAIN)])));
    }
}

/// A conversation that ends with the agent's own words asks for nothing, and some providers refuse it. One that the provider paused is
/// given back to be gone on with.
fn must_end_with_a_question(request: &ModelRequest) -> Result<()> {
    match request.messages.last().map(|message| &**message) {
        Some(Message::Assistant(last)) if last.stop != StopReason::Paused => Err(Error::Config(
            "the conversation ends with the assistant's own message; give an input".into(),
        )),
        Some(_) => Ok(()),
        None => Err(Error::Config("there is nothing to answer; give an input".into())),
    }
}
