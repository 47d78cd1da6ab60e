//! Keywords of a single schema, without references and combinations.

use serde_json::{Map, Number, Value};

use super::schema::{
    At, Bound, Count, Kinds, Lists, Member, Node, Numbers, Objects, Parts, Texts, compare, normalized, order, whole,
};

/// The maximum number of required members of an object.
const MAX_MEMBERS: usize = 2_000;
/// Maximum number of values compared in an `enum`.
const MAX_VALUES: usize = 1_000;
/// Keywords that aren't compared.
const UNKNOWN: [&str; 11] = [
    "not",
    "if",
    "patternProperties",
    "propertyNames",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
];
/// Further keywords represented in a node.
const OWN: [&str; 32] = [
    "type",
    "nullable",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "unit",
    "contentMediaType",
    "contentEncoding",
    "items",
    "prefixItems",
    "additionalItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "$recursiveRef",
];

/// True if the schema is a bare `$ref`.
pub(super) fn is_reference(keywords: &Map<String, Value>) -> bool {
    keywords.keys().filter(|name| is_compared(name)).all(|name| name == "$ref")
}

/// True if a keyword says something about values.
fn is_compared(name: &str) -> bool {
    OWN.contains(&name) || UNKNOWN.contains(&name)
}

/// Reader for nested schemas.
pub(super) type Inner<'r, 'v> = &'r mut dyn FnMut(&'v Value) -> At;

/// The node of a schema's own keywords.
pub(super) fn own<'v>(keywords: &'v Map<String, Value>, inner: Inner<'_, 'v>) -> Node {
    let stated = keywords.get("type").and_then(types);
    // Most schemas have a type and texts for people.
    if !keywords.keys().any(|name| name != "type" && is_compared(name)) {
        return Node { kinds: stated.unwrap_or(Kinds::ALL), is_typed: stated.is_some(), parts: None };
    }
    let values = values(keywords, stated.unwrap_or(Kinds::ALL));
    let mut kinds = stated.unwrap_or(Kinds::ALL);
    let numbers = numbers(keywords);
    if numbers.as_ref().is_some_and(|numbers| numbers.multiples.iter().any(|of| whole(of).is_some())) {
        kinds = narrowed(kinds);
    }
    if let Some(values) = &values {
        kinds = values.iter().map(Kinds::of).fold(Kinds::NONE, Kinds::or);
    }
    let is_typed = stated.is_some() || values.is_some();
    if is_typed && keywords.get("nullable") == Some(&Value::Bool(true)) && values.is_none() {
        kinds = kinds.or(Kinds::NULL);
    }
    let is_unknown = |name: &&&str| keywords.contains_key(**name);
    let text = |name: &str| keywords.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let parts = Parts {
        branches: None,
        values: values.filter(|values| values.len() <= MAX_VALUES),
        numbers: numbers.map(Box::new),
        texts: texts(keywords).map(Box::new),
        lists: lists(keywords, inner).map(Box::new),
        objects: objects(keywords, inner).map(Box::new),
        formats: text("format").into_iter().map(Into::into).collect(),
        unit: text("unit").map(Into::into),
        unknown: UNKNOWN.iter().find(is_unknown).copied(),
    };
    let parts = (parts != Parts::default()).then(|| Box::new(parts));
    Node { kinds, is_typed, parts }
}

/// Removes fractions from the types, since multiples of an integer are integers.
fn narrowed(kinds: Kinds) -> Kinds {
    match kinds.has(Kinds::FRACTION) {
        true => kinds
            .and(Kinds::INTEGER.or(Kinds::TEXT).or(Kinds::LIST).or(Kinds::OBJECT).or(Kinds::BOOLEAN).or(Kinds::NULL)),
        false => kinds,
    }
}

fn types(stated: &Value) -> Option<Kinds> {
    match stated {
        Value::String(name) => Kinds::named(name),
        Value::Array(names) => {
            let kinds = names.iter().filter_map(|name| Kinds::named(name.as_str()?));
            kinds.reduce(Kinds::or)
        }
        _ => None,
    }
}

/// Returns the sorted values of `const` or `enum` with one of the given types.
fn values(keywords: &Map<String, Value>, kinds: Kinds) -> Option<Box<[Value]>> {
    let constant = keywords.get("const").map(std::slice::from_ref);
    let listed = constant.or_else(|| keywords.get("enum")?.as_array().map(Vec::as_slice))?;
    let mut values: Vec<Value> = listed.iter().map(normalized).filter(|value| kinds.has(Kinds::of(value))).collect();
    if keywords.get("nullable") == Some(&Value::Bool(true)) {
        values.push(Value::Null);
    }
    values.sort_by(order);
    values.dedup();
    Some(values.into())
}

