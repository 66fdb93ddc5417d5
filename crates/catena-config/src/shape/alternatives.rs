//! Values that may have one of several shapes.

use serde_json::Value as Json;

use super::Shape;
use super::misfit::{expected, is_kind, one_of_words};
use crate::node::{Node, Value};
use crate::problem::Problem;

/// The alternatives of a schema, references followed, nested ones flattened, without "nothing": TOML cannot say it. Empty if the schema has
/// none.
pub(super) fn alternatives<'a>(shape: &Shape<'a>, schema: &'a Json) -> Vec<&'a Json> {
    let several = ["anyOf", "oneOf"]
        .iter()
        .find_map(|keyword| schema.get(*keyword)?.as_array());
    let mut flat = Vec::new();
    for alternative in several.into_iter().flatten() {
        let alternative = shape.resolved(alternative);
        let nested = alternatives(shape, alternative);
        match nested.is_empty() {
            true if alternative.get("type").is_some_and(|kind| kind == "null") => {}
            true => flat.push(alternative),
            false => flat.extend(nested),
        }
    }
    flat
}

impl<'a> Shape<'a> {
    pub(super) fn check_one_of(&self, node: &mut Node, several: &[&'a Json], problems: &mut Vec<Problem>) -> bool {
        let of_kind: Vec<&'a Json> = several.iter().copied().filter(|schema| is_kind(node, schema)).collect();
        let literals: Option<Vec<&str>> = of_kind.iter().map(|schema| schema.get("const")?.as_str()).collect();
        match (of_kind.as_slice(), literals, &node.value) {
            ([], _, _) => {
                let wanted = one_of_words(several.iter().map(|schema| expected(schema)));
                let message = format!("expected {wanted}, found {}", node.kind());
                problems.push(Problem::at(self.source, node.span.as_ref(), &node.path, message));
                false
            }
            ([only], _, _) => self.check(node, only, problems),
            (_, Some(literals), Value::String(text)) => match super::misfit::literal(text, &literals) {
                None => true,
                Some(misfit) => {
                    let problem = Problem::at(self.source, node.span.as_ref(), &node.path, misfit.message);
                    problems.push(problem.help(misfit.help));
                    false
                }
            },
            _ => self.check_nearest(node, &of_kind, problems),
        }
    }

    /// Takes the alternative with the fewest misfits, and reports those.
    fn check_nearest(&self, node: &mut Node, several: &[&'a Json], problems: &mut Vec<Problem>) -> bool {
        let misfits = |schema: &&&'a Json| {
            let mut found = Vec::new();
            self.check(&mut node.clone(), schema, &mut found);
            found.len()
        };
        match several.iter().min_by_key(misfits) {
            Some(nearest) => self.check(node, nearest, problems),
            None => true,
        }
    }
}
