//! One turn's model call: request, hooks, answer, record.

use std::collections::HashSet;
use std::sync::Arc;

use super::model_call::ModelCall;
use super::runner::Runner;
use super::structured;
use crate::chain::BaseModel;
use crate::context::Turn;
use crate::error::{Error, Result};
use crate::event::EventKind;
use crate::id::CallId;
use crate::message::{AssistantMessage, Message, Part, Role};
use crate::model::{ModelRequest, ModelResponse, ToolChoice};
use crate::record::{Entry, ModelStep};

/// What the model reads when it has to come to an end.
const LAST_WORD: &str = "No further tool can be called. Answer now with what is known, and say what is left undone.";

impl Runner {
    pub(super) async fn ask(&mut self, last_word: bool) -> Result<()> {
        let mut turn = Turn::new(self.run.clone(), self.request().await?);
        let stopped = self.agent.chain.before_model(&mut turn).await?;
        let staged = std::mem::take(&mut turn.staged);
        match stopped {
            // A limit that ended the run would stop its last word too, every time.
            Some((_, _)) if last_word => return self.commit([staged, self.without_last_word()].concat()).await,
            Some((by, ending)) => return self.end(&by, ending, staged).await,
            None => self.commit_staged(staged).await?,
        }
        if last_word {
            make_last_word(&mut turn.request);
        }
        must_end_with_a_question(&turn.request)?;
        let number = self.run.turn() + 1;
        let call = ModelCall::new(self.run.clone(), number, self.agent.limits.model_idle);
        let answered = self.answer(&mut turn, &call).await;
        match answered {
            Ok((response, again, stopped)) => {
                let step = self.step(&turn, &call, response, last_word, again);
                self.record(turn, step, stopped.filter(|_| !last_word)).await
            }
            Err(error) => {
                call.settle(None);
                let attempts = call.attempts();
                if attempts > 0 {
                    self.commit(vec![Entry::FailedAttempts {
                        attempts,
                        usage: call.usage(),
                    }])
                    .await?;
                }
                Err(error)
            }
        }
    }

    async fn answer(&self, turn: &mut Turn, call: &ModelCall) -> Result<(ModelResponse, bool, crate::chain::Stopped)> {
        let request = turn.request.clone();
        let mut response = structured::ask(&self.agent.chain, &self.run, call, request).await?;
        self.name_and_number(&mut response.message);
        let (again, stopped) = self.agent.chain.after_model(turn, &mut response).await?;
        self.name_and_number(&mut response.message);
        call.settle(Some(&response.message.id));
        Ok((response, again, stopped))
    }

    fn step(
        &self,
        turn: &Turn,
        call: &ModelCall,
        mut response: ModelResponse,
        last_word: bool,
        ask_again: bool,
    ) -> ModelStep {
        if last_word {
            response.message.parts.retain(|part| part.as_call().is_none());
        }
        let attempts = call.attempts();
        let offer = match attempts {
            // A wrap answered in the model's place.
            0 => turn.request.tool_specs().map(|spec| spec.name.clone()).collect(),
            _ => call.offer(),
        };
        let mut wasted = call.usage();
        let used = response.message.usage;
        wasted.input = wasted.input.saturating_sub(used.input);
        wasted.output = wasted.output.saturating_sub(used.output);
        wasted.cached = wasted.cached.saturating_sub(used.cached);
        wasted.cache_write = wasted.cache_write.saturating_sub(used.cache_write);
        wasted.reasoning = wasted.reasoning.saturating_sub(used.reasoning);
        wasted.micro_usd = wasted.micro_usd.saturating_sub(used.micro_usd);
        let message = Arc::new(Message::Assistant(response.message.into_inner()));
        ModelStep {
            message,
            offer,
            attempts,
            wasted,
            structured: response.structured,
            last_word,
            ask_again,
        }
    }

    async fn record(&mut self, turn: Turn, step: ModelStep, stopped: crate::chain::Stopped) -> Result<()> {
        let message = step.message.clone();
        let (again, complete) = (step.ask_again, step.structured.is_some());
        let usage = step.usage();
        self.run.shared.tree.add_model(step.attempts, usage);
        let mut entries = vec![Entry::Model(step)];
        if complete {
            let closed = self.accepting(&entries);
            entries.extend(closed);
        } else if again {
            let closed = self.closing(&entries, "another answer was asked for");
            entries.extend(closed);
        }
        let (entries, results) = match stopped {
            // One commit: an answer that was stopped must not be acted on by whoever finds it after a crash.
            Some((by, ending)) => self.ending(&by, ending, entries),
            None => {
                let results = entries.iter().filter_map(ended_message).collect();
                (entries, results)
            }
        };
        self.commit(entries).await?;
        // Those who watch see the message before the answers to its calls.
        let model = message.as_assistant().and_then(|answer| answer.model.clone());
        self.run.emit_kind(EventKind::Message { message });
        if !usage.is_empty() {
            let model = model.unwrap_or_default();
            self.run.emit_kind(EventKind::Usage { by: None, model, usage });
        }
        for message in results {
            self.run.emit_kind(EventKind::Message { message });
        }
        self.turn = Some(turn);
        Ok(())
    }

    async fn commit_staged(&self, staged: Vec<Entry>) -> Result<()> {
        if staged.is_empty() {
            Ok(())
        } else {
            self.commit(staged).await
        }
    }

    fn without_last_word(&self) -> Vec<Entry> {
        let ending = self
            .run
            .record(|thread| thread.run().and_then(|run| run.ending.clone()));
        let quiet = ending.map(|(by, ending)| Entry::Ending {
            by,
            ending: crate::middleware::Ending {
                say: Default::default(),
                ..ending
            },
        });
        quiet.into_iter().collect()
    }

    /// Gives the message its agent's name, and its calls ids that are not used yet: some providers send none, or the same ones every time.
    fn name_and_number(&self, message: &mut AssistantMessage) {
        message.name = Some(self.agent.name.clone());
        let thread = self.run.shared.thread();
        let mut used = HashSet::new();
        for call in message.calls_mut() {
            if call.id.is_empty() || thread.has_call(&call.id) || !used.insert(call.id.clone()) {
                call.id = CallId::fresh();
                used.insert(call.id.clone());
            }
        }
    }
}

fn ended_message(entry: &Entry) -> Option<Arc<Message>> {
    match entry {
        Entry::CallEnded { message, .. } => Some(message.clone()),
        _ => None,
    }
}

fn make_last_word(request: &mut ModelRequest) {
    request.tools = Arc::default();
    request.tool_choice = ToolChoice::None;
    request.output = None;
    request
        .messages_mut()
        .push(Arc::new(Message::user_parts(vec![Part::text(LAST_WORD)])));
}

/// FC-142: a conversation that ends with the agent's own words asks for nothing, and some providers refuse it.
fn must_end_with_a_question(request: &ModelRequest) -> Result<()> {
    match request.messages.last().map(|message| message.role()) {
        Some(Role::User | Role::Tool | Role::System) => Ok(()),
        Some(Role::Assistant) => Err(Error::Config(
            "the conversation ends with the assistant's own message; give an input".into(),
        )),
        None => Err(Error::Config("there is nothing to answer; give an input".into())),
    }
}
