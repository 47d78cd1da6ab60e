//! Security requirements: alternatives of schemes that are needed together.
//!
//! 0.x writes `[{"a": [scopes], "b": []}, {"c": []}]`, 1.0 `[{"schemes": {"a": {"list": [scopes]}}}]`.

use serde_json::{Map, Value, json};

use super::Generation;

/// One alternative: the schemes that are needed together, with the scopes that are asked for.
pub(super) type Alternative = Vec<(String, Vec<String>)>;

/// What was read of requirements.
pub(super) struct Requirements {
    pub(super) alternatives: Vec<Alternative>,
    /// How many elements can't be read.
    pub(super) unread: usize,
    /// Whether there are members that only 1.0 has room for, which no table knows.
    pub(super) has_more: bool,
}

/// Reads requirements in either spelling; what can't be read is passed over and counted.
pub(super) fn read(requirements: &Value, generation: Generation) -> Requirements {
    let elements = match requirements {
        Value::Array(elements) => elements.as_slice(),
        one => std::slice::from_ref(one),
    };
    let alternatives: Vec<Alternative> =
        elements.iter().filter_map(|element| read_alternative(element, generation)).collect();
    let unread = elements.len() - alternatives.len();
    Requirements { alternatives, unread, has_more: elements.iter().any(has_more) }
}

fn read_alternative(element: &Value, generation: Generation) -> Option<Alternative> {
    let unscoped = |names: &[Value]| names.iter().map(|name| Some((name.as_str()?.to_owned(), Vec::new()))).collect();
    let schemes = match element {
        Value::String(name) => return Some(vec![(name.clone(), Vec::new())]),
        Value::Object(members) => match members.get("schemes") {
            Some(Value::Object(schemes)) => schemes,
            // In 0.x it is a scheme of that name, with its scopes.
            Some(Value::Array(names)) if generation == Generation::V1 => return unscoped(names),
            _ => members,
        },
        _ => return None,
    };
    Some(schemes.iter().map(|(name, scopes)| (name.clone(), read_scopes(scopes))).collect())
}

fn has_more(element: &Value) -> bool {
    let Some(Value::Object(schemes)) = element.get("schemes") else { return false };
    let has_more_than = |value: &Value, name: &str| {
        value.as_object().is_some_and(|members| members.keys().any(|member| member != name))
    };
    has_more_than(element, "schemes") || schemes.values().any(|scopes| has_more_than(scopes, "list"))
}

fn read_scopes(scopes: &Value) -> Vec<String> {
    let list = match scopes {
        Value::Object(members) => members.get("list").unwrap_or(&Value::Null),
        other => other,
    };
    match list {
        Value::Array(scopes) => scopes.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(scope) => vec![scope.clone()],
        _ => Vec::new(),
    }
}

/// Writes requirements in the spelling of a generation.
pub(super) fn write(alternatives: &[Alternative], generation: Generation) -> Value {
    let write_alternative = |alternative: &Alternative| -> Value {
        let scopes = |scopes: &Vec<String>| match generation {
            Generation::V0 => json!(scopes),
            Generation::V1 => json!({"list": scopes}),
        };
        let schemes: Map<String, Value> =
            alternative.iter().map(|(name, wanted)| (name.clone(), scopes(wanted))).collect();
        match generation {
            Generation::V0 => Value::Object(schemes),
            Generation::V1 => json!({"schemes": schemes}),
        }
    };
    alternatives.iter().map(write_alternative).collect()
}

/// The name of the member that has the requirements.
pub(super) fn member(generation: Generation) -> &'static str {
    match generation {
        Generation::V0 => "security",
        Generation::V1 => "securityRequirements",
    }
}

/// The requirements of a card or skill: those of its generation, else those of the other. An empty list
/// says no more than none (it is the default, which signatures don't cover), and hides no others.
pub(super) fn of(owner: &Map<String, Value>, generation: Generation) -> Option<&Value> {
    let (own, other) = match generation {
        Generation::V0 => ("security", "securityRequirements"),
        Generation::V1 => ("securityRequirements", "security"),
    };
    let says_something = |found: &&Value| !found.is_null() && found.as_array().is_none_or(|list| !list.is_empty());
    [own, other].into_iter().filter_map(|name| owner.get(name)).find(says_something)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_requirements_hide_no_others() {
        let asked = json!([{"oauth": ["pay"]}]);
        for nothing in [json!([]), Value::Null] {
            for (own, other) in [("security", "securityRequirements"), ("securityRequirements", "security")] {
                let owner = json!({own: nothing, other: asked});
                for generation in [Generation::V0, Generation::V1] {
                    assert_eq!(owner.as_object().and_then(|owner| of(owner, generation)), Some(&asked), "{owner}");
                }
            }
        }
    }
}
