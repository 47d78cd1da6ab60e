//! Rules for single nodes: their branches, and requirements of certain types.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    super::{
        inference::{CAUGHT_EXCEPTION, EXCEPTION_INFO},
        sdk_types::SdkTypes,
        version::Version,
    },
    Demand, Key, Profile, Refusal, Rules, Side, listed, quoted,
};
use crate::casting::{describe, is_numeric};

impl Rules<'_, '_> {
    pub(super) fn node(&mut self, key: Key) {
        self.branches(key);
        match self.graph.type_name(key) {
            "StartNode" | "EndNode" => self.equal_sides(key),
            "MapNode" | "ParallelMapNode" => self.reducers(key),
            "CatchExceptionNode" => self.catching(key),
            "ParallelFlowNode" => self.parallel_flows(key),
            "InputMessageNode" => self.input_message(key),
            "LlmNode" => self.structured_generation(key),
            _ => {}
        }
    }

    fn branches(&mut self, key: Key) {
        let branches = self.inference.branches(key);
        let Some(declared) = &branches.declared else { return };
        let spot = || self.graph.at(key).member("branches");
        let distinct: HashSet<&str> = declared.iter().copied().collect();
        if distinct.len() < declared.len() {
            self.report(
                Demand::Both,
                "branches-repeated",
                spot,
                || "a branch is listed twice; branches must be distinct",
            );
        }
        let Some(expected) = &branches.expected else { return };
        if distinct.len() != expected.len() || !expected.iter().all(|branch| distinct.contains(branch)) {
            self.report(Demand::Both, "branches-mismatch", spot, || {
                format!(
                    "the branches of this {} must be: {}",
                    self.graph.type_name(key),
                    listed(expected.iter().copied())
                )
            });
        }
    }

    /// Checks that a start or end node that declares properties on both sides has the same on both.
    fn equal_sides(&mut self, key: Key) {
        let sides = Side::BOTH.map(|side| self.inference.port(key, side).declared.clone());
        let [Some(inputs), Some(outputs)] = sides else { return };
        if inputs.is_empty() || outputs.is_empty() {
            return;
        }
        let comparison = SdkTypes { effort: self.effort };
        let mut are_equal = inputs.as_slice().len() == outputs.as_slice().len();
        for (input, output) in inputs.as_slice().iter().zip(outputs.as_slice()) {
            let answer = comparison.equal(&input.schema(), &output.schema());
            are_equal &= self.answer(answer, || self.graph.at(key));
        }
        if !are_equal {
            let kind = self.graph.type_name(key);
            self.report(
                Demand::Both,
                "inputs-outputs-differ",
                || self.graph.at(key).member("outputs"),
                || format!("the inputs and outputs of a {kind} must be equal if both are given"),
            );
        }
    }

    fn reducers(&mut self, key: Key) {
        let Some(subflow) = self.graph.part(key, "subflow") else { return };
        self.titles_needed(subflow, Side::Inputs, "a mapped subflow");
        let Some(Value::Object(reducers)) = self.graph.field(key, "reducers") else { return };
        let outputs = self.inference.port(subflow, Side::Outputs);
        if !outputs.is_known() {
            return;
        }
        for (name, method) in reducers {
            let spot = || self.graph.at(key).member("reducers").member(name);
            let Some(output) = outputs.find(name) else {
                self.report(Demand::Text, "reducer-unknown-output", spot, || {
                    let known = listed(outputs.properties().iter().map(|output| &*output.title));
                    format!("the subflow has no output {}; its outputs are: {known}", quoted(name))
                });
                continue;
            };
            let schema = output.schema();
            if method.as_str().is_some_and(|method| method != "append") && !is_numeric(&schema) {
                self.report(Demand::Text, "reducer-type", spot, || {
                    format!("this reducer only accepts integers and numbers, not {}; use `append`", describe(&schema))
                });
            }
        }
    }

