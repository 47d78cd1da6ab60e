//! Reachability: the shapes that can be supplied from available data, and the number of steps required.

use std::{collections::HashSet, sync::Arc, time::Instant};

use super::{
    super::containment::Schema,
    fit::Matcher,
    index::{ShapeIndex, ShapeNo},
    port::Port,
};

/// Number of shapes visited between readings of the clock.
const VISITED_AT_ONCE: usize = 1024;
/// Shapes that need more than this aren't reached.
const MAX_REQUIRED: usize = 64;

/// From which step on shapes can be supplied.
pub(super) struct Reach {
    /// By shape; 0: not at all.
    steps: Vec<u8>,
    /// True if the computation was completed before the deadline.
    pub is_complete: bool,
}

impl Reach {
    /// Returns the minimum number of steps needed to run a shape, including the shape itself, or `None` if it can't
    /// be supplied.
    pub fn steps(&self, shape: ShapeNo) -> Option<usize> {
        self.steps.get(shape as usize).copied().filter(|steps| *steps > 0).map(usize::from)
    }

    /// Computes the shapes reachable from `have` in up to `max_steps` steps. Stops at the deadline.
    pub fn of(index: &ShapeIndex, matcher: &Matcher, have: &[Port], max_steps: usize, deadline: Instant) -> Reach {
        let end = index.end() as usize;
        let mut reach = Reach { steps: vec![0; end], is_complete: true };
        let mut supplied = vec![0u64; end];
        let mut known: HashSet<(Arc<str>, *const Schema)> = HashSet::new();
        let mut newly: Vec<(Arc<str>, Arc<Schema>)> = Vec::new();
        add(&mut known, &mut newly, have);
        let mut visited = 0usize;
        for step in 1..=max_steps {
            let mut reached: Vec<ShapeNo> = Vec::new();
            if step == 1 {
                reached.extend(index.all().filter(|shape| starts(index, matcher, have, *shape)));
            }
            for (key, schema) in std::mem::take(&mut newly) {
                for &number in index.needing(&key) {
                    visited += 1;
                    if visited.is_multiple_of(VISITED_AT_ONCE) && Instant::now() > deadline {
                        reach.is_complete = false;
                        return reach;
                    }
                    let (Some(shape), Some(mask)) = (index.get(number), supplied.get_mut(number as usize)) else {
                        continue;
                    };
                    let before = *mask;
                    let mut required = 0;
                    for (bit, port) in shape.required().enumerate().take(MAX_REQUIRED + 1) {
                        required = bit + 1;
                        if bit < MAX_REQUIRED
                            && *mask & (1 << bit) == 0
                            && port.names.all().any(|own| *own == key)
                            && matcher.goes(&schema, &port.schema)
                        {
                            *mask |= 1 << bit;
                        }
                    }
                    if *mask != before && mask.count_ones() as usize == required {
                        reached.push(number);
                    }
                }
            }
            for number in reached {
                if let Some(steps) = reach.steps.get_mut(number as usize).filter(|steps| **steps == 0) {
                    *steps = step as u8;
                    add(&mut known, &mut newly, index.get(number).map_or(&[], |shape| &shape.outputs));
                }
            }
            if newly.is_empty() {
                break;
            }
        }
        reach
    }
}

/// True if a shape needs nothing, or only the data that has no name.
fn starts(index: &ShapeIndex, matcher: &Matcher, have: &[Port], shape: ShapeNo) -> bool {
    let Some(shape) = index.get(shape) else { return false };
    let mut required = shape.required();
    match (required.next(), required.next(), have) {
        (None, ..) => !shape.outputs.is_empty(),
        (Some(port), None, [only]) if only.is_unnamed() => matcher.goes(&only.schema, &port.schema),
        _ => false,
    }
}

/// Adds the names and schemas of ports that weren't known.
fn add(known: &mut HashSet<(Arc<str>, *const Schema)>, newly: &mut Vec<(Arc<str>, Arc<Schema>)>, ports: &[Port]) {
    for port in ports {
        for key in port.names.all() {
            if known.insert((key.clone(), Arc::as_ptr(&port.schema))) {
                newly.push((key.clone(), port.schema.clone()));
            }
        }
    }
}
