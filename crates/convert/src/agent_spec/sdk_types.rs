//! Type comparison as implemented by the reference SDK (pyagentspec 26.3.1), which partly differs from the
//! specification.
//!
//! A list of types and `anyOf` form a single union; `null` can only be cast to an equal schema; open and closed objects
//! are incompatible; and for some schemas the SDK raises an error. The SDK also extends unions while comparing them,
//! which isn't reproduced here.

use std::sync::LazyLock;

use crate::casting::effort::{Answer, Effort, Refusal};
use serde_json::{Map, Value, json};

/// The SDK gives up on a union of more types.
const MAX_ALTERNATIVES: usize = 100;
const FALSE: &Value = &Value::Bool(false);
static EMPTY: LazyLock<Value> = LazyLock::new(|| json!({}));

/// Comparisons the way the SDK does them.
#[derive(Debug, Clone, Copy)]
pub(super) struct SdkTypes<'e> {
    pub(super) effort: &'e Effort,
}

/// A schema, or what one of its basic types makes of it.
#[derive(Debug, Clone, Copy)]
enum View<'v> {
    Whole(&'v Map<String, Value>),
    Basic { kind: &'v Value, of: &'v Map<String, Value> },
}

impl<'v> View<'v> {
    fn of(schema: &'v Value) -> Result<View<'v>, Refusal> {
        schema.as_object().map(View::Whole).ok_or(Refusal::Unsupported)
    }

    fn get(self, keyword: &str) -> Option<&'v Value> {
        match self {
            View::Whole(members) => members.get(keyword),
            View::Basic { kind, .. } if keyword == "type" => Some(kind),
            View::Basic { kind, of } => match (kind.as_str()?, keyword) {
                ("array", "items") | ("object", "properties") => Some(of.get(keyword).unwrap_or(&EMPTY)),
                ("object", "additionalProperties") => Some(of.get(keyword).unwrap_or(FALSE)),
                _ => None,
            },
        }
    }

    fn get_or_empty(self, keyword: &str) -> &'v Value {
        self.get(keyword).unwrap_or(&EMPTY)
    }

    fn has(self, keyword: &str) -> bool {
        self.get(keyword).is_some()
    }

    fn keywords(self) -> Vec<&'v str> {
        match self {
            View::Whole(members) => members.keys().map(String::as_str).collect(),
            View::Basic { kind, .. } => match kind.as_str() {
                Some("array") => vec!["type", "items"],
                Some("object") => vec!["type", "properties", "additionalProperties"],
                _ => vec!["type"],
            },
        }
    }

    fn kind(self) -> Option<&'v str> {
        self.get("type")?.as_str()
    }

    fn is_number(self) -> bool {
        matches!(self.kind(), Some("number" | "integer" | "boolean"))
    }

    fn is_union(self) -> bool {
        matches!(self, View::Whole(_)) && (self.has("anyOf") || self.get("type").is_some_and(Value::is_array))
    }

    fn alternatives(self) -> Result<Vec<View<'v>>, Refusal> {
        let View::Whole(members) = self else { return Ok(vec![self]) };
        let mut alternatives = Vec::new();
        for schema in self.get("anyOf").and_then(Value::as_array).into_iter().flatten().take(MAX_ALTERNATIVES + 1) {
            alternatives.push(View::of(schema)?);
        }
        match members.get("type") {
            Some(Value::Array(kinds)) => {
                alternatives.extend(kinds.iter().map(|kind| View::Basic { kind, of: members }))
            }
            Some(kind) => alternatives.push(View::Basic { kind, of: members }),
            None => {}
        }
        if alternatives.len() > MAX_ALTERNATIVES { Err(Refusal::Unsupported) } else { Ok(alternatives) }
    }
}

