//! Checks of single values against a schema.

use regex::RegexBuilder;
use serde_json::Value;

use super::schema::{At, Kinds, Node, Schema, compare, has_value, whole};

/// Maximum depth of values.
const MAX_DEPTH: usize = 16;
/// Maximum size of a compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 16;

/// Judges whether a value satisfies a schema, as far as it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admits {
    Yes,
    No,
    Unknown,
}

impl Admits {
    fn and(self, other: Admits) -> Admits {
        match (self, other) {
            (Admits::No, _) | (_, Admits::No) => Admits::No,
            (Admits::Yes, Admits::Yes) => Admits::Yes,
            _ => Admits::Unknown,
        }
    }

    fn of(is: bool) -> Admits {
        if is { Admits::Yes } else { Admits::No }
    }
}

/// Judges values within a number of steps.
pub(super) struct Judge<'s> {
    pub schema: &'s Schema,
    pub left: &'s mut u32,
    /// True if the format and encoding of a text count as uncertain. If false, texts are assumed to be valid.
    pub doubts_content: bool,
}

impl Judge<'_> {
    pub fn admits(&mut self, at: At, value: &Value, depth: usize) -> Admits {
        if depth > MAX_DEPTH || *self.left == 0 {
            return Admits::Unknown;
        }
        *self.left -= 1;
        let schema = self.schema;
        let node = schema.node(at);
        if let Some(branches) = node.branches() {
            let all: Vec<Admits> = branches.at.iter().map(|branch| self.admits(*branch, value, depth + 1)).collect();
            let count = |of: Admits| all.iter().filter(|one| **one == of).count();
            let is_known = count(Admits::Unknown) == 0;
            let admits = match (count(Admits::Yes), branches.is_one) {
                (0, _) if is_known => Admits::No,
                (1, true) if is_known => Admits::Yes,
                (2.., true) => Admits::No,
                (1.., false) => Admits::Yes,
                _ => Admits::Unknown,
            };
            return admits.and(known(node));
        }
        if !node.kinds.has(Kinds::of(value)) || node.values().is_some_and(|values| !has_value(values, value)) {
            return Admits::No;
        }
        let own = match value {
            Value::Number(number) => match node.numbers() {
                Some(numbers) => {
                    let is_above = |bound: &super::schema::Bound| {
                        let order = compare(number, &bound.at);
                        order.is_gt() || order.is_eq() && !bound.is_exclusive
                    };
                    let is_below = |bound: &super::schema::Bound| {
                        let order = compare(number, &bound.at);
                        order.is_lt() || order.is_eq() && !bound.is_exclusive
                    };
                    let is_within =
                        numbers.least.as_ref().is_none_or(is_above) && numbers.most.as_ref().is_none_or(is_below);
                    let multiples = numbers.multiples.iter().map(|of| match (whole(number), whole(of)) {
                        (Some(number), Some(of)) => Admits::of(number % of == 0),
                        _ => match multiple(number, of) {
                            Some(is) => Admits::of(is),
                            None => Admits::Unknown,
                        },
                    });
                    multiples.fold(Admits::of(is_within), Admits::and)
                }
                None => Admits::Yes,
            },
            Value::String(text) => self.admits_text(node, text),
            Value::Array(items) => self.admits_items(node, items, depth),
            Value::Object(members) => self.admits_members(node, members, depth),
            Value::Null | Value::Bool(_) => Admits::Yes,
        };
        own.and(known(node))
    }

    fn admits_text(&mut self, node: &Node, text: &str) -> Admits {
        let mut admits = match node.formats().iter().any(|format| super::formats::is_telling(format)) {
            true if self.doubts_content => Admits::Unknown,
            _ => Admits::Yes,
        };
        let Some(texts) = node.texts() else { return admits };
        if self.doubts_content && (texts.media.is_some() || texts.encoding.is_some()) {
            admits = Admits::Unknown;
        }
        admits = admits.and(Admits::of(texts.length.has(text.chars().count())));
        for pattern in &texts.patterns {
            // Compiling one takes as long as hundreds of other steps.
            *self.left = self.left.saturating_sub(200);
            let compiled = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build();
            let matches = compiled.map_or(Admits::Unknown, |pattern| Admits::of(pattern.is_match(text)));
            admits = admits.and(matches);
        }
        admits
    }

    fn admits_items(&mut self, node: &Node, items: &[Value], depth: usize) -> Admits {
        let Some(lists) = node.lists() else { return Admits::Yes };
        let is_repeated = |(at, item): (usize, &Value)| items.iter().take(at).any(|other| other == item);
        let is_unique = || items.len() < 100 && !items.iter().enumerate().any(is_repeated);
        let mut admits = Admits::of(lists.length.has(items.len()) && (!lists.is_unique || is_unique()));
        for (index, item) in items.iter().enumerate() {
            if let Some(at) = lists.item(index) {
                admits = admits.and(self.admits(at, item, depth + 1));
            }
        }
        admits
    }

    fn admits_members(&mut self, node: &Node, members: &serde_json::Map<String, Value>, depth: usize) -> Admits {
        let Some(objects) = node.objects() else { return Admits::Yes };
        let has_required = objects.required().all(|member| members.contains_key(&*member.name));
        let mut admits = Admits::of(has_required && objects.count.has(members.len()));
        for (name, value) in members {
            if let Some(at) = objects.member(name).map(|member| member.at).or(objects.others) {
                admits = admits.and(self.admits(at, value, depth + 1));
            }
        }
        admits
    }
}

/// True if all keywords of a node are compared.
fn known(node: &Node) -> Admits {
    if node.unknown_keyword().is_some() { Admits::Unknown } else { Admits::Yes }
}

/// True if a number is a multiple of another. Returns `None` if that can't be determined exactly.
pub(super) fn multiple(number: &serde_json::Number, of: &serde_json::Number) -> Option<bool> {
    let (one, two) = (decimal(number)?, decimal(of)?);
    let scale = one.1.max(two.1);
    let scaled = |(digits, own): (i128, u32)| digits.checked_mul(10_i128.checked_pow(scale - own)?);
    let (one, two) = (scaled(one)?, scaled(two)?);
    (two != 0).then(|| one % two == 0)
}

/// A number as digits and how many of them are behind the point.
fn decimal(number: &serde_json::Number) -> Option<(i128, u32)> {
    let text = number.to_string();
    if text.contains(['e', 'E']) {
        return whole(number).map(|whole| (whole, 0));
    }
    let (before, behind) = text.split_once('.').unwrap_or((&text, ""));
    Some((format!("{before}{behind}").parse().ok()?, behind.len() as u32))
}
