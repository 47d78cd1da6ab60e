//! Recognition of documents that were exported from a Thing and are imported again, either unchanged or edited.

use serde_json::Value;

use crate::{
    ConvertedThing, Export, Format, ImportOptions, Input, Source,
    agent_spec::DESCRIPTION,
    edits::{Change, ExportSearch, ImportSearch, add_prefixes, distance, spelled_like},
    td::{Document, Identity, Strictness, admit},
    thing_builder::described,
};

/// Relation between a document and the Thing from which it may have been exported.
#[derive(Debug)]
pub enum Returned {
    /// The document is an export of the Thing.
    Unchanged,
    /// The document is an export of the Thing, with edits. Contains the edited description.
    Edited(Document),
    /// The document is an export of the Thing, with edits that have no counterpart in the Thing. Contains their JSON
    /// Pointers.
    Inexpressible(Vec<String>),
    /// The document is unrelated.
    Other,
}

impl Export {
    /// Compares a document with the export of a Thing. Numbers with equal values are equal, and the order of members is
    /// ignored.
    ///
    /// ```
    /// use agentdex_convert::{Format, ImportOptions, Input, Returned};
    ///
    /// let thing = serde_json::json!({
    ///     "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:clock", "title": "Clock",
    ///     "version": {"instance": "1.0.0"}, "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open",
    ///     "actions": {"time": {"description": "Tells the time", "forms": [{"href": "https://clock.example"}]}},
    /// });
    /// let format = Format::LmosCapabilities;
    /// let (import, export) = (format.import().unwrap(), format.export().unwrap());
    /// let file = String::from_utf8(export.from_thing(&thing, None)?.bytes).unwrap();
    /// let converted = |file: &str| import.to_things(&Input::json(file.as_bytes()), &ImportOptions::default());
    /// assert!(matches!(export.returned(&thing, &converted(&file)?.things[0]), Returned::Unchanged));
    /// let edited = file.replace("Tells the time", "Tells the time of day");
    /// let Returned::Edited(thing) = export.returned(&thing, &converted(&edited)?.things[0]) else { panic!("{edited}") };
    /// assert_eq!(thing.value()["actions"]["time"]["description"], "Tells the time of day");
    /// # Ok::<(), agentdex_convert::Error>(())
    /// ```
    pub fn returned(&self, thing: &Value, converted: &ConvertedThing) -> Returned {
        let source = &converted.source;
        let Some(sent) = source.to_json() else { return Returned::Other };
        let exported = |thing: &Value, version| self.exported(thing, version);
        // A configuration has the whole description in it, in which its edits were made when it was read.
        if is_with_description(source, &sent) {
            let description = &converted.description;
            let is_read = exported(description.value(), None).map(without_description).is_some_and(|exported| {
                let sent = spelled_like(&exported, without_description(sent));
                exported == sent
            });
            return match spelled_like(thing, description.value().clone()) == *thing {
                _ if !is_read => Returned::Other,
                true => Returned::Unchanged,
                false => Returned::Edited(description.clone()),
            };
        }
        let Some((version, made)) = self.nearest(thing, &sent) else { return Returned::Other };
        let sent = spelled_like(&made, sent);
        if made == sent {
            return Returned::Unchanged;
        }
        let export = |thing: &Value| exported(thing, version);
        let search = ExportSearch::new(export, thing, made.clone(), &sent);
        let missing = search.missing();
        let (best, best_exported) = search.into_best();
        let edited = match missing.is_empty() {
            true => Some(best),
            false => carried(source.format, export, (best, best_exported), (&made, converted), &sent),
        };
        match edited.and_then(|edited| described(edited).ok()).filter(is_valid) {
            Some(edited) => Returned::Edited(edited),
            None => inexpressible(&made, &sent, missing),
        }
    }

    /// Returns the number of values in which a document differs from the export of a Thing; 0 if they are equal.
    /// Returns `None` if the Thing can't be exported, or if the document is neither JSON nor YAML.
    pub fn distance(&self, thing: &Value, converted: &ConvertedThing) -> Option<usize> {
        let sent = converted.source.to_json()?;
        if is_with_description(&converted.source, &sent) {
            return Some(distance(thing, &spelled_like(thing, converted.description.value().clone())));
        }
        let (_, exported) = self.nearest(thing, &sent)?;
        Some(distance(&exported, &spelled_like(&exported, sent)))
    }

    /// The export of a Thing that is nearest to a document, and its version.
    fn nearest(&self, thing: &Value, sent: &Value) -> Option<(Option<&'static str>, Value)> {
        let versions: Vec<Option<&str>> = match self.versions {
            [] => vec![None],
            versions => versions.iter().map(|version| Some(*version)).collect(),
        };
        let made = versions.into_iter().filter_map(|version| Some((version, self.exported(thing, version)?)));
        made.min_by_key(|(_, made)| distance(made, sent))
    }

    fn exported(&self, thing: &Value, version: Option<&str>) -> Option<Value> {
        serde_json::from_slice(&(self.from_thing)(thing, version).ok()?.bytes).ok()
    }
}

/// Applies the edits of an export to the Thing, by importing the document. `made` is the unedited export.
fn carried(
    format: Format,
    export: impl Fn(&Value) -> Option<Value> + Copy,
    (best, exported): (Value, Value),
    (made, converted): (&Value, &ConvertedThing),
    sent: &Value,
) -> Option<Value> {
    let options = ImportOptions::of_fetched(Some(&converted.id), None);
    let unedited = format.import()?.to_things(&Input::json(made.to_string().as_bytes()), &options).ok()?;
    let was = unedited.things.into_iter().next()?.description.into_parts().0;
    let is = converted.description.value();
    let complete =
        |description: (Value, Value)| ImportSearch::new(export, description, (&was, is), sent).into_complete();
    complete((best.clone(), exported)).or_else(|| {
        // A name that the export makes of the title and the URL would change with them.
        let mut named = best;
        let name = was.get(SERVER_NAME).filter(|_| named.get(SERVER_NAME).is_none())?;
        named.as_object_mut()?.insert(SERVER_NAME.to_owned(), name.clone());
        add_prefixes(&mut named, is);
        let search = ExportSearch::new(export, &named, export(&named)?, sent);
        complete(search.into_best())
    })
}

/// Member of a Thing with the name of an MCP server.
const SERVER_NAME: &str = "mcp:name";
/// Maximum number of edits named in an error.
const MOST_NAMED: usize = 20;

/// Returns the edits without a counterpart, or `Other` if there are too many.
fn inexpressible(made: &Value, sent: &Value, missing: Vec<Change>) -> Returned {
    let is_other = missing.len() > MOST_NAMED || 2 * distance(made, sent) > distance(made, &Value::Null);
    match is_other {
        true => Returned::Other,
        false => Returned::Inexpressible(missing.iter().map(Change::pointer).collect()),
    }
}

/// True for a configuration of Agent Spec that has the whole description in it.
fn is_with_description(source: &Source, sent: &Value) -> bool {
    source.format == Format::AgentSpec && sent["metadata"].get(DESCRIPTION).is_some()
}

/// A configuration without the description that it was made of.
pub(crate) fn without_description(mut configuration: Value) -> Value {
    configuration.get_mut("metadata").and_then(Value::as_object_mut).map(|metadata| metadata.remove(DESCRIPTION));
    configuration
}

/// True for a Thing Description that a registry takes as it is.
pub(crate) fn is_valid(description: &Document) -> bool {
    admit(description.clone(), Identity::Own, Strictness::Strict).is_ok()
}
