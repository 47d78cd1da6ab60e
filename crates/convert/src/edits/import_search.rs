//! `ImportSearch`: finds the Thing whose export equals an edited document, by what importing the document gives.

use serde_json::{Map, Value};

use super::{Change, What, change::pointer, changes, distance};

type Object = Map<String, Value>;

/// Maximum number of changes tried one by one, since each attempt takes an export.
const MOST_TRIED: usize = 24;
/// Members of a Thing that stay as they are.
const APART: [&str; 7] = ["@context", "@type", "id", "registration", "security", "securityDefinitions", "base"];
/// Members with affordances. Nothing is added within an affordance that the Thing lacks.
const AFFORDANCES: [&str; 3] = ["actions", "properties", "events"];
const CAPABILITIES: &str = "lmos:capabilities";

/// Search for the description whose export equals a document. Importing the unedited and the edited document shows which
/// members of the description correspond to the edits.
pub(crate) struct ImportSearch<'s, E> {
    export: E,
    sent: &'s Value,
    best: Value,
    /// Export of `best`.
    exported: Value,
}

impl<'s, E: Fn(&Value) -> Option<Value>> ImportSearch<'s, E> {
    /// Searches from a description, whose export is `exported`, for the one whose export is `sent`. Importing these two
    /// documents results in `was` and `is`.
    pub(crate) fn new(
        export: E,
        (description, exported): (Value, Value),
        (was, is): (&Value, &Value),
        sent: &'s Value,
    ) -> ImportSearch<'s, E> {
        let mut search = ImportSearch { export, sent, best: description, exported };
        let changes: Vec<Change> = changes(was, is).into_iter().filter(|change| !is_apart(change)).collect();
        let carried = |change: &Change, thing: &mut Value| carry(change, (was, is), thing);
        let mut whole = search.best.clone();
        for change in &changes {
            carried(change, &mut whole);
        }
        add_prefixes(&mut whole, is);
        search.take(whole);
        for change in changes.iter().take(if search.is_complete() { 0 } else { MOST_TRIED }) {
            let mut candidate = search.best.clone();
            if carried(change, &mut candidate) {
                add_prefixes(&mut candidate, is);
                search.take(candidate);
            }
        }
        search
    }

    fn is_complete(&self) -> bool {
        self.exported == *self.sent
    }

    /// The description, if its export is the document.
    pub(crate) fn into_complete(self) -> Option<Value> {
        self.is_complete().then_some(self.best)
    }

    /// Takes a description whose export is more like the document.
    fn take(&mut self, candidate: Value) {
        if let Some(exported) = (self.export)(&candidate)
            && distance(&exported, self.sent) < distance(&self.exported, self.sent)
        {
            (self.best, self.exported) = (candidate, exported);
        }
    }
}

fn is_apart(change: &Change) -> bool {
    change.path.first().is_none_or(|name| APART.contains(&name.as_str()))
}

/// Applies a change between two Things to a third. Returns false if the third has no such member, or another value there.
fn carry(change: &Change, (was, is): (&Value, &Value), thing: &mut Value) -> bool {
    let What::Set(value) = &change.what else { return false };
    match change.path.as_slice() {
        [list, ..] if list == CAPABILITIES && thing.get(CAPABILITIES).is_none() => add_capabilities((was, is), thing),
        [list, index, ..] if list == CAPABILITIES => carry_capability(index, change, was, thing),
        path => set((path, path), was, value, thing),
    }
}

/// Sets the value at a path if the Thing has the same value there as `was` has at its own path, or lacks it, since exports
/// make up some values. Appends new elements to lists.
fn set((path, own): (&[String], &[String]), was: &Value, value: &Value, thing: &mut Value) -> bool {
    let before = was.pointer(&pointer(own));
    match (thing.pointer_mut(&pointer(path)), before) {
        (Some(found), Some(before)) if found == before => {
            *found = value.clone();
            true
        }
        (Some(Value::Array(found)), Some(Value::Array(before))) => match value.as_array() {
            Some(elements) if elements.len() > before.len() && elements.starts_with(before) => {
                found.extend(elements.iter().skip(before.len()).cloned());
                true
            }
            _ => false,
        },
        (Some(Value::Array(found)), None) => match value.as_array() {
            Some(elements) => {
                found.extend(elements.iter().cloned());
                true
            }
            None => false,
        },
        (None, _) => add(path, value, thing),
        _ => false,
    }
}

