//! Application of a Thing's edits to the document from which it was created.
//!
//! This module doesn't know which member of a document corresponds to which member of a Thing. Instead, it generates
//! candidates, either with the format's export of the Thing before and after the edit, or by replacing a text at its
//! previous location, and imports them to determine how much of the edit they contain. The warnings list what is still
//! missing from the import of the best candidate, so they are always accurate.

mod change;
mod export_search;
mod import_search;
mod merge;
mod removed_texts;
mod spelling;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, collections::HashSet};

use serde_json::Value;

use self::removed_texts::all_texts;
pub(crate) use self::{
    change::{Change, What, changes, changes_with_moves, distance, pointer},
    export_search::ExportSearch,
    import_search::{ImportSearch, add_prefixes},
    merge::merged,
    removed_texts::RemovedTexts,
    spelling::spelled_like,
};
use crate::{
    Error, Format, ImportOptions, Input, MAX_SOURCE_BYTES, Rendition, Result,
    descriptor::Edit,
    redaction::Node,
    td::{Violation, internal::parse_json},
};

/// The rule of warnings about edits that a document doesn't contain.
pub(crate) const RULE: &str = "edit-not-expressed";
/// The most documents that are tried for one export.
const MOST_TRIED: usize = 100;
/// The most bytes that they may have together.
const MOST_BYTES: usize = MAX_SOURCE_BYTES;
/// The most places that a text is tried in.
const MOST_PLACES: usize = 8;
/// The shortest text that is looked for in a document.
const SHORTEST_FOUND: usize = 2;

/// A document that has some of an edit.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    /// The document in JSON.
    pub(crate) json: String,
    /// The Thing that importing it gives.
    pub(crate) thing: Value,
    /// Its distance from the edited Thing.
    distance: usize,
}

/// The search for the document that has most of an edit.
pub(crate) struct Search<'e> {
    format: Format,
    /// The document in JSON.
    json: Cow<'e, str>,
    components: &'e [(&'e [u8], crate::Syntax)],
    options: ImportOptions,
    base: &'e Value,
    pub(crate) edited: &'e Value,
    /// The Thing that importing the original gives here, where not all is known that it was imported with.
    imported: Option<Value>,
    /// The number of documents that were tried, and their bytes.
    tried: (usize, usize),
    pub(crate) best: Attempt,
}

