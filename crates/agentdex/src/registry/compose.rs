//! Composed search of a registry: chains of capabilities, and the Agent Spec flows that call them.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use agentdex_api::{Chain, ComposeQuery, ComposeResult};
use serde_json::Value;

use super::{Registry, compatible::have_and_want};
use crate::{
    Error, Result,
    convert::agent_spec::{FlowLink, FlowStep, flow_of},
    search::compatible::{self, ComposeRequest, MAX_STEPS, StepLink},
};

/// Maximum time of the search for chains; the answer has those found by then.
const TIME_BUDGET: Duration = Duration::from_millis(500);
/// The most chains of an answer.
const MAX_CHAINS: usize = 100;

impl Registry {
    /// Finds chains of capabilities from the caller's data to the wanted data: the inputs of each step are available
    /// from the start or produced by an earlier step. Each chain is also returned as an importable Agent Spec Flow.
    /// Every acknowledged write is found. Blocks.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// use agentdex::{registry::ComposeQuery, td::{Description, description::Capability}};
    /// use serde_json::json;
    ///
    /// let record = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    /// let step = |from, to| Capability::new(format!("{from}-to-{to}")).input(record(from)).output(record(to));
    /// registry.put(Description::new("Maps").id("urn:example:maps").capability(step("address", "coordinates")))?;
    /// registry.put(Description::new("Weather").id("urn:example:weather").capability(step("coordinates", "forecast")))?;
    ///
    /// let query = ComposeQuery { have: record("address"), want: record("forecast"), query: None, max_steps: 3, limit: 10 };
    /// let chains = registry.compose(&query)?.chains;
    /// let steps: Vec<&str> = chains[0].steps.iter().map(|step| step.id.as_str()).collect();
    /// assert_eq!(steps, ["urn:example:maps", "urn:example:weather"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] if `have` or `want` is not a schema, or if `max_steps` is not from 1 to 4;
    /// [`Error::LimitExceeded`], [`Error::IndexRebuilding`]; [`Error::ConsistencyTimeout`] if the latest writes aren't
    /// indexed after 5 s.
    pub fn compose(&self, query: &ComposeQuery) -> Result<ComposeResult> {
        if !(1..=MAX_STEPS).contains(&query.max_steps) {
            let message = format!("`max_steps` is {}, but must be from 1 to {MAX_STEPS}", query.max_steps);
            return Err(Error::InvalidQuery { message });
        }
        for (name, schema) in [("have", &query.have), ("want", &query.want)] {
            if schema.is_null() {
                let message = format!(
                    "a composed search needs `have`, the schema of the available data, and `want`, the schema of the \
                     desired data; `{name}` is missing"
                );
                return Err(Error::InvalidQuery { message });
            }
        }
        let (Some(have), Some(want)) = have_and_want(Some(&query.have), Some(&query.want))? else {
            return Err(Error::InvalidQuery { message: "give `have` and `want`".to_owned() });
        };
        let relevance = self.relevance(query.query.as_deref())?;
        let seq = self.shapes_at_the_end()?;
        let (expired, grants, shapes) = (self.expired()?, self.grants(), self.0.shapes.read());
        let unseen = self.unseen_ids();
        let hidden = expired.iter().chain(&unseen).map(String::as_str).chain(shapes.unseen_by(grants.as_deref()));
        let request = ComposeRequest {
            have: &have,
            want: &want,
            relevance: &relevance,
            hidden: &hidden.collect(),
            max_steps: query.max_steps,
            limit: query.limit.min(MAX_CHAINS),
            deadline: Instant::now() + TIME_BUDGET,
        };
        let composed = shapes.index.compose(&request);
        drop(shapes);
        let mut things = HashMap::new();
        let mut chains = Vec::with_capacity(composed.chains.len());
        for chain in composed.chains {
            // What was removed in the meantime can't be called.
            if self.read_things(&chain, &mut things)? {
                chains.push(with_flow(query, chain, &things));
            }
        }
        Ok(ComposeResult { chains, complete: composed.complete, seq })
    }

    /// Reads the descriptions of a chain that aren't read yet; whether all are there.
    fn read_things(&self, chain: &compatible::Chain, things: &mut HashMap<String, Value>) -> Result<bool> {
        for step in &chain.steps {
            if things.contains_key(&step.id) {
                continue;
            }
            let Some(thing) = self.find(&step.id)? else { return Ok(false) };
            let thing = serde_json::from_str(thing.text())
                .map_err(|source| Error::Store { doing: "reading a stored description", source: source.into() })?;
            things.insert(step.id.clone(), thing);
        }
        Ok(true)
    }
}

fn with_flow(query: &ComposeQuery, chain: compatible::Chain, things: &HashMap<String, Value>) -> Chain {
    let steps = chain.steps.iter().filter_map(|step| {
        let thing = things.get(&step.id)?;
        Some(FlowStep { thing, capability: &step.capability, inputs: links(&step.input) })
    });
    let flow = flow_of(&query.have, &query.want, &steps.collect::<Vec<_>>(), &links(&chain.output));
    let (flow, flow_problem) = match flow {
        Ok(flow) => (Some(flow), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let compatible::Chain { fit, relevance, steps, output } = chain;
    Chain { fit, relevance, steps, output, flow, flow_problem }
}

fn links(links: &[StepLink]) -> Vec<FlowLink<'_>> {
    let link = |link: &'_ StepLink| link.step.map(|step| step.saturating_sub(1));
    links.iter().map(|of| FlowLink { step: link(of), from: &of.from, to: &of.to }).collect()
}
