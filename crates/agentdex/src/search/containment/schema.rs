//! Schemas in comparable form: a flat list of nodes that refer to each other by number.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// The number of a node.
pub(super) type At = u32;

/// A set of the types of JSON Schema, with `number` as integers and fractions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub const NONE: Kinds = Kinds(0);
    pub const NULL: Kinds = Kinds(1);
    pub const BOOLEAN: Kinds = Kinds(2);
    pub const INTEGER: Kinds = Kinds(4);
    pub const FRACTION: Kinds = Kinds(8);
    pub const NUMBER: Kinds = Kinds(12);
    pub const TEXT: Kinds = Kinds(16);
    pub const LIST: Kinds = Kinds(32);
    pub const OBJECT: Kinds = Kinds(64);
    pub const ALL: Kinds = Kinds(127);
    /// Types that are compared individually.
    pub const EACH: [Kinds; 6] = [Kinds::TEXT, Kinds::NUMBER, Kinds::BOOLEAN, Kinds::OBJECT, Kinds::LIST, Kinds::NULL];

    /// Returns the types with the given name in JSON Schema.
    pub fn named(name: &str) -> Option<Kinds> {
        Some(match name {
            "null" => Kinds::NULL,
            "boolean" => Kinds::BOOLEAN,
            "integer" => Kinds::INTEGER,
            "number" => Kinds::NUMBER,
            "string" => Kinds::TEXT,
            "array" => Kinds::LIST,
            "object" => Kinds::OBJECT,
            _ => return None,
        })
    }

    pub fn of(value: &Value) -> Kinds {
        match value {
            Value::Null => Kinds::NULL,
            Value::Bool(_) => Kinds::BOOLEAN,
            Value::Number(number) if number.is_f64() => Kinds::FRACTION,
            Value::Number(_) => Kinds::INTEGER,
            Value::String(_) => Kinds::TEXT,
            Value::Array(_) => Kinds::LIST,
            Value::Object(_) => Kinds::OBJECT,
        }
    }

    pub fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }

    pub fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    pub fn has(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the names of these types in JSON Schema.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let number = if self.has(Kinds::FRACTION) { "number" } else { "integer" };
        let names = [
            (Kinds::TEXT, "string"),
            (Kinds::NUMBER, number),
            (Kinds::BOOLEAN, "boolean"),
            (Kinds::OBJECT, "object"),
            (Kinds::LIST, "array"),
            (Kinds::NULL, "null"),
        ];
        names.into_iter().filter(move |(kinds, _)| self.has(*kinds)).map(|(_, name)| name)
    }
}

/// A comparable schema. The first node is the root.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::search) struct Schema {
    pub(super) nodes: Box<[Node]>,
}

/// A nested schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub kinds: Kinds,
    /// True if the types are stated by `type`, `enum`, or `const`.
    pub is_typed: bool,
    pub parts: Option<Box<Parts>>,
}

/// The constraints of a schema beyond types.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Parts {
    /// Alternatives of `anyOf` or `oneOf`. All other constraints are contained in each alternative.
    pub branches: Option<Branches>,
    /// `enum` or `const`, in order.
    pub values: Option<Box<[Value]>>,
    pub numbers: Option<Box<Numbers>>,
    pub texts: Option<Box<Texts>>,
    pub lists: Option<Box<Lists>>,
    pub objects: Option<Box<Objects>>,
    pub formats: Vec<Box<str>>,
    pub unit: Option<Box<str>>,
    /// Keyword that can't be compared.
    pub unknown: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Branches {
    pub at: Box<[At]>,
    /// True for `oneOf`, so no two alternatives may match.
    pub is_one: bool,
}

/// From a least to a most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Count {
    pub least: u64,
    pub most: Option<u64>,
}

impl Count {
    pub fn and(self, other: Count) -> Count {
        let most = match (self.most, other.most) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Count { least: self.least.max(other.least), most }
    }

