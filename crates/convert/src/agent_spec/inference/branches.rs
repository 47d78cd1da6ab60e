//! Branches of each node.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use serde_json::Value;

use super::{
    super::{
        Profile,
        graph::{Graph, Key},
        types::Leaving,
    },
    generate::end_nodes,
};
use crate::casting::effort::Effort;

/// The branch of nodes that have one, and of end nodes that name none.
pub(in super::super) const NEXT: &str = "next";
/// The branch of a BranchingNode for values that it doesn't map.
const DEFAULT: &str = "default";
/// The branch that is taken after an exception.
pub(in super::super) const CAUGHT_EXCEPTION: &str = "caught_exception_branch";

/// The branches of all nodes of a graph.
#[derive(Debug, Default)]
pub(super) struct Branches<'d> {
    of_nodes: HashMap<Key, NodeBranches<'d>>,
    /// The branches that the end nodes of a flow close, each once.
    of_flows: HashMap<Key, Rc<[&'d str]>>,
    none: NodeBranches<'d>,
}

/// The branches of a node.
#[derive(Debug, Default)]
pub(in super::super) struct NodeBranches<'d> {
    /// Branches that the node lists; none if its list is missing or empty.
    pub(in super::super) declared: Option<Vec<&'d str>>,
    /// Branches that follow from its configuration; none if they can't be determined.
    pub(in super::super) expected: Option<Rc<[&'d str]>>,
}

impl<'d> NodeBranches<'d> {
    /// The branches that edges can start from, where they are known; others that are declared are wrong.
    pub(in super::super) fn effective(&self) -> Option<&[&'d str]> {
        self.expected.as_deref().or(self.declared.as_deref())
    }
}

impl<'d> Branches<'d> {
    pub(super) fn of(&self, node: Key) -> &NodeBranches<'d> {
        self.of_nodes.get(&node).unwrap_or(&self.none)
    }

    pub(super) fn of_flow(&self, flow: Key) -> &[&'d str] {
        self.of_flows.get(&flow).map_or(&[], |names| names)
    }

    pub(super) fn add(&mut self, graph: &Graph<'d>, key: Key, effort: &Effort) {
        if graph.is_a(key, "Flow") {
            let mut names: Vec<&'d str> =
                end_nodes(graph, key).into_iter().map(|end| graph.text(end, "branch_name").unwrap_or(NEXT)).collect();
            names.sort_unstable();
            names.dedup();
            self.of_flows.insert(key, names.into());
        } else if graph.is_plugin(key) || graph.is_a(key, "Node") {
            let declared = graph.field(key, "branches").and_then(Value::as_array);
            let declared = declared.filter(|list| !list.is_empty());
            let declared = declared.map(|list| list.iter().filter_map(Value::as_str).collect());
            let expected = self.expected(graph, key, effort);
            self.of_nodes.insert(key, NodeBranches { declared, expected });
        }
    }

    fn expected(&self, graph: &Graph<'d>, key: Key, effort: &Effort) -> Option<Rc<[&'d str]>> {
        let of_subflow = || self.of_flows.get(&graph.part(key, "subflow")?).cloned();
        match graph.known(key)?.leaving {
            Leaving::Never => Some(Rc::default()),
            Leaving::Subflow => of_subflow().map(|names| if names.is_empty() { [NEXT].into() } else { names }),
            Leaving::SubflowOrException => {
                let names = of_subflow()?;
                effort.spend(names.len()).ok()?;
                Some(names.iter().copied().chain([CAUGHT_EXCEPTION]).collect())
            }
            Leaving::Mapping => {
                let mapping = graph.field(key, "mapping").and_then(Value::as_object)?;
                let mut known = HashSet::new();
                let targets = mapping.values().filter_map(Value::as_str);
                Some(targets.chain([DEFAULT]).filter(|name| known.insert(*name)).collect())
            }
            // In the SDK an agent may choose where to go on.
            Leaving::Agent if graph.profile == Profile::Sdk => match graph.field(key, "branches") {
                Some(Value::Array(list)) if !list.is_empty() => None,
                _ => Some([NEXT].into()),
            },
            Leaving::Agent | Leaving::Next => Some([NEXT].into()),
        }
    }
}