/// Adds a missing member, but none to a missing affordance.
fn add(path: &[String], value: &Value, thing: &mut Value) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    let is_within = path.first().is_some_and(|list| AFFORDANCES.contains(&list.as_str())) && path.len() > 2;
    let mut owner = thing;
    for name in parents {
        let Value::Object(members) = owner else { return false };
        owner = match is_within {
            true => match members.get_mut(name) {
                Some(member) => member,
                None => return false,
            },
            false => members.entry(name.clone()).or_insert_with(|| Object::new().into()),
        };
    }
    match owner {
        Value::Object(members) => members.insert(last.clone(), value.clone()).is_none(),
        _ => false,
    }
}

/// Applies a change of a capability to its entry in the Thing.
fn carry_capability(index: &str, change: &Change, was: &Value, thing: &mut Value) -> bool {
    let What::Set(value) = &change.what else { return false };
    let entry = index.parse().ok().and_then(|index: usize| was.get(CAPABILITIES)?.get(index));
    let Some(key) = entry.and_then(key_of) else { return false };
    let entries = thing.get(CAPABILITIES).and_then(Value::as_array).into_iter().flatten();
    let Some(found) = entries.into_iter().position(|entry| key_of(entry) == Some(key)) else { return false };
    let path: Vec<String> =
        [CAPABILITIES.to_owned(), found.to_string()].into_iter().chain(change.path.iter().skip(2).cloned()).collect();
    set((&path, &change.path), was, value, thing)
}

/// Adds the imported entries for the actions of a Thing without `lmos:capabilities`.
fn add_capabilities((was, is): (&Value, &Value), thing: &mut Value) -> bool {
    let version = thing.get("version").and_then(|version| version.get("instance")).cloned();
    let is_action = |entry: &Value| key_of(entry).is_some_and(|key| thing["actions"].get(key).is_some());
    let entries = |thing: &Value| thing.get(CAPABILITIES).and_then(Value::as_array).cloned().unwrap_or_default();
    if !entries(was).iter().all(is_action) {
        return false;
    }
    let mut entries = entries(is);
    for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
        // Without a version of its own, it has that of the Thing.
        if entry.get("lmos:version") == version.as_ref() {
            entry.remove("lmos:version");
        }
    }
    add(&[CAPABILITIES.to_owned()], &entries.into(), thing)
}

fn key_of(entry: &Value) -> Option<&str> {
    ["lmos:id", "id", "lmos:name", "name"].into_iter().find_map(|name| entry.get(name)?.as_str())
}

/// Declares prefixes that a Thing uses without declaring them, with the namespaces of another Thing.
pub(crate) fn add_prefixes(thing: &mut Value, other: &Value) {
    fn declared(context: &Value) -> impl Iterator<Item = &Object> {
        let contexts = context.as_array().map_or(std::slice::from_ref(context), Vec::as_slice);
        contexts.iter().filter_map(Value::as_object)
    }
    let context = thing.get("@context").cloned().unwrap_or_default();
    let is_missing = |name: &str| !declared(&context).any(|terms| terms.contains_key(name)) && uses(thing, name);
    let terms = declared(&other["@context"]).flatten();
    let missing: Object =
        terms.filter(|(name, _)| is_missing(name)).map(|(name, namespace)| (name.clone(), namespace.clone())).collect();
    if missing.is_empty() {
        return;
    }
    let mut contexts = match context {
        Value::Array(contexts) => contexts,
        one => vec![one],
    };
    contexts.push(missing.into());
    thing["@context"] = contexts.into();
}

/// True if a member anywhere in a value has a prefix.
fn uses(value: &Value, prefix: &str) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, member)| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(':')) || uses(member, prefix)
        }),
        Value::Array(elements) => elements.iter().any(|element| uses(element, prefix)),
        _ => false,
    }
}