    pub fn has(self, count: usize) -> bool {
        let count = count as u64;
        count >= self.least && self.most.is_none_or(|most| count <= most)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Numbers {
    pub least: Option<Bound>,
    pub most: Option<Bound>,
    pub multiples: Vec<Number>,
}

/// An end of a range.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Bound {
    pub at: Number,
    pub is_exclusive: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Texts {
    pub length: Count,
    pub patterns: Vec<Box<str>>,
    /// `contentMediaType`.
    pub media: Option<Box<str>>,
    /// `contentEncoding`.
    pub encoding: Option<Box<str>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Lists {
    pub length: Count,
    /// `prefixItems`.
    pub first: Box<[At]>,
    /// Schema of all further items.
    pub others: Option<At>,
    pub is_unique: bool,
}

impl Lists {
    /// Returns the schema of the item at an index.
    pub fn item(&self, index: usize) -> Option<At> {
        self.first.get(index).copied().or(self.others)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Objects {
    /// Members, sorted by name.
    pub members: Box<[Member]>,
    /// `additionalProperties`, if it is a schema or `false`.
    pub others: Option<At>,
    /// True if `additionalProperties` is `true`.
    pub is_open: bool,
    /// True if the schema contains `properties`.
    pub is_listed: bool,
    pub count: Count,
}

impl Objects {
    pub fn member(&self, name: &str) -> Option<&Member> {
        let at = self.members.binary_search_by(|member| (*member.name).cmp(name)).ok()?;
        self.members.get(at)
    }

    pub fn required(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_required)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Member {
    pub name: Box<str>,
    pub at: At,
    pub is_required: bool,
}

/// The node for everything.
pub(super) const ANY: Node = Node { kinds: Kinds::ALL, is_typed: false, parts: None };
/// The node for nothing.
pub(super) const NEVER: Node = Node { kinds: Kinds::NONE, is_typed: true, parts: None };

impl Node {
    /// Creates a node that allows all values, because of a keyword that can't be compared.
    pub fn unknown(keyword: &'static str) -> Node {
        Node { parts: Some(Box::new(Parts { unknown: Some(keyword), ..Parts::default() })), ..ANY }
    }

    pub fn is_any(&self) -> bool {
        self.kinds == Kinds::ALL && self.parts.is_none()
    }

    pub fn branches(&self) -> Option<&Branches> {
        self.parts.as_ref()?.branches.as_ref()
    }

    pub fn values(&self) -> Option<&[Value]> {
        self.parts.as_ref()?.values.as_deref()
    }

    pub fn numbers(&self) -> Option<&Numbers> {
        self.parts.as_ref()?.numbers.as_deref()
    }

    pub fn texts(&self) -> Option<&Texts> {
        self.parts.as_ref()?.texts.as_deref()
    }

    pub fn lists(&self) -> Option<&Lists> {
        self.parts.as_ref()?.lists.as_deref()
    }

    pub fn objects(&self) -> Option<&Objects> {
        self.parts.as_ref()?.objects.as_deref()
    }

    pub fn formats(&self) -> &[Box<str>] {
        self.parts.as_ref().map_or(&[], |parts| &parts.formats)
    }

    pub fn unit(&self) -> Option<&str> {
        self.parts.as_ref()?.unit.as_deref()
    }

    pub fn unknown_keyword(&self) -> Option<&'static str> {
        self.parts.as_ref()?.unknown
    }

    /// Returns the types implied by the other keywords. Empty if there are no such keywords.
    pub fn implied_kinds(&self) -> Kinds {
        let Some(parts) = &self.parts else { return Kinds::NONE };
        [
            (parts.objects.is_some(), Kinds::OBJECT),
            (parts.lists.is_some(), Kinds::LIST),
            (parts.texts.is_some(), Kinds::TEXT),
            (parts.numbers.is_some() || parts.unit.is_some(), Kinds::NUMBER),
        ]
        .into_iter()
        .filter(|(is_there, _)| *is_there)
        .fold(Kinds::NONE, |all, (_, kinds)| all.or(kinds))
    }
}

impl Schema {
    pub(super) fn node(&self, at: At) -> &Node {
        self.nodes.get(at as usize).unwrap_or(&ANY)
    }

    /// True if all that it says is compared, and there are values.
    pub(super) fn is_complete(&self) -> bool {
        !self.node(0).kinds.is_empty() && self.nodes.iter().all(|node| node.unknown_keyword().is_none())
    }

    /// Describes the types in a few words, such as `integer or array of string`.
    pub fn describe(&self) -> String {
        self.describe_at(0, 0)
    }

    pub(super) fn describe_at(&self, at: At, depth: usize) -> String {
        const SHOWN: usize = 4;
        const DEPTH: usize = 3;
        let node = self.node(at);
        let names: Vec<String> = match node.branches() {
            Some(branches) if depth < DEPTH => {
                branches.at.iter().take(SHOWN + 1).map(|branch| self.describe_at(*branch, depth + 1)).collect()
            }
            None if node.kinds != Kinds::ALL => node.kinds.names().map(|name| self.with_items(name, node)).collect(),
            _ => Vec::new(),
        };
        match names.len() {
            0 => "any type".to_owned(),
            1..=SHOWN => names.join(" or "),
            _ => format!("{} or others", names[..SHOWN].join(" or ")),
        }
    }

    fn with_items(&self, name: &str, node: &Node) -> String {
        let items = node.lists().and_then(|lists| lists.others).map(|at| self.node(at));
        match items.filter(|items| name == "array" && items.branches().is_none()) {
            Some(items) if items.kinds.names().count() == 1 => {
                format!("array of {}", items.kinds.names().next().unwrap_or_default())
            }
            _ => name.to_owned(),
        }
    }

    /// Returns the number of nodes.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
}

/// Compares numbers as numbers.
pub(super) fn compare(one: &Number, two: &Number) -> Ordering {
    match (whole(one), whole(two)) {
        (Some(one), Some(two)) => one.cmp(&two),
        _ => {
            let [one, two] = [one, two].map(|number| number.as_f64().unwrap_or_default());
            one.total_cmp(&two)
        }
    }
}

/// Returns the number as an integer if it has no fraction.
pub(super) fn whole(number: &Number) -> Option<i128> {
    let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    integer.or_else(|| {
        let number = number.as_f64()?;
        (number.fract() == 0.0 && number.abs() < 1e30).then_some(number as i128)
    })
}

/// Normalizes numbers without a fraction to integers, since JSON Schema considers them equal.
pub(super) fn normalized(value: &Value) -> Value {
    match value {
        Value::Number(number) => match whole(number).and_then(|whole| i64::try_from(whole).ok()) {
            Some(whole) => whole.into(),
            None => value.clone(),
        },
        Value::Array(items) => items.iter().map(normalized).collect(),
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), normalized(value))).collect(),
        other => other.clone(),
    }
}

/// An order of normalized values, by which they are found.
pub(super) fn order(one: &Value, two: &Value) -> Ordering {
    match (one, two) {
        (Value::String(one), Value::String(two)) => one.cmp(two),
        (Value::Number(one), Value::Number(two)) => compare(one, two),
        (Value::Bool(one), Value::Bool(two)) => one.cmp(two),
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
            one.to_string().cmp(&two.to_string())
        }
        _ => Kinds::of(one).0.cmp(&Kinds::of(two).0),
    }
}

/// True if a sorted list of values contains a value.
pub(super) fn has_value(values: &[Value], value: &Value) -> bool {
    values.binary_search_by(|other| order(other, value)).is_ok()
}