impl SdkTypes<'_> {
    /// True if a value of `from` can be cast to `to`.
    pub(super) fn castable(self, from: &Value, to: &Value) -> Answer {
        self.casts(View::of(from)?, View::of(to)?)
    }

    /// True if both are the same type.
    pub(super) fn same_type(self, one: &Value, other: &Value) -> Answer {
        self.same(View::of(one)?, View::of(other)?)
    }

    /// True if `value` is of a type that is compatible with `schema`.
    pub(super) fn fits(self, value: &Value, schema: &Value) -> Answer {
        self.is_compatible(value, View::of(schema)?)
    }

    fn casts(self, from: View<'_>, to: View<'_>) -> Answer {
        self.effort.spend(1)?;
        refuse_combinations(from, to)?;
        if self.equal_views(from, to)? || !to.has("type") && !to.has("anyOf") || to.kind() == Some("string") {
            return Ok(true);
        }
        if from.is_union() || to.is_union() {
            let (sources, targets) = (from.alternatives()?, to.alternatives()?);
            self.effort.spend(sources.len() + targets.len())?;
            return all(sources, |one| any(&targets, |target| self.casts(one, *target)));
        }
        match (from.kind(), to.kind()) {
            _ if from.is_number() && to.is_number() => Ok(true),
            (Some("array"), Some("array")) => self.castable(from.get_or_empty("items"), to.get_or_empty("items")),
            (Some("object"), Some("object")) => self.object_casts(from, to),
            _ => Ok(false),
        }
    }

    fn object_casts(self, from: View<'_>, to: View<'_>) -> Answer {
        let known = from.get_or_empty("properties");
        for (name, wanted) in to.get_or_empty("properties").as_object().into_iter().flatten() {
            match known.get(name) {
                Some(property) if self.castable(property, wanted)? => {}
                _ => return Ok(false),
            }
        }
        self.additional(from, to, SdkTypes::castable)
    }

    fn same(self, one: View<'_>, other: View<'_>) -> Answer {
        self.effort.spend(1)?;
        refuse_combinations(one, other)?;
        if one.is_union() || other.is_union() {
            let (ones, others) = (one.alternatives()?, other.alternatives()?);
            self.effort.spend(ones.len() + others.len())?;
            let covered = all(ones.clone(), |one| any(&others, |other| self.same(one, *other)))?;
            return if covered { all(others, |other| any(&ones, |one| self.same(other, *one))) } else { Ok(false) };
        }
        if one.get("type") != other.get("type") {
            return Ok(false);
        }
        if one.has("items") || other.has("items") {
            let same = self.same_type(one.get_or_empty("items"), other.get_or_empty("items"))?;
            if !same {
                return Ok(false);
            }
        }
        if (one.has("properties") || other.has("properties")) && !self.same_properties(one, other)? {
            return Ok(false);
        }
        match one.has("additionalProperties") || other.has("additionalProperties") {
            true => self.additional(one, other, SdkTypes::same_type),
            false => Ok(true),
        }
    }

    fn same_properties(self, one: View<'_>, other: View<'_>) -> Answer {
        let (ones, others) = (one.get_or_empty("properties").as_object(), other.get_or_empty("properties").as_object());
        let (Some(ones), Some(others)) = (ones, others) else { return Err(Refusal::Unsupported) };
        self.effort.spend(ones.len())?;
        if ones.len() != others.len() || !ones.keys().all(|name| others.contains_key(name)) {
            return Ok(false);
        }
        if !one.has("properties") || !other.has("properties") {
            // Both are empty; the SDK looks the missing one up all the same.
            return if one.has("properties") { Ok(true) } else { Err(Refusal::Unsupported) };
        }
        for (name, property) in ones {
            if !self.same_type(property, &others[name])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn additional(self, one: View<'_>, other: View<'_>, compare: fn(Self, &Value, &Value) -> Answer) -> Answer {
        let keyword = "additionalProperties";
        match (one.get_or_empty(keyword), other.get_or_empty(keyword)) {
            (Value::Bool(one), Value::Bool(other)) => Ok(one == other),
            (Value::Bool(_), _) | (_, Value::Bool(_)) => Ok(false),
            (one, other) => compare(self, one, other),
        }
    }

    fn is_compatible(self, value: &Value, schema: View<'_>) -> Answer {
        self.effort.spend(1)?;
        if schema.is_union() {
            return any(&schema.alternatives()?, |alternative| self.is_compatible(value, *alternative));
        }
        Ok(match (schema.kind(), value) {
            (Some("null"), value) => value.is_null(),
            (Some("number" | "integer" | "boolean"), value) => value.is_number() || value.is_boolean(),
            (Some("array"), Value::Array(entries)) => {
                let items = schema.get_or_empty("items");
                return all(entries, |entry| self.fits(entry, items));
            }
            (Some("object"), Value::Object(members)) => return self.object_fits(members, schema),
            (Some("array" | "object"), _) => false,
            _ => true,
        })
    }

    fn object_fits(self, members: &Map<String, Value>, schema: View<'_>) -> Answer {
        let properties = schema.get_or_empty("properties");
        for (name, property) in properties.as_object().into_iter().flatten() {
            let fits = match members.get(name) {
                Some(member) => self.fits(member, property)?,
                None => property.get("default").is_some(),
            };
            if !fits {
                return Ok(false);
            }
        }
        let additional = schema.get_or_empty("additionalProperties");
        let others = members.iter().filter(|(name, _)| properties.get(name.as_str()).is_none());
        all(others, |(_, member)| if additional == FALSE { Ok(false) } else { self.fits(member, additional) })
    }

    /// True if both are equal as Python has it, where `1`, `1.0` and `true` are.
    pub(super) fn equal(self, one: &Value, other: &Value) -> Answer {
        self.effort.spend(1)?;
        match (one, other) {
            (Value::Object(ones), Value::Object(others)) if ones.len() == others.len() => {
                all(ones, |(name, one)| others.get(name).map_or(Ok(false), |other| self.equal(one, other)))
            }
            (Value::Array(ones), Value::Array(others)) if ones.len() == others.len() => {
                all(ones.iter().zip(others), |(one, other)| self.equal(one, other))
            }
            (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => Ok(false),
            _ => Ok(one == other || number(one).is_some_and(|one| number(other) == Some(one))),
        }
    }

    fn equal_views(self, one: View<'_>, other: View<'_>) -> Answer {
        let keywords = one.keywords();
        self.effort.spend(keywords.len())?;
        let other_length = match other {
            View::Whole(members) => members.len(),
            basic => basic.keywords().len(),
        };
        if keywords.len() != other_length {
            return Ok(false);
        }
        all(keywords, |keyword| match (one.get(keyword), other.get(keyword)) {
            (Some(one), Some(other)) => self.equal(one, other),
            _ => Ok(false),
        })
    }
}

fn refuse_combinations(one: View<'_>, other: View<'_>) -> Result<(), Refusal> {
    let combined = ["allOf", "oneOf"].iter().any(|keyword| one.has(keyword) || other.has(keyword));
    if combined { Err(Refusal::Unsupported) } else { Ok(()) }
}

fn number(value: &Value) -> Option<f64> {
    value.as_bool().map(|flag| f64::from(u8::from(flag))).or_else(|| value.as_f64())
}

/// True if `holds` for all. A comparison that can't be answered ends it, as an error ends Python's `all`.
fn all<T>(of: impl IntoIterator<Item = T>, mut holds: impl FnMut(T) -> Answer) -> Answer {
    for one in of {
        if !holds(one)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn any<T>(of: &[T], mut holds: impl FnMut(&T) -> Answer) -> Answer {
    for one in of {
        if holds(one)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The SDK's answers, as running it gives them.
    #[test]
    fn answers_are_those_of_the_sdk() {
        let unsupported = Err(Refusal::Unsupported);
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
        let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let cases = [
            (json!({"type": "null"}), json!({"type": "null"}), Ok(true), Ok(true)),
            (json!({"type": "null", "title": "a"}), json!({"type": "null"}), Ok(false), Ok(true)),
            (json!({}), json!({"type": "integer"}), Ok(false), Ok(false)),
            (json!({}), json!({"type": ["integer", "null"]}), Ok(true), Ok(false)),
            (json!({"type": "array"}), json!({"type": "array", "items": {"type": "integer"}}), Ok(false), Ok(false)),
            (open.clone(), closed.clone(), Ok(false), Ok(false)),
            (closed, open.clone(), Ok(false), Ok(false)),
            (json!({"type": "object"}), json!({"type": "object", "properties": {}}), Ok(true), unsupported),
            (json!({"type": "object", "properties": {}}), json!({"type": "object"}), Ok(true), Ok(true)),
            (json!({"oneOf": [open.clone()]}), json!({"type": "string"}), unsupported, unsupported),
            (json!({"anyOf": [open]}), json!({"anyOf": [{"allOf": []}]}), unsupported, unsupported),
            (
                json!({"type": "string", "anyOf": [{"type": "null"}]}),
                json!({"type": ["null", "string"]}),
                Ok(true),
                Ok(true),
            ),
        ];
        let effort = Effort::for_document();
        let types = SdkTypes { effort: &effort };
        for (from, to, casts, same) in cases {
            assert_eq!((types.castable(&from, &to), types.same_type(&from, &to)), (casts, same), "{from} to {to}");
        }
    }

    #[test]
    fn defaults_fit_as_the_sdk_has_it() {
        let effort = Effort::for_document();
        let fits = |value: Value, schema: Value| SdkTypes { effort: &effort }.fits(&value, &schema);
        assert_eq!(fits(json!(5), json!({"type": "string"})), Ok(true));
        assert_eq!(fits(json!(true), json!({"type": "integer"})), Ok(true));
        assert_eq!(fits(json!({}), json!({"type": "object", "properties": {"a": {}}})), Ok(false));
        assert_eq!(fits(json!({}), json!({"type": "object", "properties": {"a": {"default": 1}}})), Ok(true));
        assert_eq!(fits(json!({"b": 1}), json!({"type": "object", "additionalProperties": false})), Ok(false));
        let open = json!({"type": "object", "additionalProperties": true});
        assert_eq!(fits(json!({"b": 1}), open), Err(Refusal::Unsupported));
    }

    #[test]
    fn a_union_is_compared_up_to_a_size() {
        let union = |length: usize| json!({"anyOf": vec![json!({"type": "null"}); length]});
        let effort = Effort::for_document();
        let castable = |length| SdkTypes { effort: &effort }.castable(&union(length), &json!({"type": "null"}));
        assert_eq!(castable(MAX_ALTERNATIVES), Ok(true));
        assert_eq!(castable(MAX_ALTERNATIVES + 1), Err(Refusal::Unsupported));
    }

    #[test]
    fn comparisons_of_nested_unions_end() {
        let mut union = json!({"type": "integer"});
        for _ in 0..3 {
            union = json!({"anyOf": vec![union; 20]});
        }
        let effort = Effort::for_document();
        let other = json!({"anyOf": [union, {"type": "boolean"}]});
        let answer = SdkTypes { effort: &effort }.same_type(&other["anyOf"][0], &json!({"anyOf": [{"type": "null"}]}));
        assert_eq!(answer, Ok(false));
        assert_eq!(SdkTypes { effort: &effort }.same_type(&other, &other), Ok(true));
    }

    #[test]
    fn numbers_and_booleans_are_equal_as_python_has_it() {
        let effort = Effort::for_document();
        let equal = |one: Value, other: Value| SdkTypes { effort: &effort }.equal(&one, &other);
        assert_eq!(equal(json!({"default": [1, 0]}), json!({"default": [1.0, false]})), Ok(true));
        assert_eq!(equal(json!(1), json!("1")), Ok(false));
        assert_eq!(equal(json!(null), json!(0)), Ok(false));
    }

    proptest::proptest! {
        #[test]
        fn everything_casts_to_itself(schema in crate::casting::tests::schema()) {
            let effort = Effort::for_document();
            proptest::prop_assert_eq!(SdkTypes { effort: &effort }.castable(&schema, &schema), Ok(true));
        }
    }
}
