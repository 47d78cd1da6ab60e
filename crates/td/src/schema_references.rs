//! References within a JSON Schema: detection of references without a target, and a limit on the work caused by the
//! others.
//!
//! A validator follows a reference each time it occurs, so even a small schema can multiply the work at every level.
//! Therefore the number of visits is computed before data is validated. If only a URL would determine the referenced
//! schema, all candidates count.

use std::{collections::HashMap, rc::Rc};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// Keywords with a reference.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Keywords whose schemas apply to the same value.
const IN_PLACE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];
/// Keywords whose value is data.
const LITERALS: [&str; 4] = ["const", "default", "enum", "examples"];
/// Keywords whose schemas must not accept more than the document says: the value as a whole would accept less.
const STRICT: [&str; 3] = ["not", "if", "oneOf"];
/// Maximum number of references: validators take a time that is quadratic in it to prepare.
pub(super) const MOST_REFERENCES: usize = 2_000;
/// Maximum number of schemas with ids of their own.
const MOST_RESOURCES: usize = 200;
/// Maximum number of visits, plus as many for each value in the data.
const MOST_VISITS: usize = 200_000;
const MOST_VISITS_PER_VALUE: usize = 64;
/// Maximum number of visits below unevaluated members.
const MOST_UNEVALUATED: usize = 10_000;
/// Maximum depth of visits.
const DEEPEST: usize = 300;

/// Returns the number of references in a schema.
pub(super) fn count_references(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => {
            let own = REFERENCES.iter().filter(|name| members.contains_key(**name)).count();
            own + members.values().map(count_references).sum::<usize>()
        }
        Value::Array(elements) => elements.iter().map(count_references).sum(),
        _ => 0,
    }
}

/// Returns a copy of a schema without the references that lead nowhere in it.
pub(super) fn without_broken(root: &Value) -> Value {
    let index = Index::of(root);
    let mut copy = root.clone();
    index.remove_broken(&mut copy);
    copy
}

/// True if a schema contains references without a target in it. Such references constrain nothing.
pub fn has_broken_references(root: &Value) -> bool {
    let index = Index::of(root);
    count_references(root) <= MOST_REFERENCES && index.is_small() && index.remove_broken(&mut root.clone())
}

/// True if validating data takes no more than a bounded number of visits, linear in the size of the data.
pub(super) fn is_bounded(root: &Value, data: &Value) -> bool {
    let left = MOST_VISITS + MOST_VISITS_PER_VALUE * count_values(data);
    let mut visits = Visits { index: Index::of(root), targets: HashMap::new(), left, above: Vec::new() };
    visits.visit(root, data, DEEPEST)
}

/// True if preparing a validator takes no more than a bounded time: it follows the references below unevaluated members.
pub(super) fn can_be_compiled(root: &Value) -> bool {
    let mut visits =
        Visits { index: Index::of(root), targets: HashMap::new(), left: MOST_UNEVALUATED, above: Vec::new() };
    let mut schemas = vec![root];
    while let Some(schema) = schemas.pop() {
        match schema {
            Value::Object(members) => {
                if has_unevaluated(members) && !visits.visit(schema, &Value::Null, DEEPEST) {
                    return false;
                }
                schemas.extend(members.values());
            }
            Value::Array(elements) => schemas.extend(elements),
            _ => {}
        }
    }
    true
}

fn has_unevaluated(members: &Object) -> bool {
    members.keys().any(|name| name.starts_with("unevaluated"))
}

fn count_values(data: &Value) -> usize {
    1 + match data {
        Value::Object(members) => members.values().map(count_values).sum(),
        Value::Array(elements) => elements.iter().map(count_values).sum(),
        _ => 0,
    }
}

/// Targets of references.
struct Index<'s> {
    root: &'s Value,
    anchors: HashMap<&'s str, Vec<&'s Value>>,
    /// Schemas with an id of their own.
    resources: Vec<(&'s str, &'s Value)>,
}

