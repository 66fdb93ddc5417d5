//! Where a run stands: for whom it acts, what it may see, and what is above it.
//!
//! A run that begins stands where its caller puts it. A run that has begun stands where its record says: whoever resumes it can neither
//! widen what it sees nor lift it out of its tree.

use std::sync::Arc;

use super::{AgentShared, RunOptions, Tree};
use crate::context::RunContext;
use crate::error::{Error, Result};
use crate::id::{RunId, ThreadId};
use crate::principal::{Principal, Resources};
use crate::record::{Entry, RunRecord, RunStart, Thread};

/// See the [module](self).
pub(crate) struct Standing {
    pub(crate) principal: Arc<Principal>,
    pub(crate) resources: Arc<dyn Resources>,
    pub(crate) parent: Option<RunId>,
    /// From the outermost agent to this one.
    pub(crate) path: Arc<[String]>,
    pub(crate) tree: Arc<Tree>,
}

impl Standing {
    /// That of the run `id`, which may have begun on the thread already.
    pub(crate) fn of(agent: &AgentShared, options: &RunOptions, id: &RunId, thread: &Thread) -> Self {
        let begun = thread.run().map(|run| run.start()).filter(|start| start.run == *id);
        let principal = match begun.and_then(|start| start.principal.clone()) {
            Some(principal) => Arc::new(principal),
            // A new run, or one from before principals were journalled.
            None => options.principal(),
        };
        let above = begun.map_or_else(|| options.path(), |start| start.path.clone());
        Self {
            resources: options.resources().unwrap_or_else(|| (agent.resources)(&principal)),
            principal,
            parent: match begun {
                Some(start) => start.parent.clone(),
                None => options.parent.as_ref().map(|parent| parent.shared.id.clone()),
            },
            path: above.into_iter().chain([agent.name.clone()]).collect(),
            tree: tree(options, thread.run().filter(|run| run.id() == id)),
        }
    }

    /// Tells the parent what its child did so far, to be journalled with the parent's next step. A parent that is over is not told.
    pub(crate) fn report(options: &RunOptions, child: &RunContext) {
        let parent = options
            .parent
            .as_ref()
            .filter(|parent| child.parent() == Some(parent.run_id()));
        let Some(parent) = parent else { return };
        let spent = child.record(|thread| {
            let run = thread.run().filter(|run| run.id() == child.run_id());
            run.map(RunRecord::tree_totals)
        });
        if let Some(totals) = spent {
            parent.shared.stage(Entry::ChildSpent {
                run: child.run_id().clone(),
                agent: child.agent().to_owned(),
                totals: Arc::new(totals),
            });
        }
    }

    /// Refuses to go on with a run for somebody else than it was started for.
    ///
    /// # Errors
    /// [`Error::OtherPrincipal`].
    pub(crate) fn check(options: &RunOptions, start: Option<&RunStart>, thread: &ThreadId) -> Result<()> {
        let recorded = start.and_then(|start| start.principal.as_ref());
        match (options.named_principal(), recorded) {
            // Roles and departments change while a run waits; it goes on with those it was started with.
            (Some(named), Some(recorded)) if (&named.user, &named.tenant) != (&recorded.user, &recorded.tenant) => {
                Err(Error::OtherPrincipal(thread.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// The parent's, or one that begins with what the run did before.
fn tree(options: &RunOptions, begun: Option<&RunRecord>) -> Arc<Tree> {
    let Some(parent) = &options.parent else {
        return begun.map_or_else(Arc::default, |run| Arc::new(Tree::resumed(run.tree_totals())));
    };
    let tree = parent.shared.tree.clone();
    if let Some(run) = begun.filter(|run| run.start().parent.as_ref() == Some(parent.run_id()))
        && !parent.shared.knows_child(run.id())
    {
        // The parent's process died before the parent could journal what the child did.
        tree.join(&run.tree_totals());
    }
    tree
}
