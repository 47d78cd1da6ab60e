//! Configurations that Things were exported as: the Thing Description in their metadata says more than they do.
//!
//! Whoever edits such a configuration edits the Thing: what its export would say otherwise is looked for in the
//! description, so that exporting the description gives the configuration.

use serde_json::{Value, json};

use super::{
    Configuration, Options, edits,
    export::{DESCRIPTION, from_thing},
    findings::{Findings, Spot},
    secrets::Secrets,
    stored,
};
use crate::{
    ConvertedThing, Result,
    edits::{Change, What, changes, distance, pointer},
    td::{self, Document},
    thing_builder::described,
};

/// The most exports that are made to find what was edited.
const MOST_TRIED: usize = 24;
/// The most warnings of what a description doesn't have.
const MOST_WARNINGS: usize = 20;

impl Configuration {
    /// The Thing that the configuration was exported from, with what was edited in the configuration since; none if it
    /// isn't such an export.
    pub(super) fn exported_thing(
        &self,
        secrets: &Secrets,
        options: &Options,
        findings: &mut Findings,
    ) -> Result<Option<ConvertedThing>> {
        let metadata = self.main.value.get("metadata").and_then(Value::as_object);
        let description = metadata.and_then(|metadata| metadata.get(DESCRIPTION));
        let Some(description) = description.filter(|_| secrets.has_none()) else { return Ok(None) };
        let text = match description {
            Value::String(text) => text.clone(),
            description => description.to_string(),
        };
        let Ok(description) = Document::parse(text.as_bytes()) else { return Ok(None) };
        let Some(id) = description.value().get("id").and_then(Value::as_str).map(str::to_owned) else {
            return Ok(None);
        };
        let edits = metadata.and_then(edits::taken_out);
        let mut sent = self.main.value.clone();
        if let Some((_, rest)) = &edits {
            sent["metadata"] = rest.clone().into();
        }
        let description = match from_thing(description.value()) {
            Ok(exported) if exported == sent => description,
            Ok(exported) if is_of(&exported, &sent) => {
                match description_of(description.value(), exported, &sent, findings) {
                    Some(description) => description,
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let (id, description) = match &options.id {
            Some(id) => (id.clone(), with_id(&description, id)?),
            None => (id, description),
        };
        let thing = ConvertedThing { id, description, source: stored::document(&self.main, secrets)? };
        Ok(Some(match edits {
            Some((edits, _)) => edits::edited(thing, &edits, root, findings),
            None => thing,
        }))
    }
}

fn root() -> Spot {
    Spot { pointer: String::new(), document: 0 }
}

/// True if a configuration is about the component that a Thing is exported as.
fn is_of(exported: &Value, sent: &Value) -> bool {
    ["component_type", "id"].iter().all(|name| exported.get(*name) == sent.get(*name))
}

/// The description with what was edited in its export; none if that would not be valid.
fn description_of(description: &Value, exported: Value, sent: &Value, findings: &mut Findings) -> Option<Document> {
    let mut search =
        Search { sent, best: description.clone(), exported: without_description(exported), left: MOST_TRIED };
    let sent = without_description(sent.clone());
    search.sent = &sent;
    for change in changes(&search.exported.clone(), &sent) {
        search.find(&change);
    }
    let missing = changes(&search.exported, &sent);
    for change in missing.iter().take(MOST_WARNINGS) {
        let spot = || Spot { pointer: change.pointer(), document: 0 };
        findings.warning(spot, "not-in-description", || {
            "the Thing Description in `metadata.thingDescription` is what is read, and says otherwise: edit it too, or \
             remove it to have the configuration read"
        });
    }
    described(search.best).ok().filter(edits::is_valid)
}

/// A configuration without the description that it was made of.
fn without_description(mut configuration: Value) -> Value {
    configuration.get_mut("metadata").and_then(Value::as_object_mut).map(|metadata| metadata.remove(DESCRIPTION));
    configuration
}

/// The search for the description whose export a configuration is.
struct Search<'s> {
    sent: &'s Value,
    best: Value,
    /// The export of the best one.
    exported: Value,
    left: usize,
}

impl Search<'_> {
    /// Makes a change of the configuration in the description: of a text where the former one is, of a description that
    /// was missing where it belongs.
    fn find(&mut self, change: &Change) {
        let What::Set(is @ Value::String(_)) = &change.what else { return };
        let was = self.exported.pointer(&change.pointer());
        let mut places = match was {
            Some(Value::String(was)) => {
                let (mut places, was) = (Vec::new(), was.clone());
                collect_texts(&self.best, &was, &mut Vec::new(), &mut places);
                places
            }
            _ if change.path == ["description"] => vec![vec!["description".to_owned()]],
            _ => return,
        };
        // An address is that of every form; another text may be there for another reason.
        let is_address = is.as_str().is_some_and(|text| text.contains("://"));
        if is_address && self.attempt(&places, is) {
            return;
        }
        places.sort_by_key(Vec::len);
        let _ = places.into_iter().any(|place| self.attempt(&[place], is));
    }

    /// Puts a text to places, if the export is more like the configuration then.
    fn attempt(&mut self, places: &[Vec<String>], text: &Value) -> bool {
        if places.is_empty() || self.left == 0 {
            return false;
        }
        self.left -= 1;
        let mut candidate = self.best.clone();
        for path in places {
            Change { path: path.clone(), what: What::Set(text.clone()) }.apply(&mut candidate);
        }
        let Ok(exported) = from_thing(&candidate).map(without_description) else { return false };
        let is_nearer = distance(&exported, self.sent) < distance(&self.exported, self.sent);
        if is_nearer {
            (self.best, self.exported) = (candidate, exported);
        }
        is_nearer
    }
}

/// The places where a value has a text, the id aside.
fn collect_texts(value: &Value, text: &str, path: &mut Vec<String>, places: &mut Vec<Vec<String>>) {
    if value.as_str() == Some(text) && pointer(path) != "/id" {
        places.push(path.clone());
    }
    let mut within = |name: String, value: &Value| {
        path.push(name);
        collect_texts(value, text, path, places);
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

fn with_id(description: &Document, id: &str) -> Result<Document> {
    let patched = td::merge_patch::apply(description.text(), &json!({"id": id}).to_string())?;
    Ok(Document::parse(patched.as_bytes())?)
}
