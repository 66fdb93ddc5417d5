//! A cancellation reaches the runs below.

use std::sync::Arc;
use std::time::Duration;

use catena::checkpoint::{Checkpointer, MemoryCheckpointer};
use catena::prelude::*;
use catena::record::OutcomeRecord;
use catena::testing::{call, scripted};
use catena::tool::json_tool;
use serde_json::json;

use super::{agent, cancelled};
use crate::support::{Ends, Hold, spec, valid_thread};

#[tokio::test]
async fn a_childs_run_is_cancelled_with_its_parents() {
    let (hold, child_ends) = (Hold::new(), Ends::default());
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let child = Agent::builder(scripted([call("slow", json!({}))]))
        .name("child")
        .tool(hold.tool("slow"))
        .with(child_ends.clone())
        .store(store.clone())
        .build()
        .unwrap();
    let delegate = {
        let child = child.clone();
        json_tool(spec("delegate"), move |_, context: ToolContext| {
            let child = child.clone();
            async move {
                let input = Input::new("do it").thread("child-thread").child_of(context.run());
                let result = child
                    .run(input)
                    .await
                    .map_err(|error| ToolError::new(error.to_string()))?;
                Ok::<_, ToolError>(result.text())
            }
        })
    };
    let model = scripted([call("delegate", json!({}))]);
    let (parent, ends) = agent(model, |builder| builder.tool(delegate));
    let handle = parent.start(Input::new("go").thread("t"));
    hold.reached().await;
    cancelled(&parent, &ends, handle).await;
    assert!(child.shutdown(Duration::from_secs(60)).await);
    assert_eq!(child_ends.seen(), [OutcomeRecord::Cancelled]);
    let thread = valid_thread(&store, "child-thread").await;
    let run = thread.run().unwrap();
    assert_eq!(run.outcome(), Some(&OutcomeRecord::Cancelled));
    assert_eq!(run.start().path, ["agent"], "the names of the agents above it");
}

/// A child that is cancelled by itself leaves its parent alone.
#[tokio::test]
async fn a_child_that_is_cancelled_does_not_cancel_its_parent() {
    let hold = Hold::new();
    let child = Agent::builder(scripted([call("slow", json!({}))]))
        .tool(hold.tool("slow"))
        .build()
        .unwrap();
    let delegate = {
        let child = child.clone();
        json_tool(spec("delegate"), move |_, context: ToolContext| {
            let child = child.clone();
            async move {
                let input = Input::new("do it").thread("child-thread").child_of(context.run());
                let outcome = child.run(input).await.map(|result| result.outcome);
                format!("{outcome:?}")
            }
        })
    };
    let model = scripted([call("delegate", json!({})), catena::testing::say("done")]);
    let parent = Agent::builder(model.clone()).tool(delegate).build().unwrap();
    let run = parent.start(Input::new("go").thread("t"));
    hold.reached().await;
    assert!(child.cancel(&"child-thread".into()).await.unwrap());
    assert_eq!(run.outcome().await.unwrap().outcome, Outcome::Done);
    assert_eq!(model.last_messages().last().unwrap().text(), "Ok(Cancelled)");
}
