//! Security requirements: a list of alternatives, each with schemes that are required together.
//!
//! Version 0.x has the form `[{"a": [scopes], "b": []}, {"c": []}]`, version 1.0 `[{"schemes": {"a": {"list":
//! [scopes]}}}]`.

use serde_json::{Map, Value, json};

use super::Generation;

type Object = Map<String, Value>;

/// One alternative: the schemes that are needed together, with the scopes that are asked for.
pub(super) type Alternative = Vec<(String, Vec<String>)>;

/// Security requirements of a card or skill, as far as they can be read.
#[derive(Debug, Default)]
pub(super) struct Requirements {
    pub(super) alternatives: Vec<Alternative>,
    /// Number of elements that can't be read.
    pub(super) unread: usize,
    /// True if there are members that only 1.0 has room for, which no table knows.
    pub(super) has_more: bool,
}

/// The name of the member that has the requirements.
pub(super) fn member(generation: Generation) -> &'static str {
    match generation {
        Generation::V0 => "security",
        Generation::V1 => "securityRequirements",
    }
}

/// An empty list says no more than none (it is the default, which signatures don't cover), and hides no others.
fn says_something(found: &Value) -> bool {
    !found.is_null() && found.as_array().is_none_or(|list| !list.is_empty())
}

/// Gives a card or skill the requirements of 1.0: those of its generation, else those of the other. What 1.0
/// says beside requirements of its own to readers of 0.3 stays. What can't be read stays as it is.
pub(super) fn normalize(owner: &mut Object, generation: Generation) {
    let [own, other] = match generation {
        Generation::V0 => [Generation::V0, Generation::V1],
        Generation::V1 => [Generation::V1, Generation::V0],
    }
    .map(member);
    let speaks = |name: &str| owner.get(name).is_some_and(says_something);
    let source = if speaks(own) || !speaks(other) { own } else { other };
    let found = owner.remove(source);
    if generation == Generation::V0 || source == other {
        // An empty list stays one.
        let empty = [own, other].into_iter().filter_map(|name| owner.remove(name)).find(Value::is_array);
        let Some(found) = found.or(empty) else { return };
        owner.insert(member(Generation::V1).to_owned(), normal(found, generation));
    } else if let Some(found) = found {
        owner.insert(own.to_owned(), normal(found, generation));
    }
}

fn normal(requirements: Value, generation: Generation) -> Value {
    let elements = match requirements {
        Value::Array(elements) => elements,
        Value::Null => Vec::new(),
        one => vec![one],
    };
    elements.into_iter().map(|element| normal_element(element, generation)).collect()
}

fn normal_element(element: Value, generation: Generation) -> Value {
    let unscoped = |name: &str| (name.to_owned(), json!({"list": []}));
    let mut members = match element {
        Value::String(name) => return with_schemes(Object::from_iter([unscoped(&name)])),
        Value::Object(members) => members,
        unreadable => return unreadable,
    };
    match members.get_mut("schemes") {
        Some(Value::Object(schemes)) => schemes.values_mut().for_each(normalize_scopes),
        // In 0.x it is a scheme of that name, with its scopes.
        Some(Value::Array(names)) if generation == Generation::V1 => {
            if let Some(names) = names.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
                let schemes: Object = names.into_iter().map(unscoped).collect();
                members.insert("schemes".to_owned(), schemes.into());
            }
        }
        _ => {
            members.values_mut().for_each(normalize_scopes);
            return with_schemes(members);
        }
    }
    Value::Object(members)
}

fn with_schemes(schemes: Object) -> Value {
    Value::Object(Object::from_iter([("schemes".to_owned(), schemes.into())]))
}

fn normalize_scopes(scopes: &mut Value) {
    let mut members = match scopes.take() {
        Value::Object(members) => members,
        list => Object::from_iter([("list".to_owned(), list)]),
    };
    let list: Value = match members.remove("list") {
        Some(Value::Array(scopes)) => scopes.into_iter().filter(Value::is_string).collect(),
        Some(Value::String(scope)) => json!([scope]),
        _ => json!([]),
    };
    members.insert("list".to_owned(), list);
    *scopes = members.into();
}

