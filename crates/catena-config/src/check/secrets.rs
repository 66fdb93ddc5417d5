//! Keys that were written into the file.

use crate::node::{Node, Value};
use crate::problem::Problem;
use crate::secret::{looks_secret, names_secret};
use crate::source::Source;

/// Reports what looks like a secret under a key that could hold one, and takes it out.
pub(super) fn take(source: &Source, node: &mut Node, problems: &mut Vec<Problem>) {
    match &mut node.value {
        Value::Array(items) => items.iter_mut().for_each(|item| take(source, item, problems)),
        Value::Table(members) => members.retain_mut(|member| {
            take(source, &mut member.node, problems);
            let Value::String(text) = &member.node.value else {
                return true;
            };
            let secret = names_secret(&member.key) && looks_secret(text);
            if secret {
                let (span, path) = (member.node.span.as_ref(), &member.node.path);
                problems.push(Problem::at(source, span, path, message(&member.key)).help(HELP.to_owned()));
            }
            !secret
        }),
        _ => {}
    }
}

const HELP: &str = "put it into an environment variable and write `api_key_env = \"NAME_OF_THE_VARIABLE\"`; if the file was shared, replace the key";

fn message(key: &str) -> String {
    format!("the value of `{key}` looks like a secret; secrets do not belong into the file")
}
