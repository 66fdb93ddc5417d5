//! Who a run is for: it stays so, whoever resumes it.

use std::sync::Arc;

use catena::checkpoint::{Checkpointer, MemoryCheckpointer};
use catena::interrupt::InterruptRequest;
use catena::middleware::gate_fn;
use catena::model::Model;
use catena::prelude::*;
use catena::principal::{AllVisible, Principal, ResourceKind, Resources};
use catena::record::{Entry, OutcomeRecord, RunStart};
use catena::testing::{call, say, scripted};

use crate::kit::{Log, echo, noting, text, tool};
use crate::support::stored_thread;

struct Without(&'static str);

impl Resources for Without {
    fn visible(&self, kind: ResourceKind, name: &str) -> bool {
        kind != ResourceKind::Tool || name != self.0
    }
}

/// Notes for whom a run ended, and where it stood.
struct For(Log);

#[middleware]
impl Middleware for For {
    fn name(&self) -> &str {
        "for"
    }
    async fn after_agent(&self, run: &RunContext, _: &OutcomeRecord) -> Result<()> {
        let (principal, path) = (run.principal(), run.path().join(">"));
        let child = run.parent().is_some();
        self.0.add(format!(
            "{} {:?} {path} depth {} child {child}",
            principal.user,
            principal.roles,
            run.depth()
        ));
        Ok(())
    }
}

/// An agent that asks before every call of `echo` and hides `note` from all but the admin; a new one each time, as after a restart.
fn agent(model: impl Model, store: &Arc<dyn Checkpointer>, log: &Log) -> Agent {
    Agent::builder(model)
        .name("clerk")
        .tool(echo())
        .tool(noting("note", log))
        .with(gate_fn("ask", |_, _| {
            Ok(ToolDecision::Interrupt(InterruptRequest::approval("may it?")))
        }))
        .with(For(log.clone()))
        .resources(|principal| match principal.user.as_str() {
            "admin" => Arc::new(AllVisible),
            _ => Arc::new(Without("note")),
        })
        .store(store.clone())
        .build()
        .unwrap()
}

fn ann() -> Principal {
    let mut ann = Principal::user("ann");
    ann.roles = vec!["reader".into()];
    ann
}

async fn paused() -> (Arc<dyn Checkpointer>, Log) {
    let (store, log): (Arc<dyn Checkpointer>, _) = (Arc::new(MemoryCheckpointer::new()), Log::default());
    let input = Input::new("go").thread("t").principal(ann());
    let result = agent(scripted([call("echo", text("x"))]), &store, &log)
        .run(input)
        .await
        .unwrap();
    assert_eq!(result.pauses().len(), 1);
    (store, log)
}

/// A recovery job that names nobody goes on for the one the run was started for, and sees what that one may see.
#[tokio::test]
async fn a_resumed_run_sees_what_its_own_principal_may_see() {
    let (store, log) = paused().await;
    let model = scripted([say("done")]);
    agent(model.clone(), &store, &log)
        .run(Resume::thread("t").approve_all())
        .await
        .unwrap();
    let offered: Vec<_> = model.requests()[0]
        .tools
        .iter()
        .map(|t| t.spec().name.clone())
        .collect();
    assert_eq!(offered, ["echo"]);
    assert_eq!(log.take(), [r#"ann ["reader"] clerk depth 0 child false"#]);
}

/// Another user or tenant is refused before anything is stored; the same one goes on with the roles the run was started with.
#[tokio::test]
async fn a_run_cannot_be_resumed_as_somebody_else() {
    let (store, log) = paused().await;
    let before = stored_thread(&store, "t").await.length();
    let other_tenant = {
        let mut other = ann();
        other.tenant = Some("elsewhere".into());
        other
    };
    for other in [Principal::user("admin"), other_tenant] {
        let resume = Resume::thread("t").approve_all().principal(other);
        let error = agent(scripted([]), &store, &log).run(resume).await.unwrap_err();
        assert!(matches!(error, Error::OtherPrincipal(_)), "{error}");
        assert_eq!(error.kind(), "forbidden");
        assert!(!error.to_string().contains("ann"), "{error}");
    }
    assert_eq!(stored_thread(&store, "t").await.length(), before);

    let mut promoted = ann();
    promoted.roles = vec!["admin".into()];
    let resume = Resume::thread("t").approve_all().principal(promoted);
    agent(scripted([say("done")]), &store, &log).run(resume).await.unwrap();
    assert_eq!(log.take(), [r#"ann ["reader"] clerk depth 0 child false"#]);
}

/// What a new input of somebody else closes ends for the one it was for.
#[tokio::test]
async fn a_run_that_is_closed_ends_for_its_own_principal() {
    let (store, log) = paused().await;
    let input = Input::new("next").thread("t").principal(Principal::user("admin"));
    let input = input.on_interrupt(catena::agent::OnInterrupt::Cancel);
    agent(scripted([say("done")]), &store, &log).run(input).await.unwrap();
    assert_eq!(
        log.take(),
        [
            r#"ann ["reader"] clerk depth 0 child false"#,
            "admin [] clerk depth 0 child false"
        ]
    );
}

/// A child that is resumed by itself stands where it stood: below its parent.
#[tokio::test]
async fn a_child_that_is_resumed_directly_keeps_its_place() {
    let (store, log): (Arc<dyn Checkpointer>, _) = (Arc::new(MemoryCheckpointer::new()), Log::default());
    let child = agent(scripted([call("echo", text("x")), say("done")]), &store, &log);
    let task = {
        let child = child.clone();
        tool("task", move |_, context: ToolContext| {
            let child = child.clone();
            async move {
                let input = Input::new("the task").thread("child").child_of(context.run());
                child.run(input).await.unwrap().pauses().len().to_string()
            }
        })
    };
    let parent = Agent::builder(scripted([call("task", text("")), say("done")]))
        .name("boss")
        .tool(task)
        .build()
        .unwrap();
    parent.run(Input::new("go").principal(ann())).await.unwrap();
    assert!(log.take().is_empty(), "the child waits");
    child.run(Resume::thread("child").approve_all()).await.unwrap();
    assert_eq!(log.take(), [r#"ann ["reader"] boss>clerk depth 1 child true"#]);
}

/// A record from before principals were journalled can be read, and is its resumer's.
#[test]
fn an_old_record_has_no_principal() {
    let old = serde_json::json!({"run": "r", "agent": "a", "at": "2026-01-01T00:00:00Z"});
    let start: RunStart = serde_json::from_value(old).unwrap();
    assert_eq!(start.principal, None);
    let entry = serde_json::to_value(Entry::RunStarted(start)).unwrap();
    assert_eq!(entry.get("principal"), None);
}