impl<'e> Search<'e> {
    /// # Errors
    /// Those of the parser of the original.
    pub(crate) fn new(format: Format, edit: &Edit<'e>) -> Result<Search<'e>> {
        let json = edit.original.syntax.to_json(edit.original.bytes)?;
        parse_json(&json)?;
        let best = Attempt {
            json: json.clone().into_owned(),
            thing: edit.base.clone(),
            distance: distance(edit.base, edit.edited),
        };
        let mut search = Search {
            format,
            json,
            components: edit.original.components,
            options: edit.options.of_stored(edit.base),
            base: edit.base,
            edited: edit.edited,
            imported: None,
            tried: (0, 0),
            best,
        };
        search.imported = search.import(&search.json).or_else(|| {
            search.options = search.options.clone().by_default("profile", "sdk");
            search.import(&search.json)
        });
        search.try_options(ImportOptions::with_prompts);
        Ok(search)
    }

    /// The original in JSON.
    pub(crate) fn original(&self) -> &str {
        &self.json
    }

    /// Takes other options if the original becomes the Thing with them that it became, and doesn't so far.
    pub(crate) fn try_options(&mut self, with: impl FnOnce(ImportOptions) -> ImportOptions) {
        let options = with(self.options.clone());
        if self.imported.as_ref() != Some(self.base) && options != self.options {
            let imported = self.import_with(&self.json, &options);
            if imported.as_ref() == Some(self.base) {
                (self.imported, self.options) = (imported, options);
            }
        }
    }

    fn import(&self, json: &str) -> Option<Value> {
        self.import_with(json, &self.options)
    }

    fn import_with(&self, json: &str, options: &ImportOptions) -> Option<Value> {
        let input = Input { components: self.components, ..Input::json(json.as_bytes()) };
        let conversion = self.format.import()?.to_things(&input, options).ok()?;
        Some(conversion.things.into_iter().next()?.description.into_parts().0)
    }

    /// The Thing that importing a document gives, with what the original was imported with; none if it is no document
    /// of the format.
    fn thing_of(&self, json: &str) -> Option<Value> {
        let (was, is) = (self.imported.as_ref()?, self.import(json)?);
        let mut thing = self.base.clone();
        for change in changes(was, &is) {
            change.apply(&mut thing);
        }
        Some(thing)
    }

    /// True if the best document has all of the edit.
    pub(crate) fn is_complete(&self) -> bool {
        self.best.distance == 0
    }

    /// Takes a document that has more of the edit.
    pub(crate) fn take_nearer(&mut self, attempt: Attempt) {
        if attempt.distance < self.best.distance {
            self.best = attempt;
        }
    }

    /// Takes a document as [`Search::take`] does. Where the original can't be imported here as it was, since it came
    /// with components or options, the one that is known to become `thing`.
    pub(crate) fn take_or_trust(&mut self, json: String, thing: Value) {
        if self.imported.as_ref() == Some(self.base) {
            self.take(json, None);
        } else {
            let distance = distance(&thing, self.edited);
            self.best = Attempt { json, thing, distance };
        }
    }

    /// Puts a member of the Thing to its place in the best document, also where other members come of it too.
    pub(crate) fn put(&mut self, of_thing: &str, of_document: &str) {
        let [before, after] = [self.base, self.edited].map(|thing| thing.pointer(of_thing));
        if before == after {
            return;
        }
        let [was, is] = [before, after].map(|value| nested(of_document, value));
        if let Some(attempt) = self.attempt(merged(&self.best.json, &was, &is))
            && attempt.thing.pointer(of_thing) == after
        {
            self.best = attempt;
        }
    }

    /// True if so much was tried that nothing more is looked for.
    fn is_spent(&self) -> bool {
        self.tried.0 >= MOST_TRIED || self.tried.1 >= MOST_BYTES
    }

    /// Imports a document; none if it is too large or not one.
    pub(crate) fn attempt(&mut self, json: String) -> Option<Attempt> {
        self.tried = (self.tried.0 + 1, self.tried.1 + json.len());
        if json.len() > MAX_SOURCE_BYTES {
            return None;
        }
        let thing = self.thing_of(&json)?;
        let distance = distance(&thing, self.edited);
        Some(Attempt { json, thing, distance })
    }

    /// Takes a document if it has more of the edit than the best so far, or as much and the value at `path`, which was
    /// missing.
    pub(crate) fn take(&mut self, json: String, path: Option<&[String]>) -> bool {
        if json == self.best.json {
            return false;
        }
        let Some(attempt) = self.attempt(json) else { return false };
        let is_there =
            |thing: &Value, path: &[String]| thing.pointer(&pointer(path)) == self.edited.pointer(&pointer(path));
        let is_gained = path.is_some_and(|path| is_there(&attempt.thing, path) && !is_there(&self.best.thing, path));
        let is_better = attempt.distance < self.best.distance || attempt.distance == self.best.distance && is_gained;
        if is_better {
            self.best = attempt;
        }
        is_better
    }

    /// The changes that the best document doesn't have.
    pub(crate) fn missing(&self) -> Vec<Change> {
        changes(&self.best.thing, self.edited)
    }

    /// Puts into the document what `document_of` says otherwise of the Thing since the edit: all of it, or, where that
    /// isn't what importing it gives, one change after the other.
    pub(crate) fn merge(&mut self, document_of: impl Fn(&Value) -> Option<Value>) {
        let Some(before) = document_of(self.base) else { return };
        let after = document_of(self.edited);
        let is_taken = after.is_some_and(|after| self.take(merged(&self.json, &before, &after), None));
        let is_as_before = |change: &Change| {
            let pointer = change.pointer();
            self.best.thing.pointer(&pointer) == self.base.pointer(&pointer)
        };
        if is_taken && self.missing().iter().all(is_as_before) {
            return;
        }
        let whole = self.best.clone();
        self.best = Attempt {
            json: self.json.clone().into_owned(),
            thing: self.base.clone(),
            distance: distance(self.base, self.edited),
        };
        let mut thing = self.base.clone();
        for change in changes(self.base, self.edited) {
            let mut candidate = thing.clone();
            if self.is_spent() || !change.apply(&mut candidate) {
                continue;
            }
            let Some(after) = document_of(&candidate) else { continue };
            if self.take(merged(&self.json, &before, &after), Some(&change.path)) {
                thing = candidate;
            }
        }
        if whole.distance < self.best.distance {
            self.best = whole;
        }
    }

    /// Puts texts of members of these names that are still missing where the document has the former ones.
    pub(crate) fn replace_texts(&mut self, names: &[&str]) {
        // Those of the Thing itself have their places.
        let is_found = |change: &Change| match &change.path[..] {
            [_, .., last] => names.contains(&last.as_str()),
            _ => false,
        };
        for change in self.missing().into_iter().filter(is_found) {
            let (Some(Value::String(was)), What::Set(Value::String(is))) =
                (self.base.pointer(&change.pointer()), &change.what)
            else {
                continue;
            };
            if was.len() < SHORTEST_FOUND {
                continue;
            }
            let json = self.best.json.clone();
            let mut spans = Vec::new();
            collect_texts(&Node::parse(&json), was, &mut spans);
            for span in spans.into_iter().take(if self.is_spent() { 0 } else { MOST_PLACES }) {
                let (before, after) = (json.get(..span.start), json.get(span.end..));
                let text =
                    [before.unwrap_or_default(), &Value::from(is.as_str()).to_string(), after.unwrap_or_default()];
                if self.take(text.concat(), Some(&change.path)) {
                    break;
                }
            }
        }
    }

    /// Takes a document instead of the best one, if it can be imported.
    pub(crate) fn replace(&mut self, json: String) {
        if let Some(attempt) = self.attempt(json) {
            self.best = attempt;
        }
    }

    /// True if the best document has a text that the edit took out of the Thing.
    pub(crate) fn has_removed_texts(&self) -> bool {
        let removed = RemovedTexts::between(self.base, self.edited);
        let is_found = |constant: &HashSet<String>| removed.find_in(&self.best.json, constant).is_some();
        !removed.is_empty() && is_found(&HashSet::new()) && is_found(&constant_texts(self.format, self.edited))
    }

    /// The best document, unless it has a text that the edit took out of the Thing. That isn't in the error, since whoever
    /// reads it may not know the text.
    ///
    /// # Errors
    /// [`Error::NotExpressible`]
    pub(crate) fn finish_without_removed_texts(self) -> Result<Rendition> {
        if !self.has_removed_texts() {
            return Ok(self.finish());
        }
        let (format, noun) = (self.format.name(), self.format.descriptor().noun);
        let reason = format!(
            "the document would still contain text that an edit removed, because {noun} can't express the \
             edited description; request the original without edits (`edits=false`, `--without-edits`), or another \
             format"
        );
        Err(Error::NotExpressible { format, reason })
    }

    /// Drops what the edit took out of the Thing from the best document: of the members and elements that have such a text, the
    /// smallest without which importing the document gives more of the edit.
    pub(crate) fn drop_removed_texts(&mut self) {
        let removed = RemovedTexts::between(self.base, self.edited);
        while !removed.is_empty() && !self.is_spent() {
            let json = self.best.json.clone();
            let Some(path) = removed.find_in(&json, &HashSet::new()) else { return };
            let document: Value = serde_json::from_str(&json).unwrap_or_default();
            let is_dropped = (1..=path.len()).rev().any(|length| {
                let mut without = document.clone();
                path.get(..length).is_some_and(|path| remove(&mut without, path))
                    && self.take(merged(&json, &document, &without), None)
            });
            if !is_dropped {
                return;
            }
        }
    }

    /// The best document, with a warning for each change that it doesn't have.
    pub(crate) fn finish(self) -> Rendition {
        let noun = self.format.descriptor().noun;
        let warning = |change: Change| {
            let what = match &change.what {
                What::Remove => "the value was removed from the Thing, but importing the document restores it",
                _ => "importing the document doesn't restore this value of the Thing",
            };
            Violation::new(change.pointer(), RULE, format!("{what}: {noun} can't express the edit"))
        };
        let warnings = self.missing().into_iter().map(warning).collect();
        Rendition { bytes: self.best.json.into_bytes(), warnings }
    }
}

/// Removes a member or an element. False where there is no such place.
fn remove(document: &mut Value, path: &[String]) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    match document.pointer_mut(&pointer(parents)) {
        Some(Value::Object(members)) => members.remove(last).is_some(),
        Some(Value::Array(elements)) => {
            let index = last.parse().ok().filter(|index: &usize| *index < elements.len());
            index.map(|index| elements.remove(index)).is_some()
        }
        _ => false,
    }
}

