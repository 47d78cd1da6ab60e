//! Validation of chains, which reports all violations together.

use std::collections::{BTreeMap, BTreeSet};

use super::description::{Description, INPUT, Node};
use crate::{Condition, Template, td::Violation, template::ERROR};

/// The most nodes, edges, and links of a chain, and of all within it together.
const MAX_PARTS: usize = 1000;
/// The most nodes that a chain may allow itself to run.
const MAX_STEPS: u32 = 10_000;
/// Maximum nesting depth of chains within nodes of chains.
const MAX_DEPTH: usize = 16;
/// The most runs of a chain at the same time that a node may ask for.
const MAX_PARALLEL: usize = 64;
/// Names in references that are not those of nodes.
const RESERVED: [&str; 2] = [INPUT, "given"];

struct Check<'d> {
    chains: &'d BTreeMap<String, Description>,
    /// JSON Pointer to the chain that is checked; empty for the outermost one.
    place: String,
    violations: Vec<Violation>,
}

pub(super) fn violations(chain: &Description) -> Vec<Violation> {
    let mut check = Check { chains: &chain.chains, place: String::new(), violations: Vec::new() };
    let parts = || [chain].into_iter().chain(chain.chains.values());
    let most = parts().map(|part| part.nodes.len().max(part.edges.len()).max(part.links.len())).sum::<usize>();
    if most > MAX_PARTS {
        check.report(
            "",
            "chain/limit",
            format!("a chain, including its inner chains, can have at most {MAX_PARTS} nodes, edges, or links"),
        );
        return check.violations;
    }
    check.part(chain);
    for (name, part) in &chain.chains {
        check.place = format!("/chains/{}", escaped(name));
        if !part.chains.is_empty() {
            check.report(
                "/chains",
                "chain/shape",
                "inner chains can't define `chains`; define all chains in the outermost chain".into(),
            );
        }
        check.part(part);
    }
    check.place = String::new();
    let depths: &mut BTreeMap<&str, Option<usize>> = &mut BTreeMap::new();
    if depth(chain, &chain.chains, depths).is_none_or(|depth| depth > MAX_DEPTH) {
        let message = format!("a chain contains itself, or chains are nested more than {MAX_DEPTH} levels deep");
        check.report("/chains", "chain/depth", message);
    }
    check.violations
}

/// Returns the nesting depth of the chains within a chain; none where one contains itself.
fn depth<'d>(
    chain: &'d Description,
    chains: &'d BTreeMap<String, Description>,
    known: &mut BTreeMap<&'d str, Option<usize>>,
) -> Option<usize> {
    let mut deepest = 0;
    for name in chain.nodes.values().flat_map(Node::parts) {
        let Some((name, part)) = chains.get_key_value(name) else { continue };
        let within = match known.get(name.as_str()) {
            Some(depth) => (*depth)?,
            None => {
                // Unless it is finished, whoever comes here again comes from itself.
                known.insert(name, None);
                let own = depth(part, chains, known)?;
                known.insert(name, Some(own));
                own
            }
        };
        deepest = deepest.max(within + 1);
    }
    Some(deepest)
}

