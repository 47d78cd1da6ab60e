//! Cards that other people serve. They aren't part of the project; without them this test says so and ends.

use std::{collections::BTreeMap, fs, path::PathBuf};

use agentdex::convert::a2a::{Card, Generation, Options, from_thing};

use serde_json::Value;

use super::{json, rendition, thing, thing_with};
use crate::support::skipped;

/// Documents that are no cards, with what they are told. There are none.
const REFUSED: &[(&str, &str)] = &[];

/// Their file names and bytes.
pub fn cards() -> Option<Vec<(String, Vec<u8>)>> {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let folder = shared.join("corpus/a2a");
    let Ok(verdicts) = fs::read_to_string(folder.join("verdicts.jsonl")) else {
        skipped("corpus/a2a", &folder.display().to_string());
        return None;
    };
    let row = |line: &str| {
        let file = json(line.as_bytes())["file"].as_str().unwrap().to_owned();
        let bytes = fs::read(folder.join(&file)).unwrap();
        (file, bytes)
    };
    Some(verdicts.lines().map(row).collect())
}

#[test]
fn every_card_is_read_and_becomes_a_valid_thing() {
    let Some(cards) = cards() else { return };
    let mut rules: BTreeMap<String, usize> = BTreeMap::new();
    for (file, bytes) in &cards {
        let card = match Card::parse(bytes) {
            Ok(card) => card,
            Err(error) => {
                let known = REFUSED.iter().find(|(known, _)| known == file);
                assert_eq!(Some(error.to_string().as_str()), known.map(|(_, reason)| *reason), "{file}");
                continue;
            }
        };
        assert_eq!(card.generation(), Generation::V0, "{file}");
        let (thing, warnings) = thing_with(&card, &Options::default());
        let skills = json(bytes)["skills"].as_array().unwrap().len();
        assert_eq!(thing["actions"].as_object().unwrap().len(), skills.max(1), "{file}");
        for warning in &warnings {
            *rules.entry(warning.rule.to_string()).or_default() += 1;
        }
    }
    // Two cards say 1.0 and have the shape of 0.3, two call HTTP+JSON REST.
    assert_eq!(rules.get("version-mismatch"), Some(&2));
    assert_eq!(rules.get("binding-spelling"), Some(&2));
    let known = ["version-mismatch", "binding-spelling", "mode", "member-type", "member-missing", "security-open"];
    assert!(rules.keys().all(|rule| known.contains(&rule.as_str())), "{rules:?}");
}

#[test]
fn every_card_comes_back_byte_for_byte_and_says_the_same_from_its_thing() {
    let Some(cards) = cards() else { return };
    for (file, bytes) in &cards {
        let card = Card::parse(bytes).unwrap();
        let conversion = card.to_thing(&Options::default()).unwrap();
        assert_eq!(&conversion.things[0].source.bytes, bytes, "{file}");
        assert_eq!(&card.as_version(Generation::V0).bytes, bytes, "{file}");
        let rebuilt = from_thing(&thing(&card), Generation::V0).unwrap();
        let rebuilt = Card::parse(&rebuilt.bytes).unwrap();
        assert_eq!(rebuilt.generation(), Generation::V0, "{file}");
        assert_eq!(rendition(&rebuilt, Generation::V1), rendition(&card, Generation::V1), "{file}");
    }
}

#[test]
fn every_card_survives_the_way_to_1_0_and_back() {
    let Some(cards) = cards() else { return };
    for (file, bytes) in &cards {
        let card = Card::parse(bytes).unwrap();
        let new = Card::parse(&card.as_version(Generation::V1).bytes).unwrap();
        assert_eq!(new.generation(), Generation::V1, "{file}");
        assert_eq!(thing(&new)["id"], thing(&card)["id"], "{file}");
        let old = rendition(&new, Generation::V0);
        let mut original = json(bytes);
        for skill in original["skills"].as_array_mut().unwrap() {
            // What readers of both require is there, if empty.
            skill.as_object_mut().unwrap().entry("tags").or_insert_with(|| Value::Array(Vec::new()));
        }
        for name in ["name", "description", "version", "url", "skills", "provider", "iconUrl", "homepage", "security"] {
            assert_eq!(old.get(name), original.get(name), "{file}: {name}");
        }
    }
}
