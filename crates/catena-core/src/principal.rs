//! Who a run is for, and what it may see.

use serde::{Deserialize, Serialize};

/// The person or program that a run is for. A value: services issue it from their accounts, the command line from `--as`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Principal {
    /// Who; empty for nobody in particular.
    pub user: String,
    /// The organisation, where several share a service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The part of the organisation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub department: Option<String>,
    /// Roles, such as `admin`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

impl Principal {
    /// A user without roles.
    pub fn user(user: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            ..Self::default()
        }
    }
}

/// The kinds of things whose sight can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResourceKind {
    /// A tool, by name.
    Tool,
    /// A skill, by name.
    Skill,
    /// An agent that can be delegated to, by name.
    Agent,
    /// A knowledge base, by name.
    Knowledge,
    /// An MCP server, by name.
    McpServer,
}

/// What a run may see. What it may not see is not offered, not listed and cannot be called.
pub trait Resources: Send + Sync + 'static {
    /// Whether the thing of that kind and name is visible.
    fn visible(&self, kind: ResourceKind, name: &str) -> bool;
}

/// Finds what a principal may see.
pub(crate) type ResourcesFor = std::sync::Arc<dyn Fn(&Principal) -> std::sync::Arc<dyn Resources> + Send + Sync>;

/// Everything is visible: the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllVisible;

impl Resources for AllVisible {
    fn visible(&self, _: ResourceKind, _: &str) -> bool {
        true
    }
}

/// Finds agents by name, for those that delegate.
pub trait Agents: Send + Sync + 'static {
    /// The agent of that name.
    fn agent(&self, name: &str) -> Option<crate::agent::Agent>;

    /// The names there are.
    fn names(&self) -> Vec<String>;
}

/// No agents: the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAgents;

impl Agents for NoAgents {
    fn agent(&self, _: &str) -> Option<crate::agent::Agent> {
        None
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}
