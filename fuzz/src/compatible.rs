//! Compatible and composed search: whatever schemas come are read or refused, and every answer is one.
//!
//! An input is a query (`have`, `want`, `near_misses`, `max_steps`) with `actions`, each of which becomes a Thing.

#![no_main]

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use agentdex::search::compatible::{ComposeRequest, Data, Relevance, Request, ShapeIndex, shapes};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|bytes: &[u8]| {
    let Ok(input) = serde_json::from_slice::<Value>(bytes) else { return };
    let mut index = ShapeIndex::default();
    let actions = input.get("actions").and_then(Value::as_array);
    for (number, action) in actions.into_iter().flatten().enumerate().take(32) {
        let thing = json!({"title": "T", "actions": {"a": action}, "lmos:capabilities": action}).to_string();
        if let Ok(shapes) = shapes(&thing) {
            index.put(&format!("urn:t:{number}"), shapes);
        }
    }
    let read = |name: &'static str| input.get(name).and_then(|schema| Data::parse(schema, name).ok());
    let (have, want) = (read("have"), read("want"));
    let (relevance, hidden) = (Relevance::new(), HashSet::new());
    let deadline = Instant::now() + Duration::from_secs(2);
    let near_misses = input.get("near_misses") == Some(&Value::Bool(true));
    let (have, want) = (have.as_ref(), want.as_ref());
    let request =
        Request { have, want, relevance: &relevance, near_misses, hidden: &hidden, limit: 100, offset: 0, deadline };
    if have.or(want).is_some() {
        let found = index.find(&request).expect("it isn't that much");
        for hit in &found.hits {
            assert!((0.0..=1.0).contains(&hit.fit), "{hit:?}");
            assert!(near_misses || hit.missing.is_none(), "{hit:?}");
        }
    }
    if let (Some(have), Some(want)) = (have, want) {
        let max_steps = input.get("max_steps").and_then(Value::as_u64).unwrap_or(3).clamp(1, 4) as usize;
        let request =
            ComposeRequest { have, want, relevance: &relevance, hidden: &hidden, max_steps, limit: 10, deadline };
        for chain in index.compose(&request).chains {
            assert!((1..=max_steps).contains(&chain.steps.len()), "{chain:?}");
            for (number, step) in chain.steps.iter().enumerate() {
                assert!(step.input.iter().all(|link| link.step.is_none_or(|from| from <= number)), "{chain:?}");
            }
        }
    }
    for number in 0..32 {
        index.remove(&format!("urn:t:{number}"));
    }
    assert!(index.is_empty() && index.distinct() == 0);
});
