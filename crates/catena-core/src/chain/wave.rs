//! Parallel-safe middlewares side by side.
//!
//! Each works on a fork of the intake. Afterwards the sections they added are put together in plan order, so the prompt is byte for byte
//! the one that running them one after another would have made. What a member does beside that is an error that names it.

use std::sync::Arc;

use futures::future::join_all;

use super::hooks::{Called, Stopped};
use super::plan::Planned;
use crate::context::Intake;
use crate::error::{Error, Result};
use crate::event::Decided;
use crate::middleware::{Flow, Hook};
use crate::prompt::Section;

pub(super) async fn run(wave: &[&Planned], intake: &mut Intake) -> Result<Stopped> {
    let base = &*intake;
    let additions = join_all(wave.iter().map(|member| contribute(member, base))).await;
    let mut sections = Vec::new();
    for added in additions {
        sections.extend(added?);
    }
    if !sections.is_empty() {
        intake.prompt.extend(sections);
    }
    Ok(None)
}

async fn contribute(member: &Planned, base: &Intake) -> Result<Vec<Section>> {
    let called = Called::new(&base.run, member, Hook::BeforeAgent, None);
    let mut fork = Intake {
        run: called.run().clone(),
        ..base.clone()
    };
    let decided = called.limited(member.middleware.before_agent(&mut fork)).await;
    let outcome = decided.and_then(|flow| verify(member, base, &fork, flow, &called));
    match outcome {
        Ok(sections) => {
            let changed = || {
                if sections.is_empty() {
                    Vec::new()
                } else {
                    vec!["prompt".to_owned()]
                }
            };
            called.report(Decided::Continue, changed, None);
            Ok(sections)
        }
        Err(error) => called.failed(error).map(|()| Vec::new()),
    }
}

fn verify(member: &Planned, base: &Intake, fork: &Intake, flow: Flow, called: &Called<'_>) -> Result<Vec<Section>> {
    let changed_state = called.run().undo_changes();
    let (old, new) = (base.prompt.sections(), fork.prompt.sections());
    let deed = match flow {
        Flow::Stop(_) => Some("ended the run"),
        Flow::Continue if changed_state => Some("changed state"),
        Flow::Continue if !Arc::ptr_eq(&base.input, &fork.input) => Some("edited the input"),
        Flow::Continue if base.staged.len() != fork.staged.len() => Some("folded the conversation"),
        Flow::Continue if !new.starts_with(old) => Some("changed sections of others"),
        Flow::Continue => None,
    };
    match deed {
        Some(deed) => Err(Error::NotParallelSafe {
            middleware: member.name.to_string(),
            deed,
        }),
        None => Ok(new[old.len()..].to_vec()),
    }
}