/// Reads the requirements of a normalized card or skill; what can't be read is passed over and counted.
pub(super) fn of(owner: &Object) -> Requirements {
    let elements = owner.get(member(Generation::V1)).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let alternatives: Vec<Alternative> = elements.iter().filter_map(alternative).collect();
    let unread = elements.len() - alternatives.len();
    Requirements { alternatives, unread, has_more: elements.iter().any(has_more) }
}

fn alternative(element: &Value) -> Option<Alternative> {
    let texts = |scopes: &Value| -> Vec<String> {
        let list = scopes.get("list").and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let schemes = element.get("schemes")?.as_object()?;
    Some(schemes.iter().map(|(name, scopes)| (name.clone(), texts(scopes))).collect())
}

/// Takes out what can't be read.
pub(super) fn retain_readable(owner: &mut Object) {
    if let Some(Value::Array(elements)) = owner.get_mut(member(Generation::V1)) {
        elements.retain(|element| element.get("schemes").is_some_and(Value::is_object));
    }
}

fn has_more(element: &Value) -> bool {
    let has_more_than = |value: &Value, name: &str| {
        value.as_object().is_some_and(|members| members.keys().any(|member| member != name))
    };
    let schemes = element.get("schemes").and_then(Value::as_object);
    let is_scoped = |schemes: &Object| schemes.values().any(|scopes| has_more_than(scopes, "list"));
    schemes.is_some_and(|schemes| has_more_than(element, "schemes") || is_scoped(schemes))
}

/// Writes requirements in the spelling of a generation.
pub(super) fn write(alternatives: &[Alternative], generation: Generation) -> Value {
    let write_alternative = |alternative: &Alternative| -> Value {
        let scopes = |scopes: &Vec<String>| match generation {
            Generation::V0 => json!(scopes),
            Generation::V1 => json!({"list": scopes}),
        };
        let schemes: Object = alternative.iter().map(|(name, wanted)| (name.clone(), scopes(wanted))).collect();
        match generation {
            Generation::V0 => Value::Object(schemes),
            Generation::V1 => with_schemes(schemes),
        }
    };
    alternatives.iter().map(write_alternative).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(owner: Value, generation: Generation) -> Value {
        let mut owner = owner.as_object().cloned().unwrap_or_default();
        normalize(&mut owner, generation);
        owner.into()
    }

    #[test]
    fn empty_requirements_hide_no_others() {
        let asked = json!([{"schemes": {"oauth": {"list": ["pay"]}}}]);
        for nothing in [json!([]), Value::Null] {
            for (own, other) in [("security", "securityRequirements"), ("securityRequirements", "security")] {
                let owner = json!({own: nothing, other: [{"oauth": ["pay"]}]});
                for generation in [Generation::V0, Generation::V1] {
                    let found = normalized(owner.clone(), generation);
                    assert_eq!(found["securityRequirements"], asked, "{owner} {generation}");
                }
            }
        }
        for generation in [Generation::V0, Generation::V1] {
            let nothing = json!({"securityRequirements": []});
            assert_eq!(normalized(nothing.clone(), generation), nothing);
        }
        assert_eq!(normalized(json!({"security": []}), Generation::V0), json!({"securityRequirements": []}));
    }

    #[test]
    fn what_is_said_to_readers_of_0_3_stays_beside_requirements_of_1_0() {
        let both = json!({"security": [{"k": []}, {}], "securityRequirements": [{"schemes": {"k": {"list": []}}}]});
        assert_eq!(normalized(both.clone(), Generation::V1), both);
        let old = json!({"securityRequirements": [{"schemes": {"k": {"list": []}}}, {"schemes": {}}]});
        assert_eq!(normalized(both, Generation::V0), old);
    }

    #[test]
    fn a_scheme_may_be_called_schemes_in_0_x() {
        let odd = json!({"security": [{"schemes": ["a"]}]});
        let named = |names: Value| json!({"securityRequirements": [{"schemes": names}]});
        assert_eq!(normalized(odd, Generation::V0), named(json!({"schemes": {"list": ["a"]}})));
        assert_eq!(normalized(named(json!(["a"])), Generation::V1), named(json!({"a": {"list": []}})));
    }
}
