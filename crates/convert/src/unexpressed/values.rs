//! Comparison of members value by value, regardless of their meaning.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::losses::Missing;
use crate::td::internal::Path;

/// Members with lists of parts. Their texts describe the parts only.
const PARTS: [&str; 4] = ["capabilities", "skills", "tools", "additional_tools"];
/// The most members around a text that it is found by.
const DEEPEST: usize = 8;

/// The texts of a document.
pub(super) struct Texts<'d> {
    all: BTreeSet<&'d str>,
    /// Texts outside of parts.
    of_whole: BTreeSet<&'d str>,
    /// By the names of the members that they are in.
    named: HashMap<&'d str, BTreeSet<&'d str>>,
}

impl<'d> Texts<'d> {
    pub(super) fn of(document: &'d Value) -> Texts<'d> {
        let mut texts = Texts { all: BTreeSet::new(), of_whole: BTreeSet::new(), named: HashMap::new() };
        texts.collect(document, &mut Vec::new(), false);
        texts
    }

    fn collect(&mut self, value: &'d Value, names: &mut Vec<&'d str>, is_in_part: bool) {
        match value {
            Value::String(text) => {
                self.all.insert(text);
                if !is_in_part {
                    self.of_whole.insert(text);
                }
                for name in names.iter().rev().take(DEEPEST) {
                    self.named.entry(name).or_default().insert(text);
                }
            }
            Value::Array(items) => {
                let is_in_part = is_in_part || names.last().is_some_and(|name| PARTS.contains(name));
                items.iter().for_each(|item| self.collect(item, names, is_in_part));
            }
            Value::Object(members) => {
                for (name, member) in members {
                    names.push(name);
                    self.collect(member, names, is_in_part);
                    names.pop();
                }
            }
            _ => {}
        }
    }

    pub(super) fn contains(&self, text: &str) -> bool {
        self.all.contains(text)
    }

    /// True if a text begins so.
    pub(super) fn has_prefix(&self, prefix: &str) -> bool {
        self.all.range(prefix..).next().is_some_and(|text| text.starts_with(prefix))
    }

    fn has(&self, text: &str, scope: Scope<'_>) -> bool {
        match scope {
            Scope::Document => self.contains(text),
            Scope::Whole => self.of_whole.contains(text),
            Scope::Member(name) => self.named.get(name).is_some_and(|texts| texts.contains(text)),
        }
    }

    /// Finds what a document lacks of a value. A value is in it if one of the `counterparts`, which importing it gives, is
    /// equal, or if it is a text within the scope. What is lost as a whole is one pointer.
    pub(super) fn find_missing(
        &self,
        value: &Value,
        counterparts: &[&Value],
        scope: Scope<'_>,
        at: &Path<'_>,
    ) -> Missing {
        let mut missing = Missing::default();
        self.collect_missing(value, counterparts, scope, at, &mut missing);
        missing
    }

    /// True if anything of the value is in the document.
    fn collect_missing(
        &self,
        value: &Value,
        counterparts: &[&Value],
        scope: Scope<'_>,
        at: &Path<'_>,
        missing: &mut Missing,
    ) -> bool {
        let before = (missing.pointers.len(), missing.further);
        let mut is_any_there = false;
        let least = match value {
            Value::Object(members) => {
                let is_literal = members.get("@type").is_some_and(|name| name == "@json");
                for (name, member) in members.iter().filter(|(name, _)| !is_literal || *name != "@type") {
                    let others: Vec<&Value> = counterparts.iter().filter_map(|other| other.get(name)).collect();
                    is_any_there |= self.collect_missing(member, &others, scope, &at.member(name), missing);
                }
                if is_literal { 1 } else { 2 }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let others: Vec<&Value> = counterparts.iter().filter_map(|other| other.get(index)).collect();
                    is_any_there |= self.collect_missing(item, &others, scope, &at.index(index), missing);
                }
                1
            }
            Value::Null => return false,
            scalar => {
                let is_there = counterparts.iter().any(|other| is_equal(other, scalar))
                    || scalar.as_str().is_some_and(|text| self.has(text, scope));
                if !is_there {
                    missing.add(at);
                }
                return is_there;
            }
        };
        if !is_any_there && missing.pointers.len() + missing.further >= before.0 + before.1 + least {
            missing.pointers.truncate(before.0);
            missing.further = before.1;
            missing.add(at);
        }
        is_any_there
    }
}

/// The part of a document in which texts are looked for.
#[derive(Clone, Copy)]
pub(super) enum Scope<'n> {
    Document,
    /// All but the parts, such as skills and tools.
    Whole,
    /// Members of this name.
    Member(&'n str),
}

impl<'n> Scope<'n> {
    /// Members that have the name of a member of the Thing, without a prefix.
    pub(super) fn of_member(name: &'n str) -> Scope<'n> {
        Scope::Member(name.rsplit(':').next().unwrap_or(name))
    }
}

pub(super) fn affordances<'t>(thing: &'t Value, kind: &str) -> &'t Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    thing.get(kind).and_then(Value::as_object).unwrap_or(&NONE)
}

fn is_equal(value: &Value, other: &Value) -> bool {
    value == other || value.as_f64().is_some_and(|number| other.as_f64() == Some(number))
}
