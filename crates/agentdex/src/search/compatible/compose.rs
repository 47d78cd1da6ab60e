//! Composed search: chains of capabilities that lead from available data to wanted data.

use std::{cmp::Ordering, collections::HashSet, time::Instant};

use super::{
    Link, Relevance, Step, StepLink,
    fit::{Matcher, chance, rounded},
    index::{Capability, ShapeIndex},
    plan::{Plan, PlanLink, Planner, Source, Target},
    port::Data,
    reach::Reach,
};

/// Maximum number of steps in a chain.
pub const MAX_STEPS: usize = 4;
/// Maximum number of capabilities of the same shape that are tried for a step.
const ALTERNATIVES: usize = 2;

/// A request for chains of capabilities.
#[derive(Debug)]
pub struct ComposeRequest<'r> {
    /// Data available to the caller.
    pub have: &'r Data,
    /// Data wanted by the caller.
    pub want: &'r Data,
    /// Relevance of Things, as a tiebreaker between equally good chains.
    pub relevance: &'r Relevance,
    /// Ids of Things to exclude.
    pub hidden: &'r HashSet<&'r str>,
    /// Maximum number of steps in a chain, up to [`MAX_STEPS`].
    pub max_steps: usize,
    /// Maximum number of chains.
    pub limit: usize,
    /// Time at which the search for further chains stops.
    pub deadline: Instant,
}

/// Chains found by a composed search.
#[derive(Debug, Default)]
pub struct Composed {
    /// Chains, best fit first.
    pub chains: Vec<Chain>,
    /// True if all chains were compared. If false, there may be better chains.
    pub complete: bool,
}

/// A sequence of capabilities.
#[derive(Debug, Clone)]
pub struct Chain {
    /// Quality of the match between the linked data, from 0 to 1.
    pub fit: f32,
    /// Mean relevance of the Things to the query; 0 without a query.
    pub relevance: f32,
    /// Capabilities to call, in order.
    pub steps: Vec<Step>,
    /// Links into the ports of `want`.
    pub output: Vec<StepLink>,
}

/// A plan with a capability for each of its steps.
struct Candidate<'i> {
    plan: usize,
    fit: f32,
    relevance: f32,
    capabilities: Vec<Capability<'i>>,
}

impl Candidate<'_> {
    fn order(&self, other: &Self) -> Ordering {
        let ids = |candidate: &Self| {
            candidate.capabilities.iter().map(|used| (used.id.to_owned(), used.key.to_owned())).collect::<Vec<_>>()
        };
        other
            .fit
            .total_cmp(&self.fit)
            .then(other.relevance.total_cmp(&self.relevance))
            .then(self.capabilities.len().cmp(&other.capabilities.len()))
            .then_with(|| ids(self).cmp(&ids(other)))
            .then(self.plan.cmp(&other.plan))
    }
}

