//! Which types go into which others by the language's rules.
//!
//! An output goes into an input if its type is a subtype. Besides, everything goes into a string, and
//! integers, numbers and booleans go into each other; the same holds for the items of arrays and for the
//! members of objects, of which the target's have to be there.

use serde_json::{Map, Value};

use super::{
    effort::Effort,
    sdk_types::{Answer, Refusal},
};

type Members = Map<String, Value>;

/// What a schema says about the type of a value, one way it can be met.
#[derive(Debug, Clone, Copy)]
enum Alternative<'v> {
    /// Everything.
    Any,
    /// More than types can tell: `allOf`, `$ref` and the like. It is taken to go with everything.
    Opaque,
    Basic(Kind, &'v Members),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Numeric,
    Null,
    List,
    Object,
}

impl Kind {
    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "string" => Kind::Text,
            "integer" | "number" | "boolean" => Kind::Numeric,
            "null" => Kind::Null,
            "array" => Kind::List,
            "object" => Kind::Object,
            _ => return None,
        })
    }

    fn of(value: &Value) -> Kind {
        match value {
            Value::String(_) => Kind::Text,
            Value::Number(_) | Value::Bool(_) => Kind::Numeric,
            Value::Null => Kind::Null,
            Value::Array(_) => Kind::List,
            Value::Object(_) => Kind::Object,
        }
    }
}

fn alternatives(schema: &Value) -> Vec<Alternative<'_>> {
    let mut found = Vec::new();
    expand(schema, &mut found);
    found
}

fn expand<'v>(schema: &'v Value, into: &mut Vec<Alternative<'v>>) {
    let Some(members) = schema.as_object() else { return into.push(Alternative::Any) };
    let basic = |name: &Value| name.as_str().and_then(Kind::named).map(|kind| Alternative::Basic(kind, members));
    match members.get("type") {
        Some(Value::Array(names)) => return into.extend(names.iter().filter_map(basic)),
        Some(name) => return into.extend(basic(name)),
        None => {}
    }
    if let Some(union) = ["anyOf", "oneOf"].iter().find_map(|keyword| members.get(*keyword)?.as_array()) {
        return union.iter().for_each(|schema| expand(schema, into));
    }
    if ["allOf", "$ref", "$dynamicRef", "not", "if"].iter().any(|keyword| members.contains_key(*keyword)) {
        return into.push(Alternative::Opaque);
    }
    let constant = members.get("const").map(std::slice::from_ref);
    match constant.or_else(|| members.get("enum")?.as_array().map(Vec::as_slice)) {
        Some(values) => {
            let mut kinds: Vec<Kind> = Vec::new();
            for kind in values.iter().map(Kind::of) {
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            into.extend(kinds.into_iter().map(|kind| Alternative::Basic(kind, members)));
        }
        None => into.push(Alternative::Any),
    }
}

/// Comparisons by the text of the language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Casting<'e> {
    pub(super) effort: &'e Effort,
}

