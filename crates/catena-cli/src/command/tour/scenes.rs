//! The scenes of the tour, in order.

use catena_core::Resume;
use catena_core::interrupt::InterruptRequest;
use catena_core::middleware::{Middleware, ToolDecision, gate_fn};
use serde_json::json;

use super::stage::{Stage, call, say, thread};
use super::{READ, doomed, heading, pause, yours};
use crate::ask::{self, Lines};
use crate::error::Result;
use crate::render::question::question;

/// How many scenes there are.
const SCENES: usize = 8;

/// Plays them all.
///
/// # Errors
/// `Cancelled` if the person has seen enough; a scene that does not show what it is there for.
pub(super) async fn play(stage: &Stage, lines: Option<Lines>) -> Result<()> {
    let output = &stage.output;
    output.note_line(&output.paint.bold("A tour of catena"));
    output.prose(
        "An agent is a model, some tools, and a chain of middleware. In this tour the model's words come from a script; \
         everything else is real: the loop, the tools, the guards, the journal, and a process that gets killed.",
    );
    answer(stage).await?;
    tool(stage).await?;
    parallel(stage).await?;
    approval(stage, lines).await?;
    guard(stage).await?;
    limit(stage).await?;
    kill(stage).await?;
    journal(stage).await?;
    output.note("\n");
    output.prose(
        "That is catena so far. Next: `catena chat --local` for a real, very small model on this machine, \
         or `catena chat` with a provider's key in the environment.",
    );
    Ok(())
}

async fn begin(stage: &Stage, number: usize, title: &str, why: &str) -> Result<()> {
    heading(&stage.output, number, SCENES, title, why);
    pause(stage, READ).await
}

async fn answer(stage: &Stage) -> Result<()> {
    begin(
        stage,
        1,
        "An answer",
        "A question goes in, words come out as they are written. The model begins with a plan.",
    )
    .await?;
    let lines = vec![say(
        "My plan: first I count something with a tool, then I look three things up at once, then I write a note, if you let me. \
         After that I shall try something forbidden, and then I get killed.",
    )];
    let agent = stage.agent(lines, stage.store().await?).build()?;
    stage
        .ask(&agent, "What are we going to see?", thread("answer").as_str())
        .await?;
    yours(
        &stage.output,
        "catena run \"your question\"    or a conversation: catena chat",
    );
    Ok(())
}

async fn tool(stage: &Stage) -> Result<()> {
    begin(
        stage,
        2,
        "A tool",
        "Models are bad at counting, so this one calls a tool. Its input is checked against a schema first.",
    )
    .await?;
    let text = "the quick brown fox jumps over the lazy dog";
    let lines = vec![
        call("I would rather not guess.", &[("count_words", json!({"text": text}))]),
        say("Nine words."),
    ];
    let agent = stage.agent(lines, stage.store().await?).build()?;
    stage
        .ask(
            &agent,
            &format!("How many words are in \"{text}\"?"),
            thread("tool").as_str(),
        )
        .await?;
    yours(
        &stage.output,
        "a function in Rust (`tool_fn`); built-in tools come with the next version",
    );
    Ok(())
}

async fn parallel(stage: &Stage) -> Result<()> {
    begin(
        stage,
        3,
        "Calls side by side",
        "Three look-ups of 0.4 seconds each, asked for in one message. They run at once; the model gets \
         their results in the order of its calls.",
    )
    .await?;
    let city = |name: &str| ("look_up", json!({"city": name}));
    let lines = vec![
        call("", &[city("Nairobi"), city("Lima"), city("Oslo")]),
        say("Nairobi is the highest of the three, and nine o'clock there is one in the night in Lima."),
    ];
    let agent = stage.agent(lines, stage.store().await?).build()?;
    stage
        .ask(&agent, "Compare Nairobi, Lima and Oslo.", thread("parallel").as_str())
        .await?;
    yours(&stage.output, "nothing to do; parallel_tools in catena.toml bounds it");
    Ok(())
}

/// The gate of the approval scene: notes are written only if a person lets them.
fn ask_first() -> impl Middleware {
    gate_fn("ask_first", |_turn, call| {
        Ok(match &*call.name {
            "write_note" => {
                ToolDecision::Interrupt(InterruptRequest::approval("The agent wants to write a file. May it?"))
            }
            _ => ToolDecision::Allow,
        })
    })
}

