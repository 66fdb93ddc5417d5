//! A person's decisions about what a run asks.

use catena_core::interrupt::{Answer, Decision, DecisionKind, Pause};
use serde_json::Value;

use super::lines::{Line, Lines};
use crate::error::Result;
use crate::output::Output;
use crate::render::clean;
use crate::render::question::{question, word};

/// Asks each question in turn; none if the person would rather not answer now.
///
/// # Errors
/// If nothing can be read from the person.
pub(crate) async fn decide(output: &Output, lines: &mut Lines, pauses: &[Pause]) -> Result<Option<Vec<Answer>>> {
    let mut answers = Vec::with_capacity(pauses.len());
    for (index, pause) in pauses.iter().enumerate() {
        if pauses.len() > 1 {
            output.hint(&format!("question {} of {}", index + 1, pauses.len()));
        }
        output.note(&question(pause, output.paint));
        lines.forget_typed();
        let Some(decision) = one(output, lines, pause).await? else {
            return Ok(None);
        };
        answers.push(Answer {
            pause: pause.id.clone(),
            decision,
        });
    }
    Ok(Some(answers))
}

/// Asks until the answer is one that the question takes.
async fn one(output: &Output, lines: &mut Lines, pause: &Pause) -> Result<Option<Decision>> {
    let allowed = &pause.request.allowed;
    // A question that only takes words needs no menu, and there is none to go back to.
    let only_words = allowed[..] == [DecisionKind::Respond];
    loop {
        let kind = if only_words {
            DecisionKind::Respond
        } else {
            let Line::Text(typed) = lines.answer(&menu(allowed), "").await? else {
                return Ok(None);
            };
            match choice(&typed, allowed) {
                Some(kind) => kind,
                None => {
                    output.hint("type one of the words, or its letter; Ctrl-C leaves the question open");
                    continue;
                }
            }
        };
        match detailed(output, lines, pause, kind).await? {
            Detail::Decided(decision) => return Ok(Some(decision)),
            Detail::Back if only_words => return Ok(None),
            Detail::Back => {}
            Detail::End => return Ok(None),
        }
    }
}

/// How the second half of a decision ended.
enum Detail {
    Decided(Decision),
    /// Ctrl-C: another decision may be taken.
    Back,
    /// Nobody is there any more.
    End,
}

/// What belongs to a decision of this kind, asked for until it fits.
async fn detailed(output: &Output, lines: &mut Lines, pause: &Pause, kind: DecisionKind) -> Result<Detail> {
    let (prompt, mut initial) = match kind {
        DecisionKind::Approve => return Ok(Detail::Decided(Decision::Approve)),
        DecisionKind::Reject => ("why, for the model (or nothing)› ", String::new()),
        DecisionKind::Edit => ("input› ", pause.input.to_string()),
        DecisionKind::Respond => ("answer› ", String::new()),
    };
    loop {
        let typed = match lines.answer(prompt, &initial).await? {
            Line::Text(typed) => typed,
            Line::Interrupted => return Ok(Detail::Back),
            Line::End => return Ok(Detail::End),
        };
        let decision = match kind {
            DecisionKind::Edit => edited(&typed),
            DecisionKind::Respond => Ok(response(pause, typed.clone())),
            _ => Ok(Decision::Reject {
                message: Some(typed.trim().to_owned()).filter(|why| !why.is_empty()),
            }),
        };
        match decision.and_then(|decision| pause.check(&decision).map(|()| decision)) {
            Ok(decision) => return Ok(Detail::Decided(decision)),
            Err(problem) => output.note_line(&output.paint.yellow(&clean(&problem))),
        }
        // What was typed can be mended.
        initial = typed;
    }
}

/// `[a]pprove, [e]dit, [r]eject› `
fn menu(allowed: &[DecisionKind]) -> String {
    let words: Vec<_> = allowed.iter().map(|kind| marked(*kind)).collect();
    format!("{}› ", words.join(", "))
}

fn marked(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Approve => "[a]pprove",
        DecisionKind::Edit => "[e]dit",
        DecisionKind::Reject => "[r]eject",
        DecisionKind::Respond => "re[s]pond",
    }
}

/// The decision that is meant. Nothing is meant by an empty line: what a run does must be said.
fn choice(typed: &str, allowed: &[DecisionKind]) -> Option<DecisionKind> {
    let typed = typed.trim().to_lowercase();
    allowed.iter().copied().find(|kind| {
        let letter = match kind {
            DecisionKind::Approve => "a",
            DecisionKind::Edit => "e",
            DecisionKind::Reject => "r",
            DecisionKind::Respond => "s",
        };
        typed == letter
            || typed == word(*kind)
            || (*kind == DecisionKind::Approve && matches!(&*typed, "y" | "yes"))
            || (*kind == DecisionKind::Reject && matches!(&*typed, "n" | "no"))
    })
}

fn edited(input: &str) -> Result<Decision, String> {
    match serde_json::from_str::<Value>(input) {
        Ok(input) => Ok(Decision::Edit { name: None, input }),
        Err(error) => Err(format!("the input is not JSON: {error}")),
    }
}

/// Words, unless the question wants something else and the words are that in JSON.
fn response(pause: &Pause, words: String) -> Decision {
    let as_words = Decision::Respond {
        value: Value::String(words.clone()),
    };
    match (pause.check(&as_words), serde_json::from_str::<Value>(&words)) {
        (Err(_), Ok(value)) => Decision::Respond { value },
        _ => as_words,
    }
}

#[cfg(test)]
mod tests {
    use catena_core::interrupt::{Asker, InterruptRequest};
    use serde_json::json;

    use super::*;

    #[test]
    fn letters_words_and_habits_are_understood_if_they_are_allowed() {
        let allowed = [DecisionKind::Approve, DecisionKind::Reject];
        assert_eq!(choice(" A ", &allowed), Some(DecisionKind::Approve));
        assert_eq!(choice("yes", &allowed), Some(DecisionKind::Approve));
        assert_eq!(choice("n", &allowed), Some(DecisionKind::Reject));
        assert_eq!(choice("edit", &allowed), None);
        assert_eq!(choice("", &allowed), None);
        assert_eq!(menu(&allowed), "[a]pprove, [r]eject› ");
    }

    #[test]
    fn an_answer_is_words_unless_the_question_wants_more() {
        let pause = |schema: Value| Pause {
            id: "p".into(),
            call: "c".into(),
            tool: "ask".into(),
            input: json!({}),
            asked_by: Asker::Tool,
            request: InterruptRequest::question("how many?").answer_schema(schema),
        };
        assert_eq!(
            response(&pause(json!({"type": "integer"})), "3".into()),
            Decision::Respond { value: json!(3) }
        );
        assert_eq!(
            response(&pause(json!({"type": "string"})), "3".into()),
            Decision::Respond { value: json!("3") }
        );
    }
}