fn numbers(keywords: &Map<String, Value>) -> Option<Numbers> {
    let number = |name: &str| keywords.get(name).and_then(Value::as_number).cloned();
    let bound = |plain: &str, exclusive: &str, is_tighter: fn(&Number, &Number) -> bool| {
        let own =
            number(plain).map(|at| Bound { at, is_exclusive: keywords.get(exclusive) == Some(&Value::Bool(true)) });
        let other = number(exclusive).map(|at| Bound { at, is_exclusive: true });
        match (own, other) {
            (Some(own), Some(other)) => Some(if is_tighter(&own.at, &other.at) { own } else { other }),
            (own, other) => own.or(other),
        }
    };
    let numbers = Numbers {
        least: bound("minimum", "exclusiveMinimum", |own, other| compare(own, other).is_gt()),
        most: bound("maximum", "exclusiveMaximum", |own, other| compare(own, other).is_lt()),
        multiples: number("multipleOf").filter(|of| of.as_f64().is_some_and(|of| of > 0.0)).into_iter().collect(),
    };
    (numbers != Numbers::default()).then_some(numbers)
}

fn texts(keywords: &Map<String, Value>) -> Option<Texts> {
    let text = |name: &str| keywords.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let texts = Texts {
        length: count(keywords, "minLength", "maxLength"),
        patterns: text("pattern").into_iter().map(Into::into).collect(),
        media: text("contentMediaType").map(|media| media.to_ascii_lowercase().into()),
        encoding: text("contentEncoding").map(|encoding| encoding.to_ascii_lowercase().into()),
    };
    (texts != Texts::default()).then_some(texts)
}

fn count(keywords: &Map<String, Value>, least: &str, most: &str) -> Count {
    let whole = |name: &str| {
        let number = keywords.get(name)?;
        number.as_u64().or_else(|| number.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64))
    };
    Count { least: whole(least).unwrap_or(0), most: whole(most) }
}

fn lists<'v>(keywords: &'v Map<String, Value>, inner: Inner<'_, 'v>) -> Option<Lists> {
    let (first, others) = match (keywords.get("prefixItems"), keywords.get("items")) {
        (Some(Value::Array(first)), others) => (first.as_slice(), others),
        // As Draft 7 has it.
        (_, Some(Value::Array(first))) => (first.as_slice(), keywords.get("additionalItems")),
        (_, others) => (&[][..], others),
    };
    let mut lists = Lists {
        length: count(keywords, "minItems", "maxItems"),
        is_unique: keywords.get("uniqueItems") == Some(&Value::Bool(true)),
        ..Lists::default()
    };
    lists.first = first.iter().map(&mut *inner).collect();
    match others {
        Some(Value::Bool(false)) => lists.length = lists.length.and(Count { least: 0, most: Some(first.len() as u64) }),
        Some(others @ Value::Object(_)) => lists.others = Some(inner(others)),
        _ => {}
    }
    let is_there = lists != Lists::default() || keywords.contains_key("items");
    is_there.then_some(lists)
}

fn objects<'v>(keywords: &'v Map<String, Value>, inner: Inner<'_, 'v>) -> Option<Objects> {
    let listed = keywords.get("properties").and_then(Value::as_object);
    let required = keywords.get("required").and_then(Value::as_array);
    let others = keywords.get("additionalProperties");
    let count = count(keywords, "minProperties", "maxProperties");
    if listed.is_none() && required.is_none_or(Vec::is_empty) && others.is_none() && count == Count::default() {
        return None;
    }
    let mut members: Vec<Member> = listed
        .into_iter()
        .flatten()
        .map(|(name, schema)| Member { name: name.as_str().into(), at: inner(schema), is_required: false })
        .collect();
    members.sort_by(|one, two| one.name.cmp(&two.name));
    let has_patterns = keywords.contains_key("patternProperties");
    let others_at = match others {
        Some(Value::Bool(false)) if !has_patterns => Some(inner(&Value::Bool(false))),
        Some(others @ Value::Object(_)) if !has_patterns => Some(inner(others)),
        _ => None,
    };
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    for name in names {
        match members.binary_search_by(|member| (*member.name).cmp(name)) {
            Ok(at) => members.iter_mut().skip(at).take(1).for_each(|member| member.is_required = true),
            Err(at) if members.len() < MAX_MEMBERS => {
                let any = others_at.unwrap_or_else(|| inner(&Value::Bool(true)));
                members.insert(at, Member { name: name.into(), at: any, is_required: true });
            }
            Err(_) => {}
        }
    }
    Some(Objects {
        members: members.into(),
        others: others_at,
        is_open: others == Some(&Value::Bool(true)) || has_patterns,
        is_listed: listed.is_some(),
        count,
    })
}
