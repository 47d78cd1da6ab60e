//! Dice and shuffled lists, as tools.

use futures_util::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::mcp::{Hints, Tool, Tools};

/// The most dice of a roll.
const MAX_DICE: u64 = 100;
/// The most sides of a die.
const MAX_SIDES: u64 = 1000;
/// The most items of a list.
const MAX_ITEMS: usize = 1000;

/// The tools `roll` and `shuffle`.
pub(super) struct Dice {
    /// Called with the tool, its arguments and its result.
    report: Box<dyn Fn(String, Value, Value) + Send + Sync>,
}

/// The arguments of `roll`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Roll {
    #[serde(default = "one")]
    dice: u64,
    #[serde(default = "six")]
    sides: u64,
    #[serde(default)]
    seed: Option<u64>,
}

/// The arguments of `shuffle`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shuffle {
    items: Vec<Value>,
    #[serde(default)]
    seed: Option<u64>,
}

fn one() -> u64 {
    1
}

fn six() -> u64 {
    6
}

impl Dice {
    pub(super) fn new(report: impl Fn(String, Value, Value) + Send + Sync + 'static) -> Dice {
        Dice { report: Box::new(report) }
    }
}

impl Tools for Dice {
    fn name(&self) -> &'static str {
        "dice"
    }

    fn list(&self) -> Vec<Tool> {
        let seed = |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
        let roll = json!({"type": "object", "additionalProperties": false, "properties": {
            "dice": {"type": "integer", "minimum": 1, "maximum": MAX_DICE, "default": 1},
            "sides": {"type": "integer", "minimum": 2, "maximum": MAX_SIDES, "default": 6},
            "seed": seed("Makes the result repeatable."),
        }});
        let rolled = json!({"type": "object", "required": ["rolled", "sum"], "properties": {
            "rolled": {"type": "array", "items": {"type": "integer"}}, "sum": {"type": "integer"},
        }});
        let shuffle = json!({"type": "object", "additionalProperties": false, "required": ["items"], "properties": {
            "items": {"type": "array", "maxItems": MAX_ITEMS}, "seed": seed("Makes the order repeatable."),
        }});
        let shuffled =
            json!({"type": "object", "required": ["shuffled"], "properties": {"shuffled": {"type": "array"}}});
        let tool = |name, title, description, input, output| Tool {
            name,
            title,
            description,
            input: members(input),
            output: members(output),
            hints: Hints::READ,
        };
        vec![
            tool("roll", "Roll dice", "Rolls dice and adds them up.", roll, rolled),
            tool("shuffle", "Shuffle a list", "Returns the items of a list in random order.", shuffle, shuffled),
        ]
    }

    fn call<'a>(&'a self, name: &'a str, arguments: Map<String, Value>) -> BoxFuture<'a, Result<Value, String>> {
        async move {
            let input = Value::Object(arguments);
            let result = match name {
                "roll" => roll(read(&input)?)?,
                "shuffle" => shuffle(read(&input)?)?,
                _ => return Err(format!("unknown tool {name:?}; the tools are roll and shuffle")),
            };
            (self.report)(name.to_owned(), input, result.clone());
            Ok(result)
        }
        .boxed()
    }
}

fn members(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn read<'a, T: Deserialize<'a>>(arguments: &'a Value) -> Result<T, String> {
    T::deserialize(arguments).map_err(|error| error.to_string())
}

fn roll(Roll { dice, sides, seed }: Roll) -> Result<Value, String> {
    if !(1..=MAX_DICE).contains(&dice) {
        return Err(format!("dice: {dice} is not between 1 and {MAX_DICE}"));
    }
    if !(2..=MAX_SIDES).contains(&sides) {
        return Err(format!("sides: {sides} is not between 2 and {MAX_SIDES}"));
    }
    let mut chance = Chance::new(seed);
    let rolled: Vec<u64> = (0..dice).map(|_| 1 + chance.below(sides)).collect();
    Ok(json!({"rolled": rolled, "sum": rolled.iter().sum::<u64>()}))
}

fn shuffle(Shuffle { mut items, seed }: Shuffle) -> Result<Value, String> {
    if items.len() > MAX_ITEMS {
        return Err(format!("items: {} exceeds the maximum of {MAX_ITEMS}", items.len()));
    }
    let mut chance = Chance::new(seed);
    // Fisher and Yates.
    for last in (1..items.len()).rev() {
        let other = chance.below(last as u64 + 1) as usize;
        items.swap(last, other);
    }
    Ok(json!({"shuffled": items}))
}

/// Numbers by chance, the same for the same seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn new(seed: Option<u64>) -> Chance {
        Chance(seed.unwrap_or_else(|| Uuid::new_v4().as_u64_pair().0))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a small maximum, so that the remainder favours none noticeably.
    fn below(&mut self, maximum: u64) -> u64 {
        self.next() % maximum
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn call(name: &str, arguments: Value) -> Result<Value, String> {
        pollster::block_on(Dice::new(|_, _, _| {}).call(name, members(arguments)))
    }

    #[test]
    fn a_seed_repeats_a_roll_and_an_order() {
        let rolled = call("roll", json!({"dice": 100, "seed": 7})).unwrap();
        assert_eq!(rolled, call("roll", json!({"dice": 100, "seed": 7})).unwrap());
        assert_ne!(rolled, call("roll", json!({"dice": 100, "seed": 8})).unwrap());
        let faces: HashSet<u64> =
            rolled["rolled"].as_array().unwrap().iter().map(|die| die.as_u64().unwrap()).collect();
        assert_eq!(faces, (1..=6).collect());
        let shuffled = call("shuffle", json!({"items": [1, 2, 3, 4, 5], "seed": 7})).unwrap();
        let mut items: Vec<u64> = serde_json::from_value(shuffled["shuffled"].clone()).unwrap();
        assert_eq!(shuffled, call("shuffle", json!({"items": [1, 2, 3, 4, 5], "seed": 7})).unwrap());
        items.sort_unstable();
        assert_eq!(items, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn description_has_the_tools_with_their_schemas() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/demo/dice.json");
        let description: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let tools: Map<String, Value> = Dice::new(|_, _, _| {}).list().into_iter().map(as_action).collect();
        let mut actions = description["actions"].clone();
        for (name, action) in actions.as_object_mut().unwrap() {
            let action = action.as_object_mut().unwrap();
            assert_eq!(action.remove("forms").unwrap()[0]["mcp:tool"], json!(name));
        }
        assert_eq!(actions, Value::Object(tools));
    }

    /// A tool as a description has it, without its form. That other arguments are refused is for tools alone.
    fn as_action(tool: Tool) -> (String, Value) {
        let Tool { name, title, description, mut input, output, .. } = tool;
        assert_eq!(input.remove("additionalProperties"), Some(json!(false)));
        let action = json!({"title": title, "description": description, "input": input, "output": output});
        (name.to_owned(), action)
    }

    #[test]
    fn wrong_arguments_are_refused_with_a_sentence() {
        for (name, arguments, expected) in [
            ("roll", json!({"dice": 0}), "dice: 0 is not between 1 and 100"),
            ("roll", json!({"sides": 1}), "sides: 1 is not between 2 and 1000"),
            ("roll", json!({"die": 1}), "unknown field `die`"),
            ("shuffle", json!({}), "missing field `items`"),
            ("flip", json!({}), "unknown tool \"flip\"; the tools are roll and shuffle"),
        ] {
            let reason = call(name, arguments).unwrap_err();
            assert!(reason.starts_with(expected), "{reason}");
        }
    }
}
