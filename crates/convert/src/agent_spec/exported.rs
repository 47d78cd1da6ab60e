//! Configurations that Things were exported as: the Thing Description in their metadata says more than they do.
//!
//! Whoever edits such a configuration edits the Thing: what its export would say otherwise is looked for in the
//! description, so that exporting the description gives the configuration.

use serde_json::{Value, json};

use super::{
    Configuration, Options, edits,
    export::from_thing,
    findings::{Findings, Spot},
    secrets::Secrets,
    stored,
    terms::DESCRIPTION,
};
use crate::{
    ConvertedThing, Result,
    edits::{ExportSearch, spelled_like},
    returned::{is_valid, without_description},
    td::{self, Document},
    thing_builder::described,
};

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
        let Ok(exported) = from_thing(description.value()) else { return Ok(None) };
        let sent = spelled_like(&exported, sent);
        let description = match exported {
            exported if exported == sent => description,
            exported if is_of(&exported, &sent) => {
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
    let export = |thing: &Value| from_thing(thing).map(without_description).ok();
    let sent = without_description(sent.clone());
    let search = ExportSearch::new(export, description, without_description(exported), &sent);
    for change in search.missing().iter().take(MOST_WARNINGS) {
        let spot = || Spot { pointer: change.pointer(), document: 0 };
        findings.warning(spot, "not-in-description", || {
            "the Thing Description in `metadata.thingDescription` is what is read, and says otherwise: edit it too, or \
             remove it to have the configuration read"
        });
    }
    described(search.into_best()).ok().filter(is_valid)
}

fn with_id(description: &Document, id: &str) -> Result<Document> {
    let patched = td::merge_patch::apply(description.text(), &json!({"id": id}).to_string())?;
    Ok(Document::parse(patched.as_bytes())?)
}
