//! The middleware of the README does what the README says.

use catena::message::ToolCall;
use catena::prelude::*;
use catena::testing::{calls, say, scripted};
use serde_json::{Value, json};

struct WeatherLimit;

#[middleware]
impl Middleware for WeatherLimit {
    fn name(&self) -> &str {
        "weather_limit"
    }

    async fn before_tool_call(&self, turn: &Turn, call: &ToolCall) -> Result<ToolDecision> {
        let before = turn.run().counts().run.executed("weather") as usize;
        let now = turn.calls().allowed(Some("weather"));
        if call.name == "weather" && before + now >= 3 {
            return Ok(ToolDecision::block("the weather was looked up three times already"));
        }
        Ok(ToolDecision::Allow)
    }
}

#[tokio::test]
async fn the_limit_of_the_readme_holds_within_a_message_and_between_messages() {
    let weather = catena::tool::ToolSpec::new("weather", "", Value::Null);
    let weather = catena::tool::json_tool(weather, |_, _| async { "sunny" });
    let twice = || calls((0..2).map(|_| ("weather", json!({}))));
    let model = scripted([twice(), twice(), say("enough")]);
    let agent = Agent::builder(model.clone())
        .tool(weather)
        .with(WeatherLimit)
        .build()
        .unwrap();
    assert_eq!(agent.run("go").await.unwrap().executed("weather"), 3);
    assert_eq!(
        model.last_messages().last().unwrap().text(),
        "the weather was looked up three times already"
    );
}
