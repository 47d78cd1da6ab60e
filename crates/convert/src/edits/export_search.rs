//! `ExportSearch`: finds the Thing whose export equals an edited document.

use serde_json::Value;

use super::{Change, What, change::pointer, changes, distance};

/// The most exports that are made to find what was edited.
const MOST_TRIED: usize = 24;
/// The most changes that are looked for: each takes a walk through the description.
const MOST_CHANGES: usize = 100;

/// The search for the description whose export a document is. What the export says otherwise is looked for in the
/// description, and replaced there.
pub(crate) struct ExportSearch<'s, E> {
    export: E,
    sent: &'s Value,
    best: Value,
    /// The export of the best one.
    exported: Value,
    left: usize,
}

impl<'s, E: Fn(&Value) -> Option<Value>> ExportSearch<'s, E> {
    /// Searches from a description, whose export is `exported`, for the one whose export is `sent`.
    pub(crate) fn new(export: E, description: &Value, exported: Value, sent: &'s Value) -> ExportSearch<'s, E> {
        let mut search = ExportSearch { export, sent, best: description.clone(), exported, left: MOST_TRIED };
        let changes = changes(&search.exported, sent);
        for change in changes.iter().filter(|_| changes.len() <= MOST_CHANGES) {
            search.find(change);
        }
        search
    }

    /// The changes that the description has no place for.
    pub(crate) fn missing(&self) -> Vec<Change> {
        changes(&self.exported, self.sent)
    }

    /// The nearest description, and its export.
    pub(crate) fn into_best(self) -> (Value, Value) {
        (self.best, self.exported)
    }

    /// Makes a change of the document in the description: of a value where the former one is, of a description that was missing
    /// where it belongs.
    fn find(&mut self, change: &Change) {
        let What::Set(is) = &change.what else { return };
        if self.left == 0 {
            return;
        }
        let name = change.path.last().map(String::as_str).unwrap_or_default();
        let was = self.exported.pointer(&change.pointer()).cloned();
        let mut places = Vec::new();
        match &was {
            Some(Value::Object(_) | Value::Null) => return,
            Some(was) => collect(&self.best, was, name, &mut Vec::new(), &mut places),
            None if change.path == ["description"] => places.push(vec!["description".to_owned()]),
            None => return,
        }
        // An address is that of every form; another text may be there for another reason.
        let is_address = is.as_str().is_some_and(|text| text.contains("://"));
        if is_address && self.attempt(&places, is) {
            return;
        }
        places.sort_by_key(Vec::len);
        let Some(found) = places.iter().find(|place| self.attempt(std::slice::from_ref(*place), is)) else { return };
        self.change_twins(found, &places, is);
    }

    /// Changes the other places where a description says the same of the same capability: an action, and the entry that it has
    /// among the capabilities.
    fn change_twins(&mut self, found: &[String], places: &[Vec<String>], value: &Value) {
        let Some(capability) = capability_of(&self.best, found) else { return };
        let last = |path: &[String]| path.last().and_then(|name| name.rsplit(':').next()).map(str::to_owned);
        let is_twin = |place: &&Vec<String>| {
            place.as_slice() != found
                && last(place) == last(found)
                && capability_of(&self.best, place) == Some(capability.clone())
        };
        let mut candidate = self.best.clone();
        for path in places.iter().filter(is_twin) {
            Change { path: path.clone(), what: What::Set(value.clone()) }.apply(&mut candidate);
        }
        if let Some(exported) = (self.export)(&candidate)
            && distance(&exported, self.sent) <= distance(&self.exported, self.sent)
        {
            (self.best, self.exported) = (candidate, exported);
        }
    }

    /// Puts a value to places, if the export is more like the document then.
    fn attempt(&mut self, places: &[Vec<String>], value: &Value) -> bool {
        if places.is_empty() || self.left == 0 {
            return false;
        }
        self.left -= 1;
        let mut candidate = self.best.clone();
        for path in places {
            Change { path: path.clone(), what: What::Set(value.clone()) }.apply(&mut candidate);
        }
        let Some(exported) = (self.export)(&candidate) else { return false };
        let is_nearer = distance(&exported, self.sent) < distance(&self.exported, self.sent);
        if is_nearer {
            (self.best, self.exported) = (candidate, exported);
        }
        is_nearer
    }
}

/// The name of the capability that a place of a description is in.
fn capability_of(description: &Value, path: &[String]) -> Option<String> {
    match path {
        [list, name, ..] if list == "actions" => Some(name.clone()),
        [list, index, ..] if list == "lmos:capabilities" => {
            let entry = description.get(list)?.get(index.parse::<usize>().ok()?)?;
            let name = ["lmos:id", "lmos:name"].into_iter().find_map(|member| entry.get(member)?.as_str());
            name.map(str::to_owned)
        }
        _ => None,
    }
}

/// The places where a description has a value, the id aside: of a text anywhere, of another value under its name.
fn collect(value: &Value, was: &Value, name: &str, path: &mut Vec<String>, places: &mut Vec<Vec<String>>) {
    let is_place = |path: &[String]| match was {
        Value::String(_) => pointer(path) != "/id",
        _ => path.last().is_some_and(|last| last.rsplit(':').next() == Some(name)),
    };
    if value == was && is_place(path) {
        places.push(path.clone());
    }
    let mut within = |name_here: String, value: &Value| {
        path.push(name_here);
        collect(value, was, name, path, places);
        path.pop();
    };
    match value {
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(index, element)| within(index.to_string(), element));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| within(name.clone(), member)),
        _ => {}
    }
}