impl ShapeIndex {
    /// Finds chains of capabilities.
    pub fn compose(&self, request: &ComposeRequest<'_>) -> Composed {
        let (have, want) = (&*request.have.ports, &*request.want.ports);
        let matcher = Matcher::default();
        let max_steps = request.max_steps.min(MAX_STEPS);
        let reach = Reach::of(self, &matcher, have, max_steps, request.deadline);
        let mut planner =
            Planner::new(self, &matcher, &reach, have, want, request.relevance, request.hidden, request.deadline);
        planner.find(max_steps);
        let complete = reach.is_complete && planner.is_complete;
        let plans = std::mem::take(&mut planner.plans);
        let mut candidates: Vec<Candidate<'_>> =
            plans.iter().enumerate().flat_map(|(number, plan)| self.candidates_of(request, number, plan)).collect();
        candidates.sort_by(Candidate::order);
        candidates.truncate(request.limit);
        let chain = |candidate: Candidate<'_>| {
            plans.get(candidate.plan).map(|plan| self.chain(request, &matcher, plan, &candidate))
        };
        Composed { chains: candidates.into_iter().filter_map(chain).collect(), complete }
    }

    /// Returns variants of a plan: the most relevant capability for each step, and variants with the next best
    /// capability for a single step.
    fn candidates_of<'i>(&'i self, request: &ComposeRequest<'_>, number: usize, plan: &Plan) -> Vec<Candidate<'i>> {
        let relevance = |capability: &Capability<'_>| request.relevance.get(capability.id).copied().unwrap_or_default();
        let choices = plan.steps.iter().map(|shape| {
            let mut best: Vec<Capability<'_>> = Vec::with_capacity(ALTERNATIVES + 1);
            for member in self.members(*shape).filter(|member| !request.hidden.contains(member.id)) {
                let key = |one: &Capability<'_>| (relevance(one), one.id.to_owned(), one.key.to_owned());
                let is_before = |other: &Capability<'_>| {
                    let (one, two) = (relevance(&member), relevance(other));
                    one > two || one == two && (member.id, member.key) < (other.id, other.key)
                };
                let at = best.iter().position(is_before).unwrap_or(best.len());
                if at < ALTERNATIVES {
                    best.insert(at, member);
                    best.truncate(ALTERNATIVES);
                }
                debug_assert!(best.is_sorted_by(|one, two| key(one).0 >= key(two).0));
            }
            best
        });
        let choices: Vec<Vec<Capability<'_>>> = choices.collect();
        let Some(first) = choices.iter().map(|choice| choice.first().copied()).collect::<Option<Vec<_>>>() else {
            return Vec::new();
        };
        let quality: f32 = plan.links.iter().map(|link| link.supply.quality).sum();
        let least = plan.links.iter().map(|link| link.supply.certainty).max().map_or(1.0, chance);
        let fit = rounded(least * quality / plan.links.len().max(1) as f32);
        let others = choices.iter().enumerate().flat_map(|(step, choice)| {
            let first = &first;
            choice.iter().skip(1).map(move |other| {
                let mut capabilities = first.clone();
                if let Some(capability) = capabilities.get_mut(step) {
                    *capability = *other;
                }
                capabilities
            })
        });
        let candidate = |capabilities: Vec<Capability<'i>>| {
            let sum: f32 = capabilities.iter().map(relevance).sum();
            let relevance = rounded(sum / capabilities.len().max(1) as f32);
            Candidate { plan: number, fit, relevance, capabilities }
        };
        std::iter::once(first.clone()).chain(others).map(candidate).collect()
    }

    fn chain(&self, request: &ComposeRequest<'_>, matcher: &Matcher, plan: &Plan, candidate: &Candidate<'_>) -> Chain {
        let order = order(plan);
        let place = |step: usize| order.iter().position(|other| *other == step).map(|place| place + 1);
        let have = &*request.have.ports;
        let write = |link: &PlanLink| {
            let (from, step) = match link.source {
                Source::Have => (have.get(link.supply.from), None),
                Source::Step(step) => {
                    (self.get(*plan.steps.get(step)?)?.outputs.get(link.supply.from), Some(place(step)?))
                }
            };
            let to = match link.target {
                Target::Want => request.want.ports.get(link.to),
                Target::Step(step) => self.get(*plan.steps.get(step)?)?.inputs.get(link.to),
            };
            let Link { from, to, converted, doubts } = matcher.link(from?, to?, link.supply);
            Some(StepLink { step, from, to, converted, doubts })
        };
        let into = |target: Target| {
            let mut links: Vec<&PlanLink> = plan.links.iter().filter(|link| link.target == target).collect();
            links.sort_by_key(|link| link.to);
            links.into_iter().filter_map(write)
        };
        let steps = order.iter().filter_map(|&step| {
            let capability = candidate.capabilities.get(step)?;
            let shape = self.get(*plan.steps.get(step)?)?;
            let optional = shape.inputs.iter().filter(|port| !port.is_required).filter_map(|port| {
                let supply = matcher.best(have, port, false)?;
                let Link { from, to, converted, doubts } = matcher.link(have.get(supply.from)?, port, supply);
                Some(StepLink { step: None, from, to, converted, doubts })
            });
            Some(Step {
                id: capability.id.to_owned(),
                title: capability.title.map(str::to_owned),
                capability: capability.key.to_owned(),
                input: into(Target::Step(step)).chain(optional).collect(),
            })
        });
        Chain {
            fit: candidate.fit,
            relevance: candidate.relevance,
            steps: steps.collect(),
            output: into(Target::Want).collect(),
        }
    }
}

