//! How often compatible search is right: pairs of schemas, and of names, that people labelled.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use agentdex::search::compatible::{Data, Relevance, Request, ShapeIndex, shapes};
use serde_json::{Value, json};

use super::{relevance::lines, shared};

/// A hit from here on fits as far as the schemas tell; one below may fail.
const FITS: f64 = 0.5;

/// The folders with labelled pairs: the project's own, and others where they are there.
fn folders() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/compatible");
    [own].into_iter().chain(shared("corpus/compatible")).collect()
}

/// The only hit for an action with this input and output.
fn hit(action: &Value, have: Option<&Value>, want: Option<&Value>) -> Option<Value> {
    let mut index = ShapeIndex::default();
    index.put("urn:x", shapes(&json!({"title": "X", "actions": {"use": action}}).to_string()).unwrap());
    let [have, want] = [have, want].map(|schema| schema.map(|schema| Data::parse(schema, "have").unwrap()));
    let request = Request {
        have: have.as_ref(),
        want: want.as_ref(),
        relevance: &Relevance::new(),
        near_misses: false,
        hidden: &HashSet::new(),
        limit: 10,
        offset: 0,
        deadline: Instant::now() + Duration::from_secs(10),
    };
    let found = index.find(&request).unwrap();
    assert!(found.hits.len() < 2, "{found:?}");
    found.hits.first().map(|hit| serde_json::to_value(hit).unwrap())
}

/// The hits where the first schema goes into the second: as `have`, and as the output of an action.
fn both_ways(from: &Value, to: &Value) -> [Option<Value>; 2] {
    [hit(&json!({"input": to}), Some(from), None), hit(&json!({"output": from}), None, Some(to))]
}

fn fit(hit: &Option<Value>) -> f64 {
    hit.as_ref().map_or(0.0, |hit| hit["fit"].as_f64().unwrap())
}

fn doubts(hit: &Value) -> Vec<&str> {
    let links = ["input", "output"].into_iter().flat_map(|side| hit[side].as_array().unwrap());
    let doubts = links.filter_map(|link| link["doubts"].as_array()).flatten();
    doubts.map(|doubt| doubt.as_str().unwrap()).collect()
}

/// How many of those that are right were found, and how many of those found are right.
#[derive(Debug, Default)]
struct Score {
    right: usize,
    wrong: usize,
    missed: usize,
}

impl Score {
    fn add(&mut self, expected: bool, found: bool) {
        match (expected, found) {
            (true, true) => self.right += 1,
            (true, false) => self.missed += 1,
            (false, true) => self.wrong += 1,
            (false, false) => {}
        }
    }

    fn assert(&self, what: &str) {
        let share = |of: usize| self.right as f64 / of.max(1) as f64;
        let (precision, recall) = (share(self.right + self.wrong), share(self.right + self.missed));
        println!("{what}: precision {precision:.3}, recall {recall:.3}");
        assert!(precision >= 0.95 && recall >= 0.95, "{what}: precision {precision:.3}, recall {recall:.3}");
    }
}

#[test]
fn schemas_that_fit_are_told_from_those_that_do_not() {
    for folder in folders() {
        let mut score = Score::default();
        for pair in lines(folder.join("pairs.jsonl")) {
            let (have, need) = (&pair["have"], &pair["need"]);
            let member = |schema: &Value| json!({"properties": {"x": schema}, "required": ["x"]});
            let hits = both_ways(&member(have), &member(need));
            for hit in &hits {
                score.add(pair["fits"] == true, fit(hit) >= FITS);
                println!("{:.2} {} {have} {need} {:?}", fit(hit), pair["fits"], hit.as_ref().map(doubts));
            }
        }
        score.assert(&folder.join("pairs.jsonl").display().to_string());
    }
}

/// The same without a member around them, where both are objects, so that their members are compared by name.
#[test]
fn members_of_the_data_itself_are_compared_by_the_same_rules() {
    for folder in folders() {
        let mut score = Score::default();
        for pair in lines(folder.join("pairs.jsonl")) {
            let (have, need) = (&pair["have"], &pair["need"]);
            let has_members =
                |schema: &Value| schema["properties"].is_object() || schema["allOf"][0]["properties"].is_object();
            if has_members(have) && has_members(need) {
                both_ways(have, need).iter().for_each(|hit| score.add(pair["fits"] == true, fit(hit) >= FITS));
            }
        }
        score.assert(&format!("members of {}", folder.join("pairs.jsonl").display()));
    }
}

#[test]
fn what_is_only_possible_says_its_doubt_below_one() {
    for folder in folders() {
        for pair in lines(folder.join("pairs.jsonl")) {
            let (have, need) = (&pair["have"], &pair["need"]);
            let member = |schema: &Value| json!({"properties": {"x": schema}, "required": ["x"]});
            for hit in both_ways(&member(have), &member(need)) {
                let Some(hit) = hit else {
                    assert_ne!(pair["fits"], true, "{pair}");
                    continue;
                };
                assert_eq!(hit["fit"] == 1.0, doubts(&hit).is_empty(), "{pair}: {hit}");
                assert!(pair["fits"] == true || hit["fit"] != 1.0, "{pair}: {hit}");
                assert!(pair["doubt"] != true || hit["fit"] != 1.0, "{pair}: {hit}");
                assert_ne!(pair["never"], true, "{pair}: {hit}");
            }
        }
    }
}

#[test]
fn names_that_mean_the_same_are_near_and_say_so() {
    for folder in folders() {
        let mut score = Score::default();
        for pair in lines(folder.join("names.jsonl")) {
            let member = |name: &str| json!({"properties": {name: {"type": "string"}}, "required": [name]});
            let (have, need) = (pair["have"].as_str().unwrap(), pair["need"].as_str().unwrap());
            for hit in both_ways(&member(have), &member(need)) {
                score.add(pair["near"] == true, hit.is_some());
                let Some(hit) = hit else { continue };
                let letters = |name: &str| name.replace('_', "").to_lowercase();
                let is_same = letters(have) == letters(need);
                assert_eq!((hit["fit"] == 1.0, doubts(&hit).is_empty()), (is_same, is_same), "{hit}");
            }
        }
        score.assert(&folder.join("names.jsonl").display().to_string());
    }
}

/// The finding: an action that takes another constant was a fit of 1.0.
#[test]
fn values_that_exclude_each_other_are_not_found() {
    let of = |values: Value| json!({"type": "object", "properties": {"x": {"type": "string", "enum": values}}, "required": ["x"]});
    let action = json!({"input": of(json!(["b"]))});
    assert_eq!(hit(&action, Some(&of(json!(["a"]))), None), None);
    assert_eq!(hit(&action, Some(&of(json!(["b"]))), None).unwrap()["fit"], 1.0);
    let both = hit(&action, Some(&of(json!(["a", "b"]))), None).unwrap();
    assert_eq!(doubts(&both), ["`x` may be \"a\""]);
}
