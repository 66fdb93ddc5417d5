//! The JSON Schema of the file.

use std::sync::OnceLock;

use serde_json::{Map, Value as Json, json};

use crate::config::{Config, MiddlewareConfig};
use crate::registry::{Entry, Registry};
use crate::shape::ALIASES;
use schemars::{JsonSchema, SchemaGenerator};

/// The JSON Schema of the file, for editors: every key with its meaning and its default, every built-in middleware with its options.
pub fn schema() -> Json {
    of_registry(&Registry::builtin())
}

/// The schema that files are checked against. Options of middlewares are checked by those of their own.
pub(crate) fn of_file() -> &'static Json {
    static SCHEMA: OnceLock<Json> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(Config).to_value();
        tidy(&mut schema);
        if let Some(members) = schema.as_object_mut() {
            members.insert("title".into(), "catena configuration".into());
        }
        schema
    })
}

/// The schema of a file that may use these middlewares.
pub(crate) fn of_registry(registry: &Registry) -> Json {
    let mut schema = of_file().clone();
    let mut generator = SchemaGenerator::default();
    let entries: Vec<(&Entry, Json)> = registry
        .entries()
        .iter()
        .filter_map(|entry| Some((entry, entry.subschema(&mut generator)?)))
        .collect();
    let mut definitions = generator.take_definitions(true);
    definitions.values_mut().for_each(tidy);
    let instances: Vec<Json> = entries
        .iter()
        .map(|(entry, options)| instance(entry, options, &definitions))
        .collect();
    if let Some(all) = schema.pointer_mut("/$defs").and_then(Json::as_object_mut) {
        all.extend(definitions);
        let listed = all
            .get_mut(&*MiddlewareConfig::schema_name())
            .and_then(Json::as_object_mut);
        if let Some(listed) = listed.filter(|_| !instances.is_empty()) {
            listed.remove("properties");
            listed.remove("additionalProperties");
            listed.insert("oneOf".into(), instances.into());
        }
    }
    spread_aliases(&mut schema);
    schema
}

/// An entry of the list, with the options of that middleware beside `use` and `off`.
fn instance(entry: &Entry, options: &Json, definitions: &Map<String, Json>) -> Json {
    let name = options
        .get("$ref")
        .and_then(Json::as_str)
        .and_then(|reference| reference.rsplit('/').next());
    let of = name.and_then(|name| definitions.get(name)).unwrap_or(options);
    let mut properties = of
        .get("properties")
        .and_then(Json::as_object)
        .cloned()
        .unwrap_or_default();
    let names: Vec<&str> = entry.all_names().collect();
    properties.insert("use".into(), json!({ "enum": names, "description": entry.summary() }));
    properties.insert(
        "off".into(),
        json!({ "type": "boolean", "default": false, "description": "Takes it out of the chain." }),
    );
    let mut required = vec![Json::from("use")];
    required.extend(
        of.get("required")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .cloned(),
    );
    json!({
        "title": entry.name(),
        "description": entry.summary(),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": of.get("additionalProperties").cloned().unwrap_or(Json::Bool(true)),
    })
}

/// Makes what is derived from Rust types fit for TOML and for people: nothing can be null, and a required key has no default.
pub(crate) fn tidy(schema: &mut Json) {
    match schema {
        Json::Array(items) => items.iter_mut().for_each(tidy),
        Json::Object(members) => {
            without_null(members);
            if let Some(Json::String(text)) = members.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            if members.get("default").is_some_and(Json::is_null) {
                members.remove("default");
            }
            for key in required(members) {
                let property = members.get_mut("properties").and_then(|all| all.get_mut(key));
                if let Some(property) = property.and_then(Json::as_object_mut) {
                    property.remove("default");
                }
            }
            let schemas = members
                .iter_mut()
                .filter(|(key, _)| !["default", "const", "enum", "examples"].contains(&key.as_str()));
            schemas.for_each(|(_, value)| tidy(value));
        }
        _ => {}
    }
}

fn required(members: &Map<String, Json>) -> Vec<String> {
    let keys = members.get("required").and_then(Json::as_array).into_iter().flatten();
    keys.filter_map(|key| key.as_str().map(str::to_owned)).collect()
}

fn without_null(members: &mut Map<String, Json>) {
    if let Some(Json::Array(kinds)) = members.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            members.insert("type".into(), only);
        }
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Json::Array(several)) = members.get_mut(keyword) else {
            continue;
        };
        several.retain(|alternative| alternative.get("type").is_none_or(|kind| kind != "null"));
        if let [Json::Object(only)] = several.as_slice() {
            let only = only.clone();
            members.remove(keyword);
            for (key, value) in only {
                members.entry(key).or_insert(value);
            }
        }
    }
}

/// Editors know nothing of aliases: each becomes a key of its own.
fn spread_aliases(schema: &mut Json) {
    match schema {
        Json::Array(items) => items.iter_mut().for_each(spread_aliases),
        Json::Object(members) => {
            if let Some(Json::Object(properties)) = members.get_mut("properties") {
                let mut more = Vec::new();
                for (name, property) in properties.iter_mut() {
                    let aliases = property.as_object_mut().and_then(|of| of.remove(ALIASES));
                    for alias in aliases
                        .iter()
                        .filter_map(Json::as_array)
                        .flatten()
                        .filter_map(Json::as_str)
                    {
                        let mut copy = property.clone();
                        copy["description"] = format!("Another name of `{name}`.").into();
                        more.push((alias.to_owned(), copy));
                    }
                }
                properties.extend(more);
            }
            members.values_mut().for_each(spread_aliases);
        }
        _ => {}
    }
}