/// The places where a document has a text as a value.
fn collect_texts(node: &Node<'_>, text: &str, spans: &mut Vec<std::ops::Range<usize>>) {
    if node.text() == Some(text) {
        spans.push(node.span());
    }
    node.elements().iter().for_each(|element| collect_texts(element, text, spans));
    node.members().for_each(|(_, member)| collect_texts(member, text, spans));
}

/// The original with an edit, by what the export of its format says otherwise of the Thing since. `document_of` makes
/// a document of a Thing in the version of the original.
///
/// # Errors
/// Those of the parser of the original.
pub(crate) fn through_export(
    format: Format,
    edit: &Edit<'_>,
    places: &[(&str, &str)],
    document_of: impl Fn(&Value, &str) -> Result<Value>,
) -> Result<Rendition> {
    let mut search = Search::new(format, edit)?;
    let original = search.original().to_owned();
    let before = document_of(edit.base, &original);
    match &before {
        Ok(_) => search.merge(|thing| document_of(thing, &original).ok()),
        // No document of the format can be made of such a Thing, though it was made of one.
        Err(_) => search.merge_places(places),
    }
    search.replace_texts(&["title", "description", "lmos:description", "href"]);
    if search.has_removed_texts()
        && let (Ok(before), Ok(after)) = (before, document_of(edit.edited, &original))
    {
        search.replace(merged(&original, &before, &after));
    }
    search.finish_without_removed_texts()
}

