//! What is written and read again is the same.

use catena_config::{AgentConfig, Config, ModelConfig, StoreConfig};
use serde_json::{Value, to_value};

use crate::support::parse;

fn same(config: &Config) {
    let text = toml::to_string(config).unwrap();
    let again = parse(&text).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    assert_eq!(to_value(config).unwrap(), to_value(&again).unwrap(), "{text}");
}

#[test]
fn defaults_survive() {
    same(&Config::sensible());
    let mut config = Config::default();
    config.models.insert("a".into(), ModelConfig::new("ollama:x"));
    config.agents.insert("b".into(), AgentConfig::default());
    same(&config);
}

#[test]
fn an_empty_file_is_what_is_sensible_without_one() {
    assert_eq!(
        to_value(parse("").unwrap()).unwrap(),
        to_value(Config::sensible()).unwrap()
    );
    assert_eq!(parse("[store]").unwrap().store, StoreConfig::default());
}

#[test]
fn everything_that_can_be_written_survives() {
    let text = r#"
default_agent = "a"
[models.m]
model = "compatible:x"
base_url = "http://localhost:1/v1"
api_key_env = "KEY"
context_window = 1
max_output = 2
images = true
prefill = true
temperature = 0.5
max_tokens = 3
extra = { seed = 1, nested = { list = [1, "a", true] } }
headers = { x-trace = "1" }
limits = { connect_ms = 1, first_byte_ms = 2, idle_ms = 3 }
[agents.a]
model = "m"
prompt = "p"
description = "d"
subagents = ["b"]
order = "listed"
base = false
compat = "deepagents"
allow_unsafe = true
max_turns = 4
on_max_turns = "error"
parallel_tools = 5
output = { type = "object", properties = { n = { type = "integer" } } }
[agents.b]
[store]
url = "sqlite::memory:"
synchronous = "normal"
busy_timeout_ms = 6
[principals.me]
user = "me@example.org"
tenant = "t"
department = "d"
roles = ["admin"]
"#;
    let config = parse(text).unwrap();
    same(&config);
    let written = to_value(&config).unwrap();
    let read: Value = to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
    assert_eq!(written["models"]["m"], read["models"]["m"]);
    assert_eq!(written["agents"]["a"], read["agents"]["a"]);
    assert_eq!(written["principals"], read["principals"]);
}
