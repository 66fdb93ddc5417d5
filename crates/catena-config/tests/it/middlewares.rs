//! Middlewares by name. catena's own come later; these exist only here.

use std::sync::Arc;

use catena_config::{BuildContext, Entry, OptionError, Registry, build};
use catena_core::context::Turn;
use catena_core::middleware::{Flow, Middleware, Priority, middleware};
use catena_core::prompt::{Stability, Trusted};
use expect_test::{Expect, expect};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::support::{check_with, parse_with, setup};

#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct GreetingOptions {
    /// What is said.
    #[serde(alias = "words")]
    #[schemars(extend("x-aliases" = ["words"]))]
    text: String,
    /// How often.
    times: u8,
    /// Whom to ask for a better one.
    model: Option<String>,
}

impl Default for GreetingOptions {
    fn default() -> Self {
        Self {
            text: "Say hello.".into(),
            times: 1,
            model: None,
        }
    }
}

/// Adds a text to the prompt.
struct Prompted {
    name: String,
    text: String,
    priority: u16,
}

#[middleware]
impl Middleware for Prompted {
    fn name(&self) -> &str {
        &self.name
    }
    fn priority(&self) -> Priority {
        Priority(self.priority)
    }
    async fn before_model(&self, turn: &mut Turn) -> catena_core::Result<Flow> {
        turn.request
            .prompt
            .push(&*self.name, Stability::Static, Trusted(self.text.clone()));
        Ok(Flow::Continue)
    }
}

