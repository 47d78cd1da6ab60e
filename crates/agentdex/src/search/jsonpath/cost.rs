//! Cost of a query on a description: an upper bound for the number of visited nodes.
//!
//! Each `..` visits all descendants of its starting nodes, so a node may be visited once per ancestor. Each
//! additional selector in brackets visits as many nodes again.

use serde_json::Value;

use super::guard::Outline;
use crate::{Error, Result};

/// Maximum number of nodes visited by a query in a description.
const MAX_VISITS: usize = 4_000_000;

/// Refuses a description in which the query would visit too many nodes.
pub(super) fn check(description: &Value, outline: &Outline) -> Result<()> {
    let (nodes, depth) = measure(description);
    let repeats = depth.saturating_pow(outline.descents.saturating_sub(1));
    let visits = nodes.saturating_mul(repeats).saturating_mul(outline.selectors);
    if visits <= MAX_VISITS {
        return Ok(());
    }
    let message = format!(
        "in a description with {nodes} values, the query may visit {visits} values, more than the maximum of \
         {MAX_VISITS}; use fewer `..`, or fewer selectors in a pair of brackets"
    );
    Err(Error::QueryTooCostly { message })
}

/// Measures a value: the number of values in it, itself included, and the depth of their nesting.
fn measure(value: &Value) -> (usize, usize) {
    let sum = |(nodes, depth): (usize, usize), value: &Value| {
        let (more, below) = measure(value);
        (nodes + more, depth.max(below))
    };
    let (nodes, depth) = match value {
        Value::Array(values) => values.iter().fold((0, 0), sum),
        Value::Object(members) => members.values().fold((0, 0), sum),
        _ => (0, 0),
    };
    (nodes + 1, depth + 1)
}
