//! The published schema.

use catena_config::schema;
use expect_test::expect_file;
use serde_json::Value;

use crate::middlewares::registry;

#[test]
fn the_schema_is_as_published() {
    expect_file!["schema.json"].assert_eq(&(serde_json::to_string_pretty(&schema()).unwrap() + "\n"));
}

#[test]
fn every_key_says_what_it_is_for() {
    fn walk(schema: &Value, path: &str, silent: &mut Vec<String>) {
        for (name, property) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            if !property["description"].is_string() {
                silent.push(format!("{path}.{name}"));
            }
        }
        for (name, definition) in schema.get("$defs").and_then(Value::as_object).into_iter().flatten() {
            walk(definition, name, silent);
        }
    }
    let mut silent = Vec::new();
    walk(&schema(), "", &mut silent);
    assert_eq!(silent, Vec::<String>::new());
    let text = schema().to_string();
    assert!(!text.contains("[`") && !text.contains("null"), "{text}");
}

#[test]
fn the_schema_holds_for_files_and_knows_the_options_of_middlewares() {
    let schema = registry().schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let fits =
        |text: &str| validator.is_valid(&serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap());
    assert!(fits(
        "[agents.a]\nmiddleware = [{ use = \"greeting\", text = \"Hi.\" }, { use = \"greet\", off = true, words = \"x\" }]"
    ));
    assert!(!fits(
        "[agents.a]\nmiddleware = [{ use = \"greeting\", texts = \"Hi.\" }]"
    ));
    assert!(!fits("[agents.a]\nmiddleware = [{ use = \"other\" }]"));
    assert!(!fits("[models.a]\ntemperature = 1"));
}

#[test]
fn everything_that_a_provider_can_be_told_has_a_key() {
    let provider = schemars::schema_for!(catena_models::providers::ProviderSpec).to_value();
    let keys = &schema()["$defs"]["ModelConfig"]["properties"];
    for (key, _) in provider["properties"].as_object().unwrap() {
        assert!(keys.get(key).is_some(), "{key}");
    }
}
