//! Plans: combinations of linked shapes that lead from available to wanted data.
//!
//! The search proceeds backwards from the wanted data. Each required port is supplied from the available data, from a
//! step already in the plan, or from a new step, which must be reachable.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
    time::Instant,
};

use super::{
    Relevance,
    fit::{Matcher, Supply},
    index::{ShapeIndex, ShapeNo},
    port::Port,
    reach::Reach,
};

/// Maximum number of shapes tried per requirement.
const MAX_PRODUCERS: usize = 48;
/// Maximum number of plans that are compared.
const MAX_PLANS: usize = 2_000;
/// Number of choices made between readings of the clock.
const CHOICES_AT_ONCE: usize = 128;

/// Source of a link: the caller's data, or the output of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Have,
    Step(usize),
}

/// Target of a link: the input of a step, or the wanted data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Step(usize),
    Want,
}

/// A link from a port of the source to a port of the target.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanLink {
    pub source: Source,
    pub target: Target,
    /// Port to be supplied; `supply` contains its source.
    pub to: usize,
    pub supply: Supply,
}

/// Steps, and how they are linked.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub steps: Vec<ShapeNo>,
    pub links: Vec<PlanLink>,
}

/// A required port of a target.
#[derive(Debug, Clone, Copy)]
struct Need {
    target: Target,
    port: usize,
}

/// Source of required data: a shape with a fitting output.
#[derive(Debug, Clone, Copy)]
struct Producer {
    shape: ShapeNo,
    supply: Supply,
}

/// Search for plans: its input, its state and the plans found so far.
pub(super) struct Planner<'p> {
    pub index: &'p ShapeIndex,
    pub matcher: &'p Matcher,
    pub reach: &'p Reach,
    pub have: &'p [Port],
    pub want: &'p [Port],
    pub relevance: &'p Relevance,
    pub hidden: &'p HashSet<&'p str>,
    pub deadline: Instant,
    pub plans: Vec<Plan>,
    pub is_complete: bool,
    producers: HashMap<(Option<ShapeNo>, usize), Rc<[Producer]>>,
    choices: usize,
    is_over: bool,
}

/// An unfinished plan, with the needs that are still open.
#[derive(Debug, Clone, Default)]
struct Draft {
    plan: Plan,
    needs: Vec<Need>,
    /// For each step, the bits of steps that use its output directly or indirectly.
    users: Vec<u8>,
}

