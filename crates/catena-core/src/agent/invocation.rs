//! What a run is started with.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::context::{Extensions, RunContext};
use crate::error::{Error, Result};
use crate::event::EventSink;
use crate::id::{PauseId, RunId, ThreadId};
use crate::interrupt::{Answer, Decision, Pause};
use crate::message::Message;
use crate::principal::{Principal, Resources};

/// An input, or the continuation of a run. Made from an [`Input`], a [`Resume`], a text or a message.
#[derive(Debug)]
pub enum Invocation {
    #[doc(hidden)]
    Input(Input),
    #[doc(hidden)]
    Resume(Resume),
}

/// New messages for a thread.
///
/// ```
/// # use catena_core::{Input, agent::OnBusy};
/// let input = Input::new("And in winter?").thread("t-1").on_busy(OnBusy::Enqueue);
/// ```
#[derive(Debug)]
pub struct Input {
    pub(crate) messages: Vec<Message>,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) options: RunOptions,
}

/// The continuation of a run that is paused, or that its process left unfinished.
///
/// ```
/// # use catena_core::{Resume, interrupt::Decision};
/// let resume = Resume::thread("t-1").answer("p-1", Decision::Approve);
/// ```
#[derive(Debug)]
pub struct Resume {
    thread: ThreadId,
    answers: Answers,
    pub(crate) options: RunOptions,
}

#[derive(Debug)]
enum Answers {
    Named(Vec<Answer>),
    InOrder(Vec<Decision>),
    ApproveAll,
}

/// What is done when the thread has an active run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnBusy {
    /// The new run is refused.
    #[default]
    Reject,
    /// The new run waits for its turn.
    Enqueue,
    /// The active run is cancelled.
    CancelFirst,
}

/// What is done with an input for a thread that waits for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnInterrupt {
    /// The input is refused.
    #[default]
    Reject,
    /// The paused run is ended, its open calls are answered, and the new run begins.
    Cancel,
}

/// What a run may be given beside its input.
#[derive(Clone, Default)]
pub(crate) struct RunOptions {
    principal: Option<Arc<Principal>>,
    resources: Option<Arc<dyn Resources>>,
    context: Option<Arc<Extensions>>,
    pub(crate) on_busy: OnBusy,
    pub(crate) on_interrupt: OnInterrupt,
    pub(crate) parent: Option<RunContext>,
    /// Cancels the run from outside. Default: one of its own, below that of its parent.
    pub(crate) cancel: Option<CancellationToken>,
}

/// A run that is about to begin.
pub(crate) struct Launch {
    pub(crate) invocation: Invocation,
    pub(crate) options: RunOptions,
    pub(crate) run: RunId,
    pub(crate) thread: ThreadId,
    pub(crate) events: EventSink,
    pub(crate) cancel: CancellationToken,
}

impl RunOptions {
    /// Names of the agents above.
    pub(crate) fn path(&self) -> Vec<String> {
        self.parent
            .as_ref()
            .map(|parent| parent.path().to_vec())
            .unwrap_or_default()
    }

    /// A child acts for the one its parent acts for.
    pub(crate) fn principal(&self) -> Arc<Principal> {
        let parent = self.parent.as_ref().map(|parent| parent.shared.principal.clone());
        self.principal.clone().or(parent).unwrap_or_default()
    }

    /// The one that a resume names: a program that always passes a principal passes nobody in particular when it knows none.
    pub(super) fn named_principal(&self) -> Option<&Principal> {
        let named = self
            .principal
            .as_deref()
            .filter(|named| **named != Principal::default());
        let parent = self.parent.as_ref().map(|parent| &*parent.shared.principal);
        named.or(parent)
    }

    /// What the caller, or else the parent, lets it see; if neither says, that is the agent's to say.
    pub(super) fn resources(&self) -> Option<Arc<dyn Resources>> {
        let parent = self.parent.as_ref().map(|parent| parent.shared.resources.clone());
        self.resources.clone().or(parent)
    }

    pub(crate) fn context(&self) -> Arc<Extensions> {
        let parent = self.parent.as_ref().map(|parent| parent.shared.extensions.clone());
        self.context.clone().or(parent).unwrap_or_default()
    }

    pub(crate) fn cancel(&self) -> CancellationToken {
        let below = || self.parent.as_ref().map(|parent| parent.shared.cancel.child_token());
        self.cancel.clone().or_else(below).unwrap_or_default()
    }
}

impl std::fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunOptions")
            .field("principal", &self.principal)
            .field("on_busy", &self.on_busy)
            .field("on_interrupt", &self.on_interrupt)
            .finish_non_exhaustive()
    }
}

macro_rules! shared_setters {
    ($type:ident) => {
        impl $type {
            /// What the run may see. It is not journalled: what must hold for a resumed run too belongs in
            /// [`AgentBuilder::resources`](super::AgentBuilder::resources). Default: what the parent may see, or what the agent's
            /// `resources` say for the principal.
            #[must_use]
            pub fn resources(mut self, resources: impl Resources) -> Self {
                self.options.resources = Some(Arc::new(resources));
                self
            }

            /// Values of your own for hooks and tools. Default: none, or the parent's.
            #[must_use]
            pub fn context(mut self, context: Extensions) -> Self {
                self.options.context = Some(Arc::new(context));
                self
            }

            /// What is done when the thread has an active run. Default: reject.
            #[must_use]
            pub fn on_busy(mut self, on_busy: OnBusy) -> Self {
                self.options.on_busy = on_busy;
                self
            }

            /// Makes it a child of another run: cancelled with it, counted in its tree, acting for the same principal. Those who watch the
            /// parent read its events too, with its own run, thread and path, and a reader that falls behind slows both.
            /// Observers see their own chain's runs only: the child's are those of the child's agent.
            #[must_use]
            pub fn child_of(mut self, parent: &RunContext) -> Self {
                self.options.parent = Some(parent.clone());
                self
            }
        }
    };
}

