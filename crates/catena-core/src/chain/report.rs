//! A chain as people and programs read it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Order;
use crate::middleware::{Hook, OnFailure, Priority};

/// The chain as resolved: nothing that could be in it is missing without a reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChainReport {
    /// How it is ordered.
    pub order: Order,
    /// In plan order; those that are off come last.
    pub rows: Vec<ReportRow>,
    /// Names for each hook, in the order in which it runs.
    pub hooks: BTreeMap<Hook, Vec<String>>,
}

/// One middleware.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReportRow {
    /// Its name.
    pub name: String,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The hooks it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// What happens when it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    /// The wave it runs in, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<usize>,
    /// Why it is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
}

impl ChainReport {
    /// Adds a middleware that is off, with the reason.
    pub fn push_off(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        self.rows.push(ReportRow {
            name: name.into(),
            priority: None,
            hooks: Vec::new(),
            on_failure: None,
            wave: None,
            off: Some(reason.into()),
        });
    }
}

impl fmt::Display for ChainReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .rows
            .iter()
            .map(|row| row.name.len())
            .max()
            .unwrap_or(0)
            .max("middleware".len());
        writeln!(
            f,
            "{:>8}  {:width$}  {:4}  {:12}  hooks",
            "priority", "middleware", "wave", "band"
        )?;
        for row in &self.rows {
            if let Some(reason) = &row.off {
                writeln!(f, "{:>8}  {:width$}  {:4}  {:12}  off: {reason}", "-", row.name, "", "")?;
                continue;
            }
            let priority = row.priority.unwrap_or(Priority::DEFAULT);
            let wave = row.wave.map(|wave| wave.to_string()).unwrap_or_default();
            let hooks: Vec<_> = row.hooks.iter().map(|hook| hook.as_str()).collect();
            writeln!(
                f,
                "{priority:>8}  {:width$}  {wave:4}  {:12}  {}",
                row.name,
                priority.band(),
                hooks.join(" ")
            )?;
        }
        Ok(())
    }
}
