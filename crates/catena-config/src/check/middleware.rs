//! Whether the middlewares are there and their options are options.

use super::Check;
use crate::config::AgentConfig;
use crate::nearest::instead;
use crate::node::Step;
use crate::registry::Entry;
use crate::shape::Shape;

impl Check<'_> {
    pub(super) fn middleware(&mut self, agent: &AgentConfig, [agents, name]: [Step<'_>; 2]) {
        let origin = &self.config.origin;
        for (index, listed) in agent.middleware.iter().enumerate() {
            let place = [agents, name, "middleware".into(), index.into()];
            let key = [place[0], place[1], place[2], place[3], Step::Key("use")];
            if listed.kind.is_empty() {
                continue;
            }
            let Some(entry) = origin.registry.find(&listed.kind) else {
                let message = format!("there is no middleware `{}`", listed.kind);
                let none = || "this build of catena has no middlewares to list; remove it".to_owned();
                let help = instead(&listed.kind, origin.registry.names()).unwrap_or_else(none);
                self.problems.push(self.config.problem(key, message).help(help));
                continue;
            };
            if let Some(reason) = entry.unavailable_because() {
                if !listed.off {
                    let message = format!("middleware `{}` is not available: {reason}", entry.name());
                    self.problems.push(self.config.problem(key, message));
                }
                continue;
            }
            if listed.off && entry.is_safety() && !agent.allow_unsafe {
                let message = format!("`{}` keeps the agent safe and may not be switched off", entry.name());
                let help = "if that is meant, write `allow_unsafe = true` on the agent".to_owned();
                self.problems.push(
                    self.config
                        .problem([place[0], place[1], place[2], place[3], "off".into()], message)
                        .help(help),
                );
            }
            self.options(entry, place);
        }
    }

    fn options(&mut self, entry: &Entry, place: [Step<'_>; 4]) {
        let origin = &self.config.origin;
        let Some(node) = origin.root.find(place) else {
            return;
        };
        let schema = entry.schema();
        let shape = Shape {
            source: &origin.source,
            root: &schema,
        };
        shape.check(&mut node.without(&["use", "off"]), &schema, &mut self.problems);
    }
}