impl<'s> Index<'s> {
    fn of(root: &'s Value) -> Index<'s> {
        let mut index = Index { root, anchors: HashMap::new(), resources: Vec::new() };
        index.add(root);
        index
    }

    fn add(&mut self, schema: &'s Value) {
        match schema {
            Value::Object(members) => {
                for name in ["$anchor", "$dynamicAnchor"] {
                    if let Some(anchor) = members.get(name).and_then(Value::as_str) {
                        self.anchors.entry(anchor).or_default().push(schema);
                    }
                }
                for id in ["$id", "id"].into_iter().filter_map(|name| members.get(name)?.as_str()) {
                    match id.strip_prefix('#') {
                        Some(anchor) => self.anchors.entry(anchor).or_default().push(schema),
                        None => self.resources.push((id, schema)),
                    }
                }
                members.values().for_each(|member| self.add(member));
            }
            Value::Array(elements) => elements.iter().for_each(|element| self.add(element)),
            _ => {}
        }
    }

    /// True if there are few enough schemas with ids to look for each reference in all of them.
    fn is_small(&self) -> bool {
        self.resources.len() <= MOST_RESOURCES
    }

    /// The schemas that a reference may lead to.
    fn targets(&self, reference: &str) -> Vec<&'s Value> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.anchors.get(&*fragment).cloned().unwrap_or_default();
        }
        let named = self.resources.iter().filter(|(id, _)| base.is_empty() || may_be_same(base, id));
        let own = base.is_empty().then_some(self.root);
        own.into_iter().chain(named.map(|(_, schema)| *schema)).filter_map(|root| root.pointer(&fragment)).collect()
    }

    /// Removes references that lead nowhere. True if the schema accepts more for it.
    fn remove_broken(&self, schema: &mut Value) -> bool {
        match schema {
            Value::Object(members) => {
                let count = members.len();
                members.retain(|name, value| {
                    let reference = value.as_str().filter(|_| REFERENCES.contains(&name.as_str()));
                    reference.is_none_or(|reference| !self.targets(reference).is_empty())
                });
                let mut is_weaker = members.len() < count;
                let mut removed = Vec::new();
                for (name, value) in members.iter_mut().filter(|(name, _)| !LITERALS.contains(&name.as_str())) {
                    if self.remove_broken(value) {
                        is_weaker = true;
                        removed.extend(STRICT.into_iter().find(|strict| strict == name));
                    }
                }
                removed.into_iter().for_each(|name| drop(members.remove(name)));
                is_weaker
            }
            Value::Array(elements) => elements.iter_mut().fold(false, |is, element| self.remove_broken(element) | is),
            _ => false,
        }
    }
}

/// True unless two URLs differ in the last segment of their paths.
fn may_be_same(one: &str, other: &str) -> bool {
    let segment = |url: &str| {
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let last = path.rsplit('/').next().unwrap_or_default();
        // What a URL is normalized to is left to the validator.
        let is_plain = !["", ".", ".."].contains(&last) && !url.contains('%');
        is_plain.then(|| last.to_owned())
    };
    match (segment(one), segment(other)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

/// Counts the visits of a validation.
struct Visits<'s> {
    index: Index<'s>,
    targets: HashMap<&'s str, Rc<[&'s Value]>>,
    left: usize,
    /// Schemas that are being visited with the same value: they contain themselves, which validators notice.
    above: Vec<*const Value>,
}

impl<'s> Visits<'s> {
    /// Visits a value with a schema. False if there are too many visits.
    fn visit(&mut self, schema: &'s Value, data: &Value, depth: usize) -> bool {
        let Value::Object(members) = schema else { return true };
        if self.above.contains(&std::ptr::from_ref(schema)) {
            return true;
        }
        if depth == 0 || self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.above.push(schema);
        // Validators that look for unevaluated members visit once more.
        let rounds = 1 + usize::from(has_unevaluated(members));
        let is_bounded = (0..rounds).all(|_| self.visit_in_place(members, data, depth - 1));
        self.above.pop();
        is_bounded && {
            let above = std::mem::take(&mut self.above);
            let is_bounded = self.visit_parts(members, data, depth - 1);
            self.above = above;
            is_bounded
        }
    }

    fn visit_in_place(&mut self, members: &'s Object, data: &Value, depth: usize) -> bool {
        for reference in REFERENCES.into_iter().filter_map(|name| members.get(name)?.as_str()) {
            let index = &self.index;
            let targets = self.targets.entry(reference).or_insert_with(|| index.targets(reference).into()).clone();
            if !targets.iter().all(|target| self.visit(target, data, depth)) {
                return false;
            }
        }
        IN_PLACE.into_iter().filter_map(|name| members.get(name).map(|schemas| (name, schemas))).all(
            |(name, schemas)| match schemas {
                Value::Array(schemas) => schemas.iter().all(|schema| self.visit(schema, data, depth)),
                Value::Object(named) if name.starts_with("depend") => {
                    named.values().all(|schema| self.visit(schema, data, depth))
                }
                schema => self.visit(schema, data, depth),
            },
        )
    }

    fn visit_parts(&mut self, members: &'s Object, data: &Value, depth: usize) -> bool {
        let schemas = |names: &[&str]| names.iter().filter_map(|name| members.get(*name)).collect::<Vec<&'s Value>>();
        match data {
            Value::Object(data) => {
                let properties = members.get("properties").and_then(Value::as_object);
                let patterns = members.get("patternProperties").and_then(Value::as_object);
                let others = schemas(&["additionalProperties", "unevaluatedProperties"]);
                let names = members.get("propertyNames");
                data.iter().all(|(name, value)| {
                    let own = properties.and_then(|properties| properties.get(name));
                    let all = own.into_iter().chain(patterns.into_iter().flat_map(Map::values));
                    all.chain(others.iter().copied()).all(|schema| self.visit(schema, value, depth))
                        && names.is_none_or(|schema| self.visit(schema, &Value::Null, depth))
                })
            }
            Value::Array(data) => {
                let others = schemas(&["items", "additionalItems", "contains", "unevaluatedItems"]);
                let lists = schemas(&["prefixItems", "items"]);
                data.iter().enumerate().all(|(index, value)| {
                    let own = lists.iter().filter_map(|list| list.as_array()?.get(index));
                    own.chain(others.iter().copied()).all(|schema| self.visit(schema, value, depth))
                })
            }
            _ => true,
        }
    }
}
