//! Rules of the language that involve more than the value of a single field, with a file for each topic.
//!
//! Every rule has a stable code and a source: the text of the specification, its SDK, or both. In each profile,
//! violations of rules that only the other profile enforces are warnings.

use super::{
    Profile,
    findings::{Findings, Spot},
    graph::{Graph, Key},
    inference::{Inference, Side},
    property::Property,
};
use crate::casting::effort::{Effort, Refusal};

mod agents;
mod control_edges;
mod data_edges;
mod flow_outputs;
mod flows;
mod llms;
mod nodes;
mod properties;
mod sources;
mod tools;
mod transforms;

/// The source of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// The text of the language and its SDK.
    Both,
    /// The text; the SDK doesn't check it.
    Text,
    /// The SDK; the text doesn't say so.
    Sdk,
    /// None: what breaks it is allowed, but probably not meant.
    Nobody,
}

/// Checks all components of a graph, for which it finds out what goes in and out of them.
pub(super) fn check<'d>(graph: &Graph<'d>, findings: &mut Findings) -> Inference<'d> {
    let effort = Effort::for_document();
    let inference = Inference::of(graph, &effort);
    let mut rules = Rules { graph, inference: &inference, effort: &effort, findings };
    for key in graph.keys() {
        if effort.is_spent() {
            break;
        }
        rules.component(key);
    }
    rules.end();
    inference
}

/// A check that is under way.
struct Rules<'r, 'd> {
    graph: &'r Graph<'d>,
    inference: &'r Inference<'d>,
    effort: &'r Effort,
    findings: &'r mut Findings,
}

impl<'r, 'd> Rules<'r, 'd> {
    fn component(&mut self, key: Key) {
        self.properties(key);
        if self.graph.is_plugin(key) {
            return;
        }
        if self.graph.is_a(key, "Node") {
            self.node(key);
        }
        match self.graph.type_name(key) {
            "Flow" => self.flow(key),
            "DataFlowEdge" => self.data_edge(key),
            "Agent" => self.agent(key),
            "SpecializedAgent" => self.specialised_agent(key),
            "Swarm" => self.swarm(key),
            "ManagerWorkers" => self.manager_workers(key),
            "MCPToolSpec" => self.mcp_tool_spec(key),
            "DbmsVectorChainLlmConfig" => self.credential(key),
            "MessageSummarizationTransform" | "ConversationSummarizationTransform" => self.transform(key),
            _ => {}
        }
        self.headers(key);
    }

    fn profile(&self) -> Profile {
        self.graph.profile
    }

    /// Reports something at `spot` that is an error if the profile demands otherwise.
    fn report<M: Into<String>>(
        &mut self,
        demand: Demand,
        rule: &'static str,
        spot: impl FnOnce() -> Spot,
        message: impl FnOnce() -> M,
    ) {
        let is_error = match demand {
            Demand::Both => true,
            Demand::Text => self.graph.profile == Profile::Spec,
            Demand::Sdk => self.graph.profile == Profile::Sdk,
            Demand::Nobody => false,
        };
        match is_error {
            true => self.findings.error(spot, rule, message),
            false => self.findings.warning(spot, rule, message),
        }
    }

    /// The answer to a comparison; one that there is none to is reported, and passes as `true`.
    fn answer(&mut self, answer: Result<bool, Refusal>, spot: impl FnOnce() -> Spot) -> bool {
        match answer {
            Ok(answer) => answer,
            Err(Refusal::TooComplex) => true,
            Err(Refusal::Unsupported) => {
                self.report(Demand::Sdk, "schema-unsupported", spot, || {
                    "the SDK can't compare these schemas; it only supports types, `anyOf`, `items`, `properties`, and \
                     `additionalProperties`"
                });
                true
            }
        }
    }

    /// True if the document may still take as much work, which is taken off.
    fn affords(&self, steps: usize) -> bool {
        self.effort.spend(steps).is_ok()
    }

    fn casts(&mut self, from: &Property<'d>, to: &Property<'d>, spot: impl FnOnce() -> Spot) -> bool {
        let answer = from.casts_to(to, self.graph.profile, self.effort);
        self.answer(answer, spot)
    }

    fn is_same_type(&mut self, one: &Property<'d>, other: &Property<'d>, spot: impl FnOnce() -> Spot) -> bool {
        let answer = one.is_same_type(other, self.graph.profile, self.effort);
        self.answer(answer, spot)
    }

    fn end(self) {
        if self.effort.is_spent() {
            let root =
                || self.graph.root().map_or(Spot { pointer: String::new(), document: 0 }, |root| self.graph.at(root));
            self.findings.error(
                root,
                "too-complex",
                || "comparing all schemas of the configuration would take too long; use simpler or fewer schemas",
            );
        }
    }
}

/// A name as a message quotes it.
fn quoted(name: &str) -> String {
    const LONGEST: usize = 60;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", &name[..end]),
        None => format!("`{name}`"),
    }
}

/// A few names as a message lists them.
fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const SHOWN: usize = 6;
    let mut names = names.into_iter();
    let mut shown: Vec<String> = names.by_ref().take(SHOWN).map(quoted).collect();
    match (shown.is_empty(), names.next()) {
        (true, _) => return "none".to_owned(),
        (_, Some(_)) => shown.push("…".to_owned()),
        _ => {}
    }
    shown.join(", ")
}