/// Returns the steps of a plan in order of their dependencies. Among the steps possible next, the last chosen comes
/// first.
fn order(plan: &Plan) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::with_capacity(plan.steps.len());
    while order.len() < plan.steps.len() {
        let is_ready = |step: &usize| {
            !order.contains(step)
                && plan.links.iter().all(|link| match (link.source, link.target) {
                    (Source::Step(source), Target::Step(target)) if target == *step => order.contains(&source),
                    _ => true,
                })
        };
        match (0..plan.steps.len()).rev().find(is_ready) {
            Some(step) => order.push(step),
            None => break,
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::{
        super::{port::Port, shape::shapes},
        *,
    };

    /// Data of a few names and types.
    fn data(most: usize) -> impl Strategy<Value = Value> {
        let type_ = prop::sample::select(&["string", "string", "integer"][..]);
        prop::collection::btree_map("[a-f]", (type_, any::<bool>()), 0..most).prop_map(|members| {
            let required: Vec<_> = members.iter().filter(|(_, (_, needed))| *needed).map(|(name, _)| name).collect();
            let properties: Map<String, Value> =
                members.iter().map(|(name, (type_, _))| (name.clone(), json!({"type": type_}))).collect();
            json!({"properties": properties, "required": required})
        })
    }

    /// True if at most `steps` more shapes, in some order, supply all that `want` requires. At least one part of it
    /// has to come from a shape.
    fn leads(
        index: &ShapeIndex,
        available: &[Port],
        have: usize,
        want: &[Port],
        used: &mut Vec<u32>,
        steps: usize,
    ) -> bool {
        let matcher = Matcher::default();
        let supply = |port: &Port| matcher.best(available, port, false).is_some();
        let given = |port: &Port| matcher.best(&available[have..], port, false).is_some();
        let wanted = || want.iter().filter(|port| port.is_required);
        if wanted().all(supply) && wanted().any(given) {
            return true;
        }
        steps > 0
            && index.all().collect::<Vec<_>>().into_iter().any(|number| {
                let shape = index.get(number).unwrap();
                if used.contains(&number) || !shape.required().all(supply) {
                    return false;
                }
                used.push(number);
                let more = [available, &shape.outputs].concat();
                let leads = leads(index, &more, have, want, used, steps - 1);
                used.pop();
                leads
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn chains_are_found_where_there_are_some_and_each_step_is_supplied(
            things in prop::collection::vec((data(3), data(3)), 1..7),
            have in data(3),
            want in data(3),
            max_steps in 1usize..4,
        ) {
            let mut index = ShapeIndex::default();
            for (n, (input, output)) in things.iter().enumerate() {
                let thing = json!({"title": "T", "actions": {"a": {"input": input, "output": output}}});
                index.put(&format!("urn:{n}"), shapes(&thing.to_string()).unwrap());
            }
            let [have, want] = [have, want].map(|schema| Data::parse(&schema, "have").unwrap());
            let request = ComposeRequest {
                have: &have, want: &want, relevance: &Relevance::new(), hidden: &HashSet::new(), max_steps,
                limit: 100, deadline: Instant::now() + Duration::from_secs(60),
            };
            let composed = index.compose(&request);
            prop_assert!(composed.complete);
            let expected = leads(&index, &have.ports, have.ports.len(), &want.ports, &mut Vec::new(), max_steps);
            prop_assert_eq!(!composed.chains.is_empty(), expected, "{:?}", composed.chains);
            for chain in &composed.chains {
                prop_assert!((1..=max_steps).contains(&chain.steps.len()));
                for (number, step) in chain.steps.iter().enumerate() {
                    prop_assert!(step.input.iter().all(|link| link.step.is_none_or(|from| from <= number)), "{chain:?}");
                    let at: usize = step.id.trim_start_matches("urn:").parse().unwrap();
                    for name in things[at].0["required"].as_array().unwrap() {
                        prop_assert!(step.input.iter().any(|link| name == link.to.as_str()), "{name} in {chain:?}");
                    }
                    let is_used = chain.steps.iter().flat_map(|step| &step.input).chain(&chain.output);
                    prop_assert!(is_used.into_iter().any(|link| link.step == Some(number + 1)), "{number} in {chain:?}");
                }
            }
        }
    }
}