impl Casting<'_> {
    /// Whether a value of `from` can be cast to `to`.
    pub(super) fn casts(self, from: &Value, to: &Value) -> Answer {
        self.effort.spend(1)?;
        let targets = alternatives(to);
        let takes_all =
            |target: &Alternative<'_>| !matches!(target, Alternative::Basic(kind, _) if *kind != Kind::Text);
        if targets.iter().any(takes_all) {
            return Ok(true);
        }
        for source in alternatives(from) {
            if !self.casts_to_one_of(source, &targets)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn casts_to_one_of(self, source: Alternative<'_>, targets: &[Alternative<'_>]) -> Answer {
        let (kind, from) = match source {
            Alternative::Any => return Ok(false),
            Alternative::Opaque => return Ok(true),
            Alternative::Basic(kind, from) => (kind, from),
        };
        for target in targets {
            self.effort.spend(1)?;
            let Alternative::Basic(wanted, to) = *target else { continue };
            let casts = wanted == kind
                && match kind {
                    Kind::List => self.member_casts(from, to, "items")?,
                    Kind::Object => self.object_casts(from, to)?,
                    Kind::Text | Kind::Numeric | Kind::Null => true,
                };
            if casts {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the schemas under `keyword` cast, where one that isn't there allows everything.
    fn member_casts(self, from: &Members, to: &Members, keyword: &str) -> Answer {
        match (from.get(keyword), to.get(keyword)) {
            (_, None) => Ok(true),
            (from, Some(to)) => self.casts(from.unwrap_or(&Value::Bool(true)), to),
        }
    }

    fn object_casts(self, from: &Members, to: &Members) -> Answer {
        let (known, wanted) = (properties(from), properties(to));
        for (name, wanted) in wanted.into_iter().flatten() {
            match known.and_then(|known| known.get(name)) {
                Some(property) if self.casts(property, wanted)? => {}
                _ => return Ok(false),
            }
        }
        let others = from.get("additionalProperties");
        match to.get("additionalProperties") {
            None | Some(Value::Bool(true)) => Ok(true),
            Some(Value::Bool(false)) => Ok(matches!(others, None | Some(Value::Bool(false)))),
            Some(to) => {
                let mut unlisted = known.into_iter().flatten().filter(|(name, _)| !has(wanted, name)).peekable();
                match others {
                    Some(Value::Bool(false)) => {}
                    // An object that lists its members is taken at its word.
                    None if unlisted.peek().is_some() => {}
                    others => {
                        if !self.casts(others.unwrap_or(&Value::Bool(true)), to)? {
                            return Ok(false);
                        }
                    }
                }
                for (_, property) in unlisted {
                    if !self.casts(property, to)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Whether `value` can be a value of `schema`, conversions included.
    pub(super) fn fits(self, value: &Value, schema: &Value) -> Answer {
        for alternative in alternatives(schema) {
            self.effort.spend(1)?;
            let fits = match (alternative, value) {
                (Alternative::Any | Alternative::Opaque | Alternative::Basic(Kind::Text, _), _) => true,
                (Alternative::Basic(Kind::List, of), Value::Array(entries)) => self.entries_fit(entries, of)?,
                (Alternative::Basic(Kind::Object, of), Value::Object(members)) => self.members_fit(members, of)?,
                (Alternative::Basic(kind, _), value) => kind == Kind::of(value),
            };
            if fits {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn entries_fit(self, entries: &[Value], of: &Members) -> Answer {
        let Some(items) = of.get("items") else { return Ok(true) };
        for entry in entries {
            if !self.fits(entry, items)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn members_fit(self, members: &Members, of: &Members) -> Answer {
        let known = properties(of);
        let required = of.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let has_default = |name: &str| known.and_then(|known| known.get(name)?.get("default")).is_some();
        if required.into_iter().any(|name| !members.contains_key(name) && !has_default(name)) {
            return Ok(false);
        }
        for (name, member) in members {
            let schema = known.and_then(|known| known.get(name)).or_else(|| of.get("additionalProperties"));
            let fits = match schema {
                None | Some(Value::Bool(true)) => true,
                Some(Value::Bool(false)) => false,
                Some(schema) => self.fits(member, schema)?,
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn properties(of: &Members) -> Option<&Members> {
    of.get("properties")?.as_object()
}

fn has(properties: Option<&Members>, name: &str) -> bool {
    properties.is_some_and(|properties| properties.contains_key(name))
}

/// The type of `schema` in a few words, such as `integer or list of string`.
pub(super) fn describe(schema: &Value) -> String {
    const SHOWN: usize = 4;
    let members = schema.as_object();
    let names = match members.and_then(|members| members.get("type")) {
        Some(Value::String(name)) => vec![with_items(name, schema)],
        Some(Value::Array(names)) => {
            names.iter().take(SHOWN + 1).filter_map(Value::as_str).map(|name| with_items(name, schema)).collect()
        }
        _ => {
            let union = ["anyOf", "oneOf"].iter().find_map(|keyword| schema.get(keyword)?.as_array());
            union.into_iter().flatten().take(SHOWN + 1).map(describe).collect()
        }
    };
    match names.len() {
        0 => "any type".to_owned(),
        1..=SHOWN => names.join(" or "),
        _ => format!("{} or others", names[..SHOWN].join(" or ")),
    }
}

fn with_items(name: &str, schema: &Value) -> String {
    let simple = schema.get("items").and_then(|items| items.get("type")?.as_str());
    match (name, simple) {
        ("array", Some(items)) => format!("array of {items}"),
        _ => name.to_owned(),
    }
}

/// Whether only numbers can be values of `schema`, as far as it says.
pub(super) fn is_numeric(schema: &Value) -> bool {
    let kinds = alternatives(schema);
    let numeric = |alternative: &Alternative<'_>| match alternative {
        Alternative::Any | Alternative::Opaque => true,
        Alternative::Basic(kind, of) => *kind == Kind::Numeric && of.get("type").is_none_or(|name| name != "boolean"),
    };
    !kinds.is_empty() && kinds.iter().all(numeric)
}

/// Why a comparison has no answer, in words.
pub(super) fn excuse(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Unsupported => {
            "the SDK can't compare these schemas; it knows types, `anyOf`, `items` and `properties`"
        }
        Refusal::TooComplex => "the document's schemas take too much work to compare; they may be simpler or fewer",
    }
}