impl Check<'_> {
    fn report(&mut self, pointer: impl AsRef<str>, rule: &'static str, message: String) {
        let pointer = format!("{}{}", self.place, pointer.as_ref());
        self.violations.push(Violation::new(pointer, rule, message));
    }

    fn part(&mut self, chain: &Description) {
        if !chain.nodes.contains_key(&chain.start) {
            self.report("/start", "chain/unknown-node", format!("there is no node {:?}", chain.start));
        }
        for (name, node) in &chain.nodes {
            self.node(chain, name, node);
        }
        self.edges(chain);
        self.links(chain);
        let (reached, has_cycle) = walk(chain);
        for name in chain.nodes.keys().filter(|name| !reached.contains(name.as_str())) {
            let message = format!("no path of edges leads from the start node to {name:?}");
            self.report(format!("/nodes/{}", escaped(name)), "chain/unreachable", message);
        }
        match chain.max_steps {
            None if has_cycle => {
                let message = "the chain has a cycle; set max_steps to the maximum number of nodes to run";
                self.report("/max_steps", "chain/cycle", message.into());
            }
            Some(steps) if steps == 0 || steps > MAX_STEPS => {
                let message = format!("max_steps is {steps}; it must be 1 to {MAX_STEPS}");
                self.report("/max_steps", "chain/limit", message);
            }
            _ => {}
        }
    }

    fn node(&mut self, chain: &Description, name: &str, node: &Node) {
        let pointer = format!("/nodes/{}", escaped(name));
        if RESERVED.contains(&name) || name.contains(['.', '[', '{', '}']) {
            let message = format!(
                "{name:?} can't be referenced; `input`, `given`, and names with `.`, `[`, `{{`, or `}}` are reserved"
            );
            self.report(&pointer, "chain/node-name", message);
        }
        let kinds = [
            node.agent.is_some() || node.thing.is_some(),
            node.capability.is_some(),
            node.answer.is_some(),
            node.ask.is_some(),
            node.chain.is_some(),
            node.chains.is_some(),
        ];
        if kinds.into_iter().filter(|is_given| *is_given).count() != 1 {
            let message = "a node needs exactly one of `agent` (or `thing`), `capability`, `answer`, `ask`, `chain`, \
                           and `chains`";
            self.report(&pointer, "chain/agent", message.into());
        }
        for unknown in node.parts().into_iter().filter(|part| !self.chains.contains_key(*part)).collect::<Vec<_>>() {
            self.report(&pointer, "chain/unknown-chain", format!("there is no chain {unknown:?} in `chains`"));
        }
        if node.chains.as_ref().is_some_and(Vec::is_empty) {
            self.report(format!("{pointer}/chains"), "chain/unknown-chain", "name at least one chain".into());
        }
        let calls_agent = node.agent.is_some() || node.thing.is_some() || node.capability.is_some();
        if node.sacp && !calls_agent {
            let message = "`sacp` is only allowed in a node with an `agent`, a `thing`, or a `capability`";
            self.report(format!("{pointer}/sacp"), "chain/agent", message.into());
        }
        match &node.each {
            Some(_) if node.chain.is_none() => {
                self.report(
                    format!("{pointer}/each"),
                    "chain/each",
                    "`each` is only allowed in a node with a `chain`".into(),
                );
            }
            Some(each) if each.over.is_empty() || !(1..=MAX_PARALLEL).contains(&each.parallel) => {
                let message =
                    format!("`over` must name at least one member, and `parallel` must be 1 to {MAX_PARALLEL}");
                self.report(format!("{pointer}/each"), "chain/each", message);
            }
            _ => {}
        }
        let templates = [
            ("input", &node.input, &RESERVED[..1]),
            ("answer", &node.answer, &RESERVED[..]),
            ("ask", &node.ask, &RESERVED[..]),
            ("otherwise", &node.otherwise, &RESERVED[..]),
            ("request", &node.request, &RESERVED[..]),
        ];
        let handles_errors = chain.edges.iter().any(|edge| edge.on_error && edge.to == *name);
        for (member, template, known) in templates {
            let Some(template) = template.clone().map(Template::new) else { continue };
            let is_known = |source: &&str| {
                known.contains(source) || chain.nodes.contains_key(*source) || handles_errors && *source == ERROR
            };
            for source in template.sources().into_iter().filter(|source| !is_known(source)) {
                let message = match source {
                    ERROR => {
                        format!(
                            "{ERROR:?} is only available in the target of an error edge, but no error edge leads to \
                             {name:?}"
                        )
                    }
                    source => format!("the referenced node {source:?} doesn't exist"),
                };
                self.report(format!("{pointer}/{member}"), "chain/unknown-node", message);
            }
        }
    }

    fn edges(&mut self, chain: &Description) {
        for (index, edge) in chain.edges.iter().enumerate() {
            for (member, name) in [("from", &edge.from), ("to", &edge.to)] {
                if !chain.nodes.contains_key(name) {
                    let message = format!("there is no node {name:?}");
                    self.report(format!("/edges/{index}/{member}"), "chain/unknown-node", message);
                }
            }
            if let Some(Err(error)) = edge.when.as_deref().map(str::parse::<Condition>) {
                self.report(format!("/edges/{index}/when"), "chain/condition", error.to_string());
            }
            let given = [edge.when.is_some(), edge.branch.is_some(), edge.on_error];
            if given.into_iter().filter(|is_given| *is_given).count() > 1 {
                let message = "an edge can have only one of `when`, `branch`, and `on_error`".to_owned();
                self.report(format!("/edges/{index}"), "chain/condition", message);
            }
        }
    }

    fn links(&mut self, chain: &Description) {
        for (index, link) in chain.links.iter().enumerate() {
            let ends = [("from", &link.from, link.from == INPUT), ("to", &link.to, false)];
            for (member, name, is_input) in ends {
                if !is_input && !chain.nodes.contains_key(name) {
                    let message = format!("there is no node {name:?}");
                    self.report(format!("/links/{index}/{member}"), "chain/unknown-node", message);
                }
            }
            let input = chain.nodes.get(&link.to).and_then(|node| node.input.as_ref());
            if input.is_some_and(|input| !input.is_object()) {
                let message = format!("the input of {:?} is not an object, so links can't set its members", link.to);
                self.report(format!("/links/{index}/to"), "chain/link", message);
            }
        }
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The nodes that can be reached from the start, and whether any of them can be reached again.
fn walk(chain: &Description) -> (BTreeSet<&str>, bool) {
    let mut targets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in &chain.edges {
        targets.entry(&edge.from).or_default().push(&edge.to);
    }
    let (mut reached, mut done, mut has_cycle) = (BTreeSet::new(), BTreeSet::new(), false);
    // Each node twice on the stack: when it is entered, and when all behind it is done.
    let mut stack = vec![(chain.start.as_str(), false)];
    while let Some((node, is_exit)) = stack.pop() {
        if is_exit {
            done.insert(node);
            continue;
        }
        if !reached.insert(node) {
            has_cycle |= !done.contains(node);
            continue;
        }
        stack.push((node, true));
        stack.extend(targets.get(node).into_iter().flatten().map(|target| (*target, false)));
    }
    (reached, has_cycle)
}