shared_setters!(Input);
shared_setters!(Resume);

impl Input {
    /// One message from a person.
    pub fn new(text: impl Into<String>) -> Self {
        Self::messages(vec![Message::user(text)])
    }

    /// Messages of any role, such as a history from elsewhere with a new question.
    pub fn messages(messages: Vec<Message>) -> Self {
        Self {
            messages,
            thread: None,
            options: RunOptions::default(),
        }
    }

    /// Who the run is for. It is journalled, and stays so when the run is resumed. Default: nobody in particular, or the parent's.
    #[must_use]
    pub fn principal(mut self, principal: Principal) -> Self {
        self.options.principal = Some(Arc::new(principal));
        self
    }

    /// The thread they are for. Default: a fresh one.
    #[must_use]
    pub fn thread(mut self, thread: impl Into<ThreadId>) -> Self {
        self.thread = Some(thread.into());
        self
    }

    /// What is done when the thread waits for an answer. Default: reject.
    #[must_use]
    pub fn on_interrupt(mut self, on_interrupt: OnInterrupt) -> Self {
        self.options.on_interrupt = on_interrupt;
        self
    }
}

impl Resume {
    /// Continues the thread's run: with the answers that are added, or, without any, from where its process left it.
    pub fn thread(thread: impl Into<ThreadId>) -> Self {
        Self {
            thread: thread.into(),
            answers: Answers::Named(Vec::new()),
            options: RunOptions::default(),
        }
    }

    /// Who is expected to be the one the run is for: another user or tenant is refused with
    /// [`Error::OtherPrincipal`](crate::Error::OtherPrincipal), and nothing is stored. The run goes on with the principal it was started
    /// with, roles included. Default, and for [`Principal::default`]: whoever that is.
    #[must_use]
    pub fn principal(mut self, principal: Principal) -> Self {
        self.options.principal = Some(Arc::new(principal));
        self
    }

    /// Answers one question; the others stay open.
    #[must_use]
    pub fn answer(mut self, pause: impl Into<PauseId>, decision: Decision) -> Self {
        let answer = Answer {
            pause: pause.into(),
            decision,
        };
        match &mut self.answers {
            Answers::Named(answers) => answers.push(answer),
            other => *other = Answers::Named(vec![answer]),
        }
        self
    }

    /// Answers all open questions, in call order. Another number of decisions than of questions is refused.
    #[must_use]
    pub fn decisions(mut self, decisions: Vec<Decision>) -> Self {
        self.answers = Answers::InOrder(decisions);
        self
    }

    /// Approves everything that is asked.
    #[must_use]
    pub fn approve_all(mut self) -> Self {
        self.answers = Answers::ApproveAll;
        self
    }

    /// The answers to these questions.
    ///
    /// # Errors
    /// [`Error::InvalidAnswer`] if one does not fit, names a question that is not open, or the numbers differ. Nothing is stored then.
    pub(crate) fn resolve(self, pauses: Vec<&Pause>) -> Result<Vec<Answer>> {
        let answers = match self.answers {
            Answers::Named(answers) => answers,
            Answers::ApproveAll => pauses
                .iter()
                .map(|p| Answer {
                    pause: p.id.clone(),
                    decision: Decision::Approve,
                })
                .collect(),
            Answers::InOrder(decisions) if decisions.len() != pauses.len() => {
                let pause = pauses.first().map_or(PauseId::from(""), |pause| pause.id.clone());
                let open: Vec<_> = pauses
                    .iter()
                    .map(|pause| format!("`{}` ({})", pause.id, pause.tool))
                    .collect();
                let reason = format!(
                    "{} decision(s) were given for {} question(s): {}",
                    decisions.len(),
                    pauses.len(),
                    open.join(", ")
                );
                return Err(Error::InvalidAnswer { pause, reason });
            }
            Answers::InOrder(decisions) => pauses
                .iter()
                .zip(decisions)
                .map(|(p, decision)| Answer {
                    pause: p.id.clone(),
                    decision,
                })
                .collect(),
        };
        for (index, Answer { pause, decision }) in answers.iter().enumerate() {
            let invalid = |reason: String| Error::InvalidAnswer {
                pause: pause.clone(),
                reason,
            };
            if answers[..index].iter().any(|other| other.pause == *pause) {
                return Err(invalid("it was answered twice".into()));
            }
            let open = pauses.iter().find(|open| open.id == *pause);
            let open = open.ok_or_else(|| {
                invalid("there is no open question of that name; it may have been answered already".into())
            })?;
            open.check(decision).map_err(invalid)?;
        }
        Ok(answers)
    }
}

impl Invocation {
    pub(crate) fn options(&self) -> &RunOptions {
        match self {
            Self::Input(input) => &input.options,
            Self::Resume(resume) => &resume.options,
        }
    }

    pub(crate) fn thread(&self) -> ThreadId {
        match self {
            Self::Input(input) => input.thread.clone().unwrap_or_else(ThreadId::fresh),
            Self::Resume(resume) => resume.thread.clone(),
        }
    }
}

impl From<Input> for Invocation {
    fn from(input: Input) -> Self {
        Self::Input(input)
    }
}

impl From<Resume> for Invocation {
    fn from(resume: Resume) -> Self {
        Self::Resume(resume)
    }
}

impl From<&str> for Invocation {
    fn from(text: &str) -> Self {
        Input::new(text).into()
    }
}

impl From<String> for Invocation {
    fn from(text: String) -> Self {
        Input::new(text).into()
    }
}

impl From<Message> for Invocation {
    fn from(message: Message) -> Self {
        Input::messages(vec![message]).into()
    }
}
