//! The registry's answer to one description, for people and for programs.

use serde_json::{Value, json};

use agentdex::td::Violation;
use agentdex_client::{Effect, Imported, Written};

pub(super) enum Answer {
    Written(Written),
    Imported(Imported),
}

impl Answer {
    /// Returns the numbers of agents that were created, replaced, left as they were.
    pub(super) fn counts(&self) -> [usize; 3] {
        match self {
            Answer::Written(Written { effect: Effect::Created, .. }) => [1, 0, 0],
            Answer::Written(Written { effect: Effect::Unchanged, .. }) => [0, 0, 1],
            Answer::Written(_) => [0, 1, 0],
            Answer::Imported(Imported { ids, created, updated, original_updated, versions_updated, .. }) => {
                let replaced = updated.len() + original_updated.len() + versions_updated.len();
                [created.len(), replaced, ids.len().saturating_sub(created.len() + replaced)]
            }
        }
    }

    /// The fixes and oddities that the registry reports.
    pub(super) fn warnings(&self) -> &[Violation] {
        match self {
            Answer::Written(written) => &written.warnings,
            Answer::Imported(imported) => &imported.warnings,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match self {
            Answer::Written(Written { id, effect, warnings }) => {
                let [created, unchanged] = [Effect::Created, Effect::Unchanged].map(|known| *effect == known);
                json!({"id": id, "created": created, "unchanged": unchanged, "warnings": warnings})
            }
            Answer::Imported(Imported {
                ids,
                created,
                updated,
                original_updated,
                versions_updated,
                removed,
                warnings,
                ..
            }) => json!({
                "ids": ids, "created": created, "updated": updated, "originalUpdated": original_updated,
                "versionsUpdated": versions_updated, "removed": removed, "warnings": warnings,
            }),
        }
    }

    /// A line an agent.
    pub(super) fn to_text(&self) -> String {
        match self {
            Answer::Written(Written { id, effect, .. }) => {
                let verb = match effect {
                    Effect::Created => "created",
                    Effect::Unchanged => "unchanged",
                    Effect::VersionsUpdated => "version stored",
                    _ => "updated",
                };
                format!("{verb} {id}")
            }
            Answer::Imported(Imported {
                ids, created, updated, original_updated, versions_updated, removed, ..
            }) => {
                let verb = |id: &String| match id {
                    id if created.contains(id) => "created",
                    id if updated.contains(id) => "updated",
                    id if original_updated.contains(id) => "original updated",
                    id if versions_updated.contains(id) => "version stored",
                    _ => "unchanged",
                };
                let present = ids.iter().map(|id| format!("{} {id}", verb(id)));
                let removed = removed.iter().map(|id| format!("removed {id}"));
                present.chain(removed).collect::<Vec<_>>().join("\n")
            }
        }
    }
}