impl<'p> Planner<'p> {
    #[expect(clippy::too_many_arguments, reason = "it has no defaults")]
    pub fn new(
        index: &'p ShapeIndex,
        matcher: &'p Matcher,
        reach: &'p Reach,
        have: &'p [Port],
        want: &'p [Port],
        relevance: &'p Relevance,
        hidden: &'p HashSet<&'p str>,
        deadline: Instant,
    ) -> Planner<'p> {
        Planner {
            index,
            matcher,
            reach,
            have,
            want,
            relevance,
            hidden,
            deadline,
            plans: Vec::new(),
            is_complete: true,
            producers: HashMap::new(),
            choices: 0,
            is_over: false,
        }
    }

    /// Finds plans with up to `max_steps`, shortest first.
    pub fn find(&mut self, max_steps: usize) {
        let wanted = self.want.iter().enumerate().filter(|(_, port)| port.is_required);
        let needs: Vec<Need> = wanted.map(|(port, _)| Need { target: Target::Want, port }).collect();
        if needs.is_empty() {
            return;
        }
        for steps in 1..=max_steps {
            self.extend(Draft { needs: needs.clone(), ..Draft::default() }, steps);
        }
    }

    /// True if it has to end.
    fn is_over(&mut self) -> bool {
        self.choices += 1;
        let is_late = self.choices.is_multiple_of(CHOICES_AT_ONCE) && Instant::now() > self.deadline;
        if !self.is_over && (is_late || self.plans.len() >= MAX_PLANS) {
            self.is_over = true;
            self.is_complete = false;
        }
        self.is_over
    }

    /// Supplies the next need of a draft in all ways, and then the others, with exactly that number of steps.
    fn extend(&mut self, mut draft: Draft, steps: usize) {
        if self.is_over() {
            return;
        }
        let Some(need) = draft.needs.pop() else {
            if draft.plan.steps.len() == steps && !self.has_detour(&draft) {
                self.plans.push(draft.plan);
            }
            return;
        };
        let Some(port) = self.port(&draft, need) else { return };
        let from_have = self.matcher.best(self.have, port, self.goes_by_type(&draft, need));
        // What may fail is tried beside what others give.
        if let (Target::Step(_), Some(supply)) = (need.target, from_have)
            && supply.is_likely()
        {
            draft.link(Source::Have, need, supply);
            return self.extend(draft, steps);
        }
        if let Some((step, supply)) = self.supply_of_step(&draft, need, port) {
            draft.link(Source::Step(step), need, supply);
            return self.extend(draft, steps);
        }
        if draft.plan.steps.len() < steps {
            for producer in self.producers(&draft, need, port).iter() {
                let is_used = draft.plan.steps.contains(&producer.shape);
                if is_used || !self.is_near(&draft, need, producer.shape, steps) {
                    continue;
                }
                let mut next = draft.clone();
                let step = next.add(producer.shape);
                next.link(Source::Step(step), need, producer.supply);
                let inputs = self.index.get(producer.shape).map_or(&[][..], |shape| &shape.inputs);
                let required = inputs.iter().enumerate().filter(|(_, port)| port.is_required);
                next.needs.extend(required.map(|(port, _)| Need { target: Target::Step(step), port }));
                self.extend(next, steps);
            }
        }
        // What is wanted and there already goes through, beside what has to be found.
        if let Some(supply) = from_have {
            draft.link(Source::Have, need, supply);
            self.extend(draft, steps);
        }
    }

    /// True if a step is redundant because its outputs are also available from other steps.
    fn has_detour(&self, draft: &Draft) -> bool {
        let is_needless = |step: usize| {
            let mut links = draft.plan.links.iter().filter(|link| link.source == Source::Step(step));
            links.all(|link| {
                let need = Need { target: link.target, port: link.to };
                let without = |other: usize| {
                    other != step && draft.users.get(step).is_some_and(|users| users & (1 << other) == 0)
                };
                self.port(draft, need).is_some_and(|port| {
                    draft.plan.steps.iter().enumerate().filter(|(other, _)| without(*other)).any(|(_, shape)| {
                        let outputs = self.index.get(*shape).map_or(&[][..], |shape| &shape.outputs);
                        self.matcher
                            .best(outputs, port, need.target == Target::Want && self.goes_by_type(draft, need))
                            .is_some()
                    })
                })
            })
        };
        (0..draft.plan.steps.len()).any(is_needless)
    }

    fn port(&self, draft: &Draft, need: Need) -> Option<&'p Port> {
        match need.target {
            Target::Want => self.want.get(need.port),
            Target::Step(step) => self.index.get(*draft.plan.steps.get(step)?)?.inputs.get(need.port),
        }
    }

    /// True if unnamed data of the caller may be matched by type: for wanted data, or for the only input of a step.
    fn goes_by_type(&self, draft: &Draft, need: Need) -> bool {
        let is_only = |ports: &[Port]| ports.len() == 1 && ports.iter().all(Port::is_unnamed);
        match need.target {
            Target::Want => is_only(self.want),
            Target::Step(step) => {
                let shape = draft.plan.steps.get(step).and_then(|shape| self.index.get(*shape));
                is_only(self.have) && shape.is_some_and(|shape| shape.required().count() == 1)
            }
        }
    }

    /// Returns a step of the draft that produces the required data without depending on the requirement.
    fn supply_of_step(&self, draft: &Draft, need: Need, port: &Port) -> Option<(usize, Supply)> {
        let steps = draft.plan.steps.iter().enumerate().filter(|(step, _)| match need.target {
            Target::Want => true,
            Target::Step(user) => *step != user && draft.users.get(user).is_some_and(|users| users & (1 << step) == 0),
        });
        let supplies = steps.filter_map(|(step, shape)| {
            let outputs = &self.index.get(*shape)?.outputs;
            Some((
                step,
                self.matcher.best(outputs, port, need.target == Target::Want && self.goes_by_type(draft, need))?,
            ))
        });
        supplies.reduce(|best, other| if other.1.score() > best.1.score() { other } else { best })
    }

    /// True if the inputs of a shape are reachable with the remaining steps, ignoring steps that depend on it.
    fn is_near(&self, draft: &Draft, need: Need, shape: ShapeNo, steps: usize) -> bool {
        let used_by = match need.target {
            Target::Want => 0,
            Target::Step(user) => 1 + draft.users.get(user).map_or(0, |users| users.count_ones() as usize),
        };
        self.reach.steps(shape).is_some_and(|needed| needed + used_by <= steps)
    }

    /// Returns the shapes that produce the required data, most promising first.
    fn producers(&mut self, draft: &Draft, need: Need, port: &Port) -> Rc<[Producer]> {
        let place = match need.target {
            Target::Want => (None, need.port),
            Target::Step(step) => (draft.plan.steps.get(step).copied(), need.port),
        };
        if let Some(known) = self.producers.get(&place) {
            return known.clone();
        }
        let mut shapes: Vec<ShapeNo> = match self.goes_by_type(draft, need) && need.target == Target::Want {
            true => self
                .index
                .all()
                .filter(|shape| self.index.get(*shape).is_some_and(|shape| shape.outputs.len() == 1))
                .collect(),
            false => port.names.all().flat_map(|key| self.index.giving(key)).copied().collect(),
        };
        shapes.sort_unstable();
        shapes.dedup();
        let is_by_type = need.target == Target::Want && self.goes_by_type(draft, need);
        let mut producers = Vec::new();
        for number in shapes {
            let Some(steps) = self.reach.steps(number) else { continue };
            let Some(shape) = self.index.get(number) else { continue };
            let Some(supply) = self.matcher.best(&shape.outputs, port, is_by_type) else { continue };
            let missing = shape.required().filter(|port| self.matcher.best(self.have, port, false).is_none()).count();
            let members = self.index.members(number).filter(|member| !self.hidden.contains(member.id));
            let relevance = members.map(|member| self.relevance.get(member.id).copied().unwrap_or_default());
            let Some(relevance) = relevance.reduce(f32::max) else { continue };
            producers.push((steps, missing, supply.score(), relevance, Producer { shape: number, supply }));
        }
        producers.sort_by(|one, other| {
            (one.0, one.1).cmp(&(other.0, other.1)).then(other.2.total_cmp(&one.2)).then(other.3.total_cmp(&one.3))
        });
        self.is_complete &= producers.len() <= MAX_PRODUCERS;
        producers.truncate(MAX_PRODUCERS);
        let producers: Rc<[Producer]> = producers.into_iter().map(|(.., producer)| producer).collect();
        self.producers.insert(place, producers.clone());
        producers
    }
}

impl Draft {
    fn add(&mut self, shape: ShapeNo) -> usize {
        self.plan.steps.push(shape);
        self.users.push(0);
        self.plan.steps.len() - 1
    }

    fn link(&mut self, source: Source, need: Need, supply: Supply) {
        self.plan.links.push(PlanLink { source, target: need.target, to: need.port, supply });
        let (Source::Step(step), Target::Step(user)) = (source, need.target) else { return };
        let users = self.users.get(user).copied().unwrap_or_default() | 1 << user;
        for (number, own) in self.users.iter_mut().enumerate() {
            if number == step || *own & (1 << step) != 0 {
                *own |= users;
            }
        }
    }
}
