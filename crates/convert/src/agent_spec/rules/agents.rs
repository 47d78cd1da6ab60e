//! Rules for agents and groups of agents.

use std::collections::HashSet;

use super::{Demand, Key, Rules, Side, quoted};
use crate::casting::describe;

impl Rules<'_, '_> {
    /// An agent's tools have different names, or else it depends on the runtime what becomes of them.
    pub(super) fn agent(&mut self, key: Key) {
        let mut known = HashSet::new();
        for (n, tool) in self.graph.parts(key, "tools").iter().enumerate() {
            let name = self.graph.text(*tool, "name").unwrap_or_default();
            if !known.insert(name) {
                self.report(
                    Demand::Nobody,
                    "tool-name-repeated",
                    || self.graph.at_part(key, "tools", n),
                    || {
                        format!(
                            "another tool of the agent has the name {}; a model can't distinguish the tools",
                            quoted(name)
                        )
                    },
                );
            }
        }
    }

    /// Checks that properties which both the agent and its specialization have are of one type.
    pub(super) fn specialised_agent(&mut self, key: Key) {
        let parts = ["agent", "agent_specialization_parameters"].map(|field| self.graph.part(key, field));
        let [Some(agent), Some(parameters)] = parts else { return };
        for side in Side::BOTH {
            let general = self.inference.port(agent, side);
            for property in self.inference.port(parameters, side).properties() {
                if !self.affords(1) {
                    return;
                }
                let Some(other) = general.find(&property.title) else { continue };
                let spot = || self.graph.at(key).member("agent_specialization_parameters");
                let (one, two) = (other.schema(), property.schema());
                if !self.is_same_type(property, other, spot) {
                    self.report(Demand::Text, "specialised-property-conflict", spot, || {
                        let (one, two) = (describe(&one), describe(&two));
                        format!(
                            "{} has the type {one} in the agent, but {two} in its specialization",
                            quoted(&property.title)
                        )
                    });
                }
            }
        }
    }

    /// A swarm has relationships.
    pub(super) fn swarm(&mut self, key: Key) {
        let field = "relationships";
        let is_empty = self.graph.field(key, field).and_then(|pairs| pairs.as_array()).is_some_and(Vec::is_empty);
        if is_empty {
            self.report(
                Demand::Both,
                "swarm-no-relationships",
                || self.graph.at(key).member(field),
                || "a swarm needs at least one relationship; for a single agent, use an Agent",
            );
        }
        for (n, (caller, recipient)) in self.graph.pairs(key, field).enumerate() {
            if caller == recipient {
                self.report(
                    Demand::Nobody,
                    "swarm-self-relationship",
                    || self.graph.at_part(key, field, 2 * n),
                    || "the relationship connects an agent to itself",
                );
            }
        }
    }

    /// There are workers, and their manager is none of them.
    pub(super) fn manager_workers(&mut self, key: Key) {
        let field = "workers";
        let is_empty = self.graph.field(key, field).and_then(|workers| workers.as_array()).is_some_and(Vec::is_empty);
        if is_empty {
            self.report(
                Demand::Both,
                "manager-without-workers",
                || self.graph.at(key).member(field),
                || "a manager needs at least one worker; for a single agent, use an Agent",
            );
        }
        let manager = self.graph.part(key, "group_manager");
        for (n, worker) in self.graph.parts(key, field).iter().enumerate() {
            if manager == Some(*worker) {
                self.report(
                    Demand::Both,
                    "manager-is-worker",
                    || self.graph.at_part(key, field, n),
                    || "the manager of the group can't be one of its workers",
                );
            }
        }
    }
}
