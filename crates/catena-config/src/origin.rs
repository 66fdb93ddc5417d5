//! Where a configuration came from, so that what is found later can still be shown in the file.

use crate::node::{Node, Step, join};
use crate::problem::Problem;
use crate::registry::Registry;
use crate::source::Source;

/// The text, the tree, and what its names were looked up in.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) source: Source,
    pub(crate) root: Node,
    pub(crate) registry: Registry,
}

impl Origin {
    /// A problem at the end of these steps, shown at the deepest of them that is in the file.
    pub(crate) fn problem<'a>(&self, steps: impl IntoIterator<Item = Step<'a>>, message: impl AsRef<str>) -> Problem {
        let (mut deepest, mut lost) = (&self.root, false);
        let mut path = String::new();
        for step in steps {
            match deepest.find([step]).filter(|_| !lost) {
                Some(node) => {
                    deepest = node;
                    path.clone_from(&node.path);
                }
                None => {
                    lost = true;
                    path = join(&path, step);
                }
            }
        }
        // The root's span is the whole text, which says nothing.
        let span = deepest.span.as_ref().filter(|_| !deepest.path.is_empty());
        Problem::at(&self.source, span, &path, message)
    }
}

impl Default for Origin {
    fn default() -> Self {
        Self {
            source: Source::default(),
            root: Node::empty(),
            registry: Registry::builtin(),
        }
    }
}