    fn catching(&mut self, key: Key) {
        let Some(subflow) = self.graph.part(key, "subflow") else { return };
        let spot = || self.graph.at(key).member("subflow");
        if self.inference.end_branches(subflow).binary_search(&CAUGHT_EXCEPTION).is_ok() {
            self.report(Demand::Both, "catch-branch-conflict", spot, || {
                format!(
                    "an end node of the subflow uses the branch name `{CAUGHT_EXCEPTION}`, which is reserved for \
                     exceptions"
                )
            });
        }
        if self.inference.port(subflow, Side::Outputs).find(EXCEPTION_INFO).is_some() {
            self.report(Demand::Both, "catch-output-conflict", spot, || {
                format!("the subflow has an output `{EXCEPTION_INFO}`, which is reserved for exceptions")
            });
        }
        for (position, output) in self.inference.outputs(key).iter().enumerate() {
            if !output.has_default() {
                let spot = || self.inference.spot(self.graph, key, Side::Outputs, position);
                self.report(Demand::Both, "catch-output-without-default", spot, || {
                    format!("the output {} needs a default, which is used after an exception", quoted(&output.title))
                });
            }
        }
    }

    /// Inputs of several subflows that have the same name are one, and of one type; outputs can't be. The
    /// SDK doesn't look where the node declares its own.
    fn parallel_flows(&mut self, key: Key) {
        for side in Side::BOTH {
            let Some(generated) = &self.inference.port(key, side).generated else { continue };
            let spot = || self.graph.at(key).member("subflows");
            if generated.is_unsupported {
                _ = self.answer(Err(Refusal::Unsupported), spot);
            }
            let mut known = HashSet::new();
            for property in generated.list.as_slice().iter().filter(|property| !known.insert(&*property.title)) {
                let name = quoted(&property.title);
                match side {
                    Side::Inputs => self.report(Demand::Both, "parallel-input-conflict", spot, || {
                        format!("two subflows have an input {name}, but with different types")
                    }),
                    Side::Outputs => self.report(Demand::Both, "parallel-output-conflict", spot, || {
                        format!("two subflows have an output {name}; one would overwrite the other")
                    }),
                }
            }
        }
    }

    /// Models fill in several outputs, or one that is no string, from 25.4.2 on.
    fn structured_generation(&mut self, key: Key) {
        let is_text = match self.inference.outputs(key) {
            [] => true,
            [one] => one.schema().get("type").is_some_and(|kind| kind == "string"),
            _ => false,
        };
        let (version, since) = (self.graph.version, Version::V25_4_2);
        if !is_text && version < since {
            self.report(
                Demand::Both,
                "version-too-low",
                || self.graph.at(key).member("outputs"),
                || {
                    format!(
                        "structured generation (outputs other than a single string) was introduced in version {since}, \
                         but the configuration declares version {version}"
                    )
                },
            );
        }
    }

    fn input_message(&mut self, key: Key) {
        let outputs = self.inference.outputs(key);
        let spot = || self.graph.at(key).member("outputs");
        let is_text = |kind: &Value| match self.profile() {
            Profile::Sdk => kind == "string",
            Profile::Spec => {
                kind == "string" || kind.as_array().is_some_and(|kinds| kinds.iter().all(|kind| kind == "string"))
            }
        };
        let fits = match outputs {
            [one] => one.schema().get("type").is_some_and(is_text),
            _ => false,
        };
        if !fits {
            self.report(
                Demand::Both,
                "input-message-output",
                spot,
                || "the node must have exactly one output, a string with the user's message",
            );
        }
    }

    /// The SDK reads some titles without asking whether they are there.
    pub(super) fn titles_needed(&mut self, key: Key, side: Side, of: &str) {
        let port = self.inference.port(key, side);
        if !self.affords(port.properties().len()) {
            return;
        }
        for (position, property) in port.properties().iter().enumerate() {
            if !property.has_title() {
                let spot = || self.inference.spot(self.graph, key, side, position);
                self.report(Demand::Sdk, "property-title-missing", spot, || {
                    format!("the {} of {of} need titles", side.field())
                });
            }
        }
    }
}
