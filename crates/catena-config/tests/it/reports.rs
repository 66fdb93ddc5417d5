//! What is said about a file with mistakes in it.

use expect_test::expect;

use crate::support::{check, parse};

#[test]
fn every_mistake_is_reported_at_once_and_in_order() {
    check(
        r#"
default_agent = "asistant"

[models.default]
model = "opnai:gpt-5-mini"
temprature = 0.3
context_window = "large"

[models.fast]
base_url = "http://localhost:1234"

[agents.assistant]
model = "defalt"
max_turns = 0
order = "random"
tools = ["web_fetch", 7]
subagents = ["researcher", "assistant"]
middleware = [{ use = "summarization" }, { off = true }]

[store]
url = "postgres://user:secret@host/db"
synchronous = false

[mcp.github]
command = ["github-mcp-server"]
"#,
        &expect![[r#"
            error: there is no agent `asistant`
             --> catena.toml:2:17
              |
            2 | default_agent = "asistant"
              |                 ^^^^^^^^^^
              = key: default_agent
              = help: did you mean `assistant`?

            error: there is no provider `opnai`
             --> catena.toml:5:9
              |
            5 | model = "opnai:gpt-5-mini"
              |         ^^^^^^^^^^^^^^^^^^
              = key: models.default.model
              = help: did you mean `openai`?

            error: unknown key `temprature`
             --> catena.toml:6:1
              |
            6 | temprature = 0.3
              | ^^^^^^^^^^
              = key: models.default.temprature
              = help: did you mean `temperature`?

            error: expected an integer, found a string
             --> catena.toml:7:18
              |
            7 | context_window = "large"
              |                  ^^^^^^^
              = key: models.default.context_window

            error: `model` is missing
             --> catena.toml:9:1
              |
            9 | [models.fast]
              | ^^^^^^^^^^^^^
              = key: models.fast
              = help: `model`: `provider:model`, such as `openai:gpt-5-mini` or `ollama:qwen3:4b`.

            error: there is no model `defalt`
              --> catena.toml:13:9
               |
            13 | model = "defalt"
               |         ^^^^^^^^
               = key: agents.assistant.model
               = help: did you mean `default`?

            error: must be at least 1, is 0
              --> catena.toml:14:13
               |
            14 | max_turns = 0
               |             ^
               = key: agents.assistant.max_turns

            error: expected `priority` or `listed`, found `random`
              --> catena.toml:15:9
               |
            15 | order = "random"
               |         ^^^^^^^^
               = key: agents.assistant.order

            error: there is no tool `web_fetch`
              --> catena.toml:16:10
               |
            16 | tools = ["web_fetch", 7]
               |          ^^^^^^^^^^^
               = key: agents.assistant.tools[0]
               = help: this build of catena has no tools to list; remove it

            error: expected a string, found an integer
              --> catena.toml:16:23
               |
            16 | tools = ["web_fetch", 7]
               |                       ^
               = key: agents.assistant.tools[1]

            error: there is no agent `researcher`
              --> catena.toml:17:14
               |
            17 | subagents = ["researcher", "assistant"]
               |              ^^^^^^^^^^^^
               = key: agents.assistant.subagents[0]

            error: agents delegate in a circle: assistant → assistant
              --> catena.toml:17:28
               |
            17 | subagents = ["researcher", "assistant"]
               |                            ^^^^^^^^^^^
               = key: agents.assistant.subagents[1]
               = help: take one of them out of `subagents`

            error: there is no middleware `summarization`
              --> catena.toml:18:23
               |
            18 | middleware = [{ use = "summarization" }, { off = true }]
               |                       ^^^^^^^^^^^^^^^
               = key: agents.assistant.middleware[0].use
               = help: this build of catena has no middlewares to list; remove it

            error: `use` is missing
              --> catena.toml:18:42
               |
            18 | middleware = [{ use = "summarization" }, { off = true }]
               |                                          ^^^^^^^^^^^^^^
               = key: agents.assistant.middleware[1]
               = help: `use`: Which middleware, by name. The same one may be listed several times.

            error: a store of kind `postgres` is not understood
              --> catena.toml:21:7
               |
            21 | url = "postgres://user:******@host/db"
               |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
               = key: store.url
               = help: write `sqlite://catena.db`, a path, or `sqlite::memory:`

            error: expected `full` or `normal`, found `false`
              --> catena.toml:22:15
               |
            22 | synchronous = false
               |               ^^^^^
               = key: store.synchronous

            error: unknown key `mcp`
              --> catena.toml:24:2
               |
            24 | [mcp.github]
               |  ^^^
               = key: mcp
               = help: there is `default_agent`, `models`, `agents`, `store`, `principals`"#]],
    );
}

#[test]
fn a_syntax_error_is_shown_like_any_other() {
    check(
        "[agents.assistant]\nprompt = \"unfinished\nmodel = \"x\"",
        &expect![[r#"
            error: not valid TOML: invalid basic string, expected `"`
             --> catena.toml:2:21
              |
            2 | prompt = "unfinished
              |                     ^"#]],
    );
    check(
        "[models.a]\nmodel = gpt\nmodel = \"x:y\"\n[models.a]\n",
        &expect![[r#"
        error: not valid TOML: string values must be quoted, expected literal string
         --> catena.toml:2:9
          |
        2 | model = gpt
          |         ^^^
          = help: put `"` around the text

        error: not valid TOML: duplicate key
         --> catena.toml:3:1
          |
        3 | model = "x:y"
          | ^^^^^
          = help: remove one of the two, or rename it

        error: not valid TOML: duplicate key
         --> catena.toml:4:9
          |
        4 | [models.a]
          |         ^
          = help: remove one of the two, or rename it"#]],
    );
    check(
        "[agents.assistant]\ntools = [\"a\", \"b\"\n[store]\nurl = \"x\"",
        &expect![[r#"
            error: not valid TOML: missing comma between array elements, expected `,`
             --> catena.toml:3:1
              |
            3 | [store]
              | ^"#]],
    );
}

#[test]
fn numbers_that_are_none_are_refused() {
    check(
        "[models.a]\nmodel = \"ollama:x\"\ntemperature = nan\nmax_tokens = 99999999999999999999\ncontext_window = -1\nmax_output = 1.5",
        &expect![[r#"
            error: expected a finite number
             --> catena.toml:3:15
              |
            3 | temperature = nan
              |               ^^^
              = key: models.a.temperature

            error: the integer does not fit into 64 bits
             --> catena.toml:4:14
              |
            4 | max_tokens = 99999999999999999999
              |              ^^^^^^^^^^^^^^^^^^^^
              = key: models.a.max_tokens

            error: must be at least 1, is -1
             --> catena.toml:5:18
              |
            5 | context_window = -1
              |                  ^^
              = key: models.a.context_window

            error: expected an integer, found a number with a fraction
             --> catena.toml:6:14
              |
            6 | max_output = 1.5
              |              ^^^
              = key: models.a.max_output"#]],
    );
}

#[test]
fn an_agent_that_could_have_several_models_has_to_say_which() {
    let models = "[models.a]\nmodel = \"ollama:x\"\n[models.b]\nmodel = \"ollama:y\"\n";
    check(
        &format!("{models}[agents.assistant]\nprompt = \"Hi.\""),
        &expect![[r#"
        error: agent `assistant` does not say which model it has, and there are several
         --> catena.toml:5:1
          |
        5 | [agents.assistant]
          | ^^^^^^^^^^^^^^^^^^
          = key: agents.assistant
          = help: write `model`, one of `a`, `b`; or name one of the models `default`"#]],
    );
    check(
        &format!("{models}[models.default]\nmodel = \"ollama:z\"\n[agents.assistant]"),
        &expect!["nothing is wrong"],
    );
    check(
        "[models.only]\nmodel = \"ollama:z\"\n[agents.assistant]",
        &expect!["nothing is wrong"],
    );
    check("[agents.assistant]\nmodel = \"ollama:z\"", &expect!["nothing is wrong"]);
    check(
        "[agents.assistant]\nmodel = \"olama:z\"",
        &expect![[r#"
        error: there is no provider `olama`
         --> catena.toml:2:9
          |
        2 | model = "olama:z"
          |         ^^^^^^^^^
          = key: agents.assistant.model
          = help: did you mean `ollama`?"#]],
    );
}

#[test]
fn a_model_that_is_wrong_in_itself_is_not_missing_too() {
    check(
        "[models]\nfast = 5\n[agents.assistant]\nmodel = \"fast\"",
        &expect![[r#"
            error: expected a table, found an integer
             --> catena.toml:2:8
              |
            2 | fast = 5
              |        ^
              = key: models.fast"#]],
    );
}

#[test]
fn agents_may_not_delegate_in_a_circle() {
    check(
        "[agents.a]\nsubagents = [\"b\"]\n[agents.b]\nsubagents = [\"c\"]\n[agents.c]\nsubagents = [\"a\"]",
        &expect![[r#"
            error: agents delegate in a circle: a → b → c → a
             --> catena.toml:2:14
              |
            2 | subagents = ["b"]
              |              ^^^
              = key: agents.a.subagents[0]
              = help: take one of them out of `subagents`"#]],
    );
}

#[test]
fn a_secret_in_the_file_is_refused_and_shown_nowhere() {
    let key = "sk-proj-abcdefghijklmnop";
    let text = format!(
        "[models.a]\nmodel = \"openai:x\"\napi_key = \"{key}\"\nheaders = {{ Authorization = \"Bearer {key}\" }}\n\
         [models.b]\nmodel = \"openai:x\"\napi_key_env = \"{key}\"\n[agents.a]\nmodel = \"a\"\nprompt = 5 # {key}\n"
    );
    let errors = parse(&text).unwrap_err();
    assert!(!format!("{errors}{errors:?}").contains("abcdef"));
    expect![[r#"
        error: the value of `api_key` looks like a secret; secrets do not belong into the file
         --> catena.toml:3:11
          |
        3 | api_key = "************************"
          |           ^^^^^^^^^^^^^^^^^^^^^^^^^^
          = key: models.a.api_key
          = help: put it into an environment variable and write `api_key_env = "NAME_OF_THE_VARIABLE"`; if the file was shared, replace the key

        error: the value of `Authorization` looks like a secret; secrets do not belong into the file
         --> catena.toml:4:29
          |
        4 | headers = { Authorization = "Bearer ************************" }
          |                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = key: models.a.headers.Authorization
          = help: put it into an environment variable and write `api_key_env = "NAME_OF_THE_VARIABLE"`; if the file was shared, replace the key

        error: the value of `api_key_env` looks like a secret; secrets do not belong into the file
         --> catena.toml:7:15
          |
        7 | api_key_env = "************************"
          |               ^^^^^^^^^^^^^^^^^^^^^^^^^^
          = key: models.b.api_key_env
          = help: put it into an environment variable and write `api_key_env = "NAME_OF_THE_VARIABLE"`; if the file was shared, replace the key

        error: expected a string, found an integer
          --> catena.toml:10:10
           |
        10 | prompt = 5 # ************************
           |          ^
           = key: agents.a.prompt"#]].assert_eq(&errors.to_string());

    let unfinished = parse(&format!("api_key = \"{key}")).unwrap_err();
    assert!(
        !format!("{unfinished}{unfinished:?}").contains("abcdef"),
        "{unfinished}"
    );
}

#[test]
fn the_name_of_a_variable_is_no_secret_and_a_value_is_no_name() {
    check(
        "[models.a]\nmodel = \"openai:x\"\napi_key_env = \"MY_TEAMS_OPENAI_API_KEY_FOR_TESTS_01\"",
        &expect!["nothing is wrong"],
    );
    check(
        "[models.a]\nmodel = \"openai:x\"\napi_key_env = \"not a name\"",
        &expect![[r#"
            error: `not a name` is not the name of an environment variable
             --> catena.toml:3:15
              |
            3 | api_key_env = "not a name"
              |               ^^^^^^^^^^^^
              = key: models.a.api_key_env
              = help: write the name of the variable that holds the key, such as `OPENAI_API_KEY`, not the key"#]],
    );
}

#[test]
fn what_a_form_of_answer_must_be_is_said_at_its_place() {
    check(
        "[agents.a]\noutput = \"missing.json\"",
        &expect![[r#"
        error: the schema `missing.json` cannot be read: No such file or directory (os error 2)
         --> catena.toml:2:10
          |
        2 | output = "missing.json"
          |          ^^^^^^^^^^^^^^
          = key: agents.a.output"#]],
    );
    check(
        "[agents.a]\noutput = { type = \"array\" }",
        &expect![[r#"
        error: an answer is a JSON object, so its schema must have `type = "object"`
         --> catena.toml:2:10
          |
        2 | output = { type = "array" }
          |          ^^^^^^^^^^^^^^^^^^
          = key: agents.a.output"#]],
    );
    check(
        "[agents.a]\noutput = { type = \"object\", properties = { n = { type = \"integr\" } } }",
        &expect![[r#"
            error: the schema of tool `answer` is not valid: "integr" is not valid under any of the schemas listed in the 'anyOf' keyword
             --> catena.toml:2:10
              |
            2 | output = { type = "object", properties = { n = { type = "integr" } } }
              |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              = key: agents.a.output"#]],
    );
    check(
        "[agents.a]\noutput = 5",
        &expect![[r#"
        error: expected a string or a table, found an integer
         --> catena.toml:2:10
          |
        2 | output = 5
          |          ^
          = key: agents.a.output"#]],
    );
    check(
        "[agents.a]\noutput = { type = \"object\", properties = { n = { type = \"integer\" } } }",
        &expect!["nothing is wrong"],
    );
}

/// The example of the design: what does not exist yet is named, and nothing else is wrong.
#[test]
fn the_example_of_the_readme_is_understood() {
    let text = r#"
[models.default]
model = "openai:gpt-5-mini"          # provider:model; base_url, api_key_env, context_window, extra
[models.fast]
model = "ollama:qwen3:4b"

[agents.assistant]
model = "default"
prompt = "You help the people of this team."
subagents = ["researcher"]
[agents.researcher]
model = "fast"
description = "Reads the web."
max_turns = 12
[store]
url = "sqlite://catena.db"            # or postgres://…
"#;
    let config = parse(text).unwrap();
    assert_eq!(config.agent_name(None).unwrap(), "assistant");
    let later = r#"tools = ["web_fetch", "mcp:github"]
middleware = [                        # priority order; write order = "listed" on the agent for LangChain's
  { use = "summarization", model = "fast", trigger = { tokens = 60000 }, keep = { messages = 20 } },
  { use = "human_in_the_loop", interrupt_on = { send_email = true } },
  { use = "tool_call_limit", tool_name = "search", run_limit = 3 },
  { use = "pii", pii_type = "email", strategy = "redact" },
]
[mcp.github]
command = ["github-mcp-server", "stdio"]
"#;
    let errors = parse(&text.replace("subagents", &format!("{later}[agents.writer]\nsubagents"))).unwrap_err();
    let keys: Vec<&str> = errors.problems().iter().map(|problem| problem.key.as_str()).collect();
    expect![[r#"
        agents.assistant.tools[0]
        agents.assistant.tools[1]
        agents.assistant.middleware[0].use
        agents.assistant.middleware[1].use
        agents.assistant.middleware[2].use
        agents.assistant.middleware[3].use
        mcp"#]]
    .assert_eq(&keys.join("\n"));
}