/// The texts of the documents that the Thing as it is now becomes: those that aren't its own are words of the format.
fn constant_texts(format: Format, edited: &Value) -> HashSet<String> {
    let mut texts = HashSet::new();
    let Some(export) = format.export() else { return texts };
    let versions = export.versions.iter().map(|version| Some(*version)).chain([None]);
    for made in versions.filter_map(|version| export.from_thing(edited, version).ok()) {
        let document: Value = serde_json::from_slice(&made.bytes).unwrap_or_default();
        all_texts(&document, &mut |text| {
            texts.insert(text.to_owned());
        });
    }
    texts
}

impl Search<'_> {
    /// Puts into the best document what is still missing of members that it has at other places.
    pub(crate) fn merge_places(&mut self, places: &[(&str, &str)]) {
        for (of_thing, of_document) in places {
            let [before, after] = [self.base, self.edited].map(|thing| nested(of_document, thing.pointer(of_thing)));
            let path: Vec<String> = of_thing.split('/').skip(1).map(str::to_owned).collect();
            if before != after {
                self.take(merged(&self.best.json.clone(), &before, &after), Some(&path));
            }
        }
    }
}

/// An object in which a value is at a JSON Pointer; without a value only what would be around it.
pub(crate) fn nested(pointer: &str, value: Option<&Value>) -> Value {
    let mut tokens = pointer.rsplit('/').filter(|token| !token.is_empty());
    let named = |token: &str, inner: Option<Value>| {
        let token = token.replace("~1", "/").replace("~0", "~");
        Value::Object(inner.map(|inner| (token, inner)).into_iter().collect())
    };
    let innermost = tokens.next().map(|token| named(token, value.cloned()));
    tokens.fold(innermost.unwrap_or_default(), |inner, token| named(token, Some(inner)))
}
