//! Adoption of another document's notation, since programs that read a document and write it again may spell some
//! values differently.

use serde_json::{Map, Number, Value};

/// Integers beyond this have no exact form as a float.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// A value with what it has in common with another spelled as it is there: `600` is `600.0`, and what isn't there in a
/// component of Agent Spec is `null` or an empty object.
pub(crate) fn spelled_like(other: &Value, value: Value) -> Value {
    match (other, value) {
        (Value::Number(other), Value::Number(value)) if is_same_number(other, &value) => other.clone().into(),
        (Value::Object(other), Value::Object(members)) => members_like(other, members).into(),
        (Value::Array(other), Value::Array(elements)) if other.len() == elements.len() => {
            other.iter().zip(elements).map(|(other, element)| spelled_like(other, element)).collect()
        }
        (_, value) => value,
    }
}

fn members_like(other: &Map<String, Value>, members: Map<String, Value>) -> Map<String, Value> {
    let is_component = members.contains_key("component_type");
    let absent = |value: &Value| is_component && (value.is_null() || value.as_object().is_some_and(Map::is_empty));
    let added = other.iter().filter(|(name, value)| absent(value) && !members.contains_key(*name));
    let added: Vec<(String, Value)> = added.map(|(name, value)| (name.clone(), value.clone())).collect();
    let kept = members.into_iter().filter_map(|(name, value)| match other.get(&name) {
        Some(other) if absent(other) && absent(&value) => Some((name, other.clone())),
        Some(other) => Some((name, spelled_like(other, value))),
        None => (!absent(&value)).then_some((name, value)),
    });
    kept.chain(added).collect()
}

fn is_same_number(one: &Number, other: &Number) -> bool {
    let exact = |number: &Number| number.as_f64().filter(|float| float.abs() <= LARGEST_EXACT);
    one.is_f64() != other.is_f64() && exact(one).is_some() && exact(one) == exact(other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_spelling_changes() {
        let other = json!({"a": [600.0, {"b": 2}], "component_type": "X", "metadata": {}, "big": 9007199254740994_u64});
        for (value, is_same) in [
            (json!({"a": [600, {"b": 2.0}], "component_type": "X", "big": 9007199254740994_u64}), true),
            (
                json!({"a": [600, {"b": 2}], "component_type": "X", "metadata": null, "description": null, "big": 9007199254740994_u64}),
                true,
            ),
            (json!({"a": [600, {"b": 2, "c": {}}], "component_type": "X", "big": 9007199254740994_u64}), false),
            (json!({"a": [601, {"b": 2}], "component_type": "X", "big": 9007199254740994_u64}), false),
            (json!({"a": [600, {"b": 2}], "component_type": "X", "big": 9007199254740994.0}), false),
            (json!({"a": [600, {"b": 2}], "metadata": {}, "big": 9007199254740994_u64}), false),
        ] {
            assert_eq!(spelled_like(&other, value.clone()) == other, is_same, "{value}");
        }
    }
}