fn greeting(options: GreetingOptions, context: &mut BuildContext<'_>) -> Result<Arc<dyn Middleware>, OptionError> {
    if options.times == 0 {
        return Err(OptionError::new("a greeting that is never said is none")
            .key("times")
            .help("leave it out"));
    }
    if let Some(model) = &options.model {
        context.model("model", model)?;
    }
    let name = match options.text.as_str() {
        "Say hello." => "greeting".to_owned(),
        text => format!(
            "greeting:{}",
            text.split(' ').next().unwrap_or_default().trim_end_matches('.')
        ),
    };
    Ok(Arc::new(Prompted {
        name,
        text: options.text,
        priority: 140,
    }))
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn guard(_: Nothing, _: &mut BuildContext<'_>) -> Result<Arc<dyn Middleware>, OptionError> {
    Ok(Arc::new(Prompted {
        name: "guard".into(),
        text: "Be careful.".into(),
        priority: 400,
    }))
}

/// Three middlewares: one anybody may list, one of the base that keeps the agent safe, one that is not there.
pub(crate) fn registry() -> Registry {
    Registry::builtin()
        .with(Entry::new("greeting", Priority(140), "Says what to say first.", greeting).aliases(&["greet"]))
        .with(
            Entry::new("guard", Priority(400), "Keeps the agent careful.", guard)
                .in_base()
                .safety(),
        )
        .with(Entry::unavailable(
            "oracle",
            Priority(90),
            "Knows the future.",
            "this program is built without it",
        ))
}

fn check(text: &str, expected: &Expect) {
    check_with(text, registry(), expected);
}

/// The chain of the agent `a`, or what is wrong.
async fn check_chain(text: &str, expected: &Expect) {
    let here = tempfile::tempdir().unwrap();
    let (setup, _) = setup(here.path());
    let said = match build(&parse_with(text, registry()).unwrap(), "a", &setup).await {
        Ok(built) => built.report.to_string(),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&said);
}

#[test]
fn each_listed_middleware_is_checked_on_its_own() {
    check(
        r#"[agents.a]
middleware = [
  { use = "greetin" },
  { use = "greeting", text = 5, tims = 2 },
  { use = "greet", times = 300 },
  "greeting",
  { use = "oracle" },
  { use = "oracle", off = true },
  { use = "guard", off = true },
  { text = "Hi." },
]
[[agents.b.middleware]]
use = "greeting"
wrods = "Hi."
"#,
        &expect![[r#"
            error: there is no middleware `greetin`
             --> catena.toml:3:11
              |
            3 |   { use = "greetin" },
              |           ^^^^^^^^^
              = key: agents.a.middleware[0].use
              = help: did you mean `greeting`?

            error: expected a string, found an integer
             --> catena.toml:4:30
              |
            4 |   { use = "greeting", text = 5, tims = 2 },
              |                              ^
              = key: agents.a.middleware[1].text

            error: unknown key `tims`
             --> catena.toml:4:33
              |
            4 |   { use = "greeting", text = 5, tims = 2 },
              |                                 ^^^^
              = key: agents.a.middleware[1].tims
              = help: did you mean `times`?

            error: must be at most 255, is 300
             --> catena.toml:5:28
              |
            5 |   { use = "greet", times = 300 },
              |                            ^^^
              = key: agents.a.middleware[2].times

            error: expected a table, found a string
             --> catena.toml:6:3
              |
            6 |   "greeting",
              |   ^^^^^^^^^^
              = key: agents.a.middleware[3]

            error: middleware `oracle` is not available: this program is built without it
             --> catena.toml:7:11
              |
            7 |   { use = "oracle" },
              |           ^^^^^^^^
              = key: agents.a.middleware[4].use

            error: `guard` keeps the agent safe and may not be switched off
             --> catena.toml:9:26
              |
            9 |   { use = "guard", off = true },
              |                          ^^^^
              = key: agents.a.middleware[6].off
              = help: if that is meant, write `allow_unsafe = true` on the agent

            error: `use` is missing
              --> catena.toml:10:3
               |
            10 |   { text = "Hi." },
               |   ^^^^^^^^^^^^^^^^
               = key: agents.a.middleware[7]
               = help: `use`: Which middleware, by name. The same one may be listed several times.

            error: unknown key `wrods`
              --> catena.toml:14:1
               |
            14 | wrods = "Hi."
               | ^^^^^
               = key: agents.b.middleware[0].wrods
               = help: did you mean `words`?"#]],
    );
}

#[tokio::test]
async fn the_base_is_there_and_what_is_off_says_why() {
    check_chain(
        "[agents.a]",
        &expect![[r#"
        priority  middleware  wave  band          hooks
             400  guard             safety        before_model
               -  oracle                          off: not available: this program is built without it
               -  greeting                        off: not listed
    "#]],
    )
    .await;
    check_chain(
        "[agents.a]\nbase = false\nmiddleware = [{ use = \"greet\" }]",
        &expect![[r#"
            priority  middleware  wave  band          hooks
                 140  greeting          context       before_model
                   -  oracle                          off: not available: this program is built without it
                   -  guard                           off: not listed, and the base is left out
        "#]],
    )
    .await;
    check_chain(
        "[agents.a]\nallow_unsafe = true\nmiddleware = [{ use = \"guard\", off = true }, { use = \"greeting\", off = true }]",
        &expect![[r#"
            priority  middleware  wave  band          hooks
                   -  oracle                          off: not available: this program is built without it
                   -  greeting                        off: `off = true`
                   -  guard                           off: `off = true`
        "#]],
    )
    .await;
}

#[tokio::test]
async fn one_may_be_listed_several_times_if_the_names_differ() {
    let two = |second: &str| {
        format!(
            "[agents.a]\nmiddleware = [{{ use = \"greeting\" }}, {{ use = \"guard\" }}, {{ use = \"greeting\", words = \"{second}\" }}]"
        )
    };
    check_chain(
        &two("Smile."),
        &expect![[r#"
        priority  middleware      wave  band          hooks
             140  greeting              context       before_model
             140  greeting:Smile        context       before_model
             400  guard                 safety        before_model
               -  oracle                              off: not available: this program is built without it
    "#]],
    )
    .await;
    check_chain(
        &two("Say hello."),
        &expect![[r#"
        error: 2 middlewares are named `greeting`; give each a name of its own
         --> catena.toml:2:14
          |
        2 | middleware = [{ use = "greeting" }, { use = "guard" }, { use = "greeting", words = "Say hello." }]
          |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = key: agents.a.middleware"#]],
    )
    .await;
}

#[tokio::test]
async fn listed_order_is_the_order_of_the_file() {
    check_chain(
        "[agents.a]\norder = \"listed\"\nmiddleware = [{ use = \"guard\" }, { use = \"greeting\" }]",
        &expect![[r#"
            priority  middleware  wave  band          hooks
                 400  guard             safety        before_model
                 140  greeting          context       before_model
                   -  oracle                          off: not available: this program is built without it
        "#]],
    )
    .await;
}

#[tokio::test]
async fn what_a_middleware_refuses_is_shown_at_its_key() {
    check_chain(
        r#"[models.default]
model = "ollama:x"
[models.fast]
model = "openai:gpt-5-nano"
[agents.a]
middleware = [
  { use = "greeting", times = 0 },
  { use = "greeting", model = "fsat" },
  { use = "greeting", model = "fast" },
  { use = "greeting", model = "anthropic:x" },
]
"#,
        &expect![[r#"
            error: provider `openai` needs a key: set the environment variable OPENAI_API_KEY
             --> catena.toml:4:9
              |
            4 | model = "openai:gpt-5-nano"
              |         ^^^^^^^^^^^^^^^^^^^
              = key: models.fast.model
              = help: run `export OPENAI_API_KEY=…` before catena, or name another variable with `api_key_env`

            error: middleware `greeting`: a greeting that is never said is none
             --> catena.toml:7:31
              |
            7 |   { use = "greeting", times = 0 },
              |                               ^
              = key: agents.a.middleware[0].times
              = help: leave it out

            error: middleware `greeting`: there is no model `fsat`
             --> catena.toml:8:31
              |
            8 |   { use = "greeting", model = "fsat" },
              |                               ^^^^^^
              = key: agents.a.middleware[1].model
              = help: did you mean `fast`?

            error: middleware `greeting`: provider `anthropic` needs a key: set the environment variable ANTHROPIC_API_KEY
              --> catena.toml:10:31
               |
            10 |   { use = "greeting", model = "anthropic:x" },
               |                               ^^^^^^^^^^^^^
               = key: agents.a.middleware[3].model"#]],
    )
    .await;
}

#[tokio::test]
async fn what_is_built_runs() {
    let here = tempfile::tempdir().unwrap();
    let (setup, model) = setup(here.path());
    let text = "[agents.a]\nprompt = \"You are kind.\"\nmiddleware = [{ use = \"greeting\" }]";
    let built = build(&parse_with(text, registry()).unwrap(), "a", &setup)
        .await
        .unwrap();
    built.agent.run("hi").await.unwrap();
    assert_eq!(
        model.requests()[0].prompt.render(),
        "You are kind.\n\nSay hello.\n\nBe careful."
    );
}
