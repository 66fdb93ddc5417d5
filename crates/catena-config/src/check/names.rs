//! The names of a file.

use crate::node::Node;

/// What is named in a file, whether it is right in itself or not.
pub(super) struct Names {
    pub(super) models: Vec<String>,
    pub(super) agents: Vec<String>,
}

impl Names {
    pub(super) fn of(root: &Node) -> Self {
        let named = |table: &str| {
            let members = root.member(table).map(|member| member.node.members());
            members.into_iter().flatten().map(|member| member.key.clone()).collect()
        };
        Self {
            models: named("models"),
            agents: named("agents"),
        }
    }
}

/// Whether a name is among these.
pub(super) fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}