async fn approval(stage: &Stage, lines: Option<Lines>) -> Result<()> {
    begin(stage, 4, "A question to you", "A gate in the chain asks a person before a file is written. The run stops, is kept, and goes on with the answer.").await?;
    let script = vec![
        call(
            "",
            &[(
                "write_note",
                json!({"file": "note.txt", "text": "Nairobi 1,795 m, Lima 154 m, Oslo 23 m"}),
            )],
        ),
        say("That was your decision, and I have it in my record."),
    ];
    let agent = stage.agent(script, stage.store().await?).with(ask_first()).build()?;
    let id = thread("approval");
    let mut pauses = stage.ask(&agent, "Write these heights down.", id.as_str()).await?;
    if pauses.is_empty() {
        return Err(stage.failed("nobody was asked"));
    }
    let mut lines = lines;
    while !pauses.is_empty() {
        let resume = Resume::thread(id.clone());
        let resume = match &mut lines {
            Some(lines) => {
                // Whoever would rather not decide has seen enough.
                let decided = ask::decide(&stage.output, lines, &pauses).await?;
                let answers = decided.ok_or(catena_core::Error::Cancelled)?;
                answers
                    .into_iter()
                    .fold(resume, |resume, answer| resume.answer(answer.pause, answer.decision))
            }
            None => {
                for pause in &pauses {
                    stage.output.note(&question(pause, stage.output.paint));
                }
                stage.output.hint("(nobody is here to decide, so the tour approves)");
                resume.approve_all()
            }
        };
        pauses = stage.resume(&agent, resume).await?;
    }
    yours(
        &stage.output,
        "catena chat asks you; for programs: catena resume --thread ID --decisions FILE (or --approve-all)",
    );
    Ok(())
}

/// The gate of the guard scene: nothing is deleted.
fn keep_files() -> impl Middleware {
    gate_fn("keep_files", |_turn, call| {
        Ok(match &*call.name {
            "delete_files" => ToolDecision::block(
                "refused: files are never deleted here; say what should be deleted and leave it to a person",
            ),
            _ => ToolDecision::Allow,
        })
    })
}

async fn guard(stage: &Stage) -> Result<()> {
    begin(stage, 5, "A guard", "Another gate refuses what must not happen, whoever asks. The tool is never started, and the model is told why.").await?;
    let lines = vec![
        call("", &[("delete_files", json!({"path": "/"}))]),
        say("I may not do that. If you want it gone, you have to delete it yourself."),
    ];
    let agent = stage.agent(lines, stage.store().await?).with(keep_files()).build()?;
    stage
        .ask(&agent, "Clean up: delete everything.", thread("guard").as_str())
        .await?;
    yours(
        &stage.output,
        "a gate is ten lines of Rust; built-in ones come with the next version",
    );
    Ok(())
}

async fn limit(stage: &Stage) -> Result<()> {
    begin(
        stage,
        6,
        "A limit",
        "A model can go round in circles. After two turns this one gets one last answer, without tools.",
    )
    .await?;
    let again = || call("", &[("look_up", json!({"city": "Atlantis"}))]);
    let lines = vec![
        again(),
        again(),
        say("I looked twice and did not find Atlantis, so I stop here."),
    ];
    let agent = stage.agent(lines, stage.store().await?).max_turns(2).build()?;
    stage
        .ask(&agent, "How high is Atlantis?", thread("limit").as_str())
        .await?;
    yours(&stage.output, "max_turns = 50 is the default; change it in catena.toml");
    Ok(())
}

async fn kill(stage: &Stage) -> Result<()> {
    begin(
        stage,
        7,
        "A kill, and back",
        "Now a second catena runs two tools and is killed (SIGKILL) while the second one works. Everything is journalled \
         before it is acted upon, so this process can take over where that one stopped.",
    )
    .await?;
    doomed::scene(stage).await?;
    yours(&stage.output, "catena resume --thread ID");
    Ok(())
}

async fn journal(stage: &Stage) -> Result<()> {
    begin(
        stage,
        8,
        "The record",
        "Nothing that was said is ever rewritten. A thread can be read in full, copied from any message, exported.",
    )
    .await?;
    let store = stage.store().await?;
    let thread = crate::threads::read(store.as_ref(), &thread("doomed")).await?;
    let totals = thread.totals();
    stage.output.note_line(&format!(
        "The thread of the kill has {} entries: {} messages, {} model turns, {} tool calls that ran.",
        thread.length(),
        thread.messages().len(),
        totals.turns,
        totals.executed_total()
    ));
    yours(
        &stage.output,
        "catena threads list, then catena threads show last --record",
    );
    Ok(())
}
