//! Whether a tree has the shape that a JSON Schema describes, with every misfit at its place in the file.
//!
//! The schema is the one that is derived from the types and published, so what is documented is what is checked. serde would stop at the
//! first misfit and not know where it stands; here a misfit is reported and taken out of the tree, and the rest is still checked and read.
//! Only what derived schemas consist of is understood; a keyword that is not leaves everything as it is.

mod alternatives;
mod misfit;

use serde_json::{Map, Value as Json};

use crate::nearest::instead;
use crate::node::{Member, Node, Value};
use crate::problem::Problem;
use crate::source::Source;
use alternatives::alternatives;
use misfit::misfit;

/// In a property's schema: other names under which it is read.
pub(crate) const ALIASES: &str = "x-aliases";

/// A check of trees that were read from one source, against schemas that are parts of one document.
pub(crate) struct Shape<'a> {
    pub(crate) source: &'a Source,
    /// The document that `$ref`s point into.
    pub(crate) root: &'a Json,
}

impl<'a> Shape<'a> {
    /// Checks a value and takes out of it what does not fit. Says whether the value itself may stay.
    pub(crate) fn check(&self, node: &mut Node, schema: &'a Json, problems: &mut Vec<Problem>) -> bool {
        let schema = self.resolved(schema);
        let alternatives = alternatives(self, schema);
        if !alternatives.is_empty() {
            return self.check_one_of(node, &alternatives, problems);
        }
        if let Some(misfit) = misfit(node, schema) {
            let problem = Problem::at(self.source, node.span.as_ref(), &node.path, misfit.message);
            problems.push(problem.help(misfit.help));
            return false;
        }
        match &mut node.value {
            Value::Array(items) => {
                if let Some(of) = schema.get("items") {
                    items.retain_mut(|item| self.check(item, of, problems));
                }
            }
            Value::Table(_) => self.check_table(node, schema, problems),
            _ => {}
        }
        true
    }

    fn check_table(&self, node: &mut Node, schema: &'a Json, problems: &mut Vec<Problem>) {
        let properties = schema.get("properties").and_then(Json::as_object);
        for key in schema.get("required").and_then(Json::as_array).into_iter().flatten() {
            let Some(key) = key.as_str() else { continue };
            let there = |member: &Member| find(properties, &member.key).is_some_and(|(name, _)| name == key);
            if !node.members().iter().any(there) {
                let about = properties
                    .and_then(|all| all.get(key))
                    .and_then(|of| of.get("description"));
                let help = about.and_then(Json::as_str).map(|about| format!("`{key}`: {about}"));
                let message = format!("`{key}` is missing");
                problems.push(Problem::at(self.source, node.span.as_ref(), &node.path, message).help(help));
            }
        }
        let Value::Table(members) = &mut node.value else {
            return;
        };
        let rest = schema.get("additionalProperties");
        members.retain_mut(|member| match (find(properties, &member.key), rest) {
            (Some((_, of)), _) => self.check(&mut member.node, of, problems),
            (None, Some(Json::Bool(false))) => {
                problems.push(self.unknown(member, properties));
                false
            }
            (None, Some(of)) => self.check(&mut member.node, of, problems),
            (None, None) => true,
        });
    }

    fn unknown(&self, member: &Member, properties: Option<&Map<String, Json>>) -> Problem {
        let names = properties
            .into_iter()
            .flatten()
            .flat_map(|(name, of)| std::iter::once(name.as_str()).chain(aliases(of)));
        let message = format!("unknown key `{}`", member.key);
        Problem::at(self.source, member.key_span.as_ref(), &member.node.path, message).help(instead(&member.key, names))
    }

    /// The schema behind a reference, or the schema itself.
    fn resolved(&self, schema: &'a Json) -> &'a Json {
        /// A chain of references that is longer is a circle.
        const LONGEST: usize = 16;
        let mut schema = schema;
        for _ in 0..LONGEST {
            let reference = schema
                .get("$ref")
                .and_then(Json::as_str)
                .and_then(|text| text.strip_prefix('#'));
            match reference.and_then(|pointer| self.root.pointer(pointer)) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }
}

/// The property that is read under this key: its name and its schema.
fn find<'a>(properties: Option<&'a Map<String, Json>>, key: &str) -> Option<(&'a str, &'a Json)> {
    let mut all = properties?.iter();
    let (name, of) = all.find(|(name, of)| *name == key || aliases(of).any(|alias| alias == key))?;
    Some((name, of))
}

fn aliases(property: &Json) -> impl Iterator<Item = &str> {
    property
        .get(ALIASES)
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
}

#[cfg(test)]
mod tests;
