//! Storage of a Thing's edits in its configuration.
//!
//! Edited names, descriptions, and addresses are written to the corresponding fields. All other edits are stored in the
//! metadata of the component, in the member `thingDescriptionEdits`: JSON Patch operations (RFC 6902) that an import
//! applies to the Thing Description generated from the component. Other programs ignore them.

use serde_json::{Map, Value, json};

use super::{
    Configuration, Profile, Protocol, export,
    findings::{Findings, Spot},
    reading,
    references::as_reference,
    stored,
    terms::DESCRIPTION,
};
use crate::{
    ConvertedThing, Format, ImportOptions, Rendition, Result, Syntax,
    descriptor::Edit,
    edits::{Change, Search, changes_with_moves, merged, nested},
    returned::is_valid,
    td::LmosKind,
    thing_builder::described,
};

/// The member of the metadata that edits without a place of their own are kept in.
pub(super) const EDITS: &str = "thingDescriptionEdits";

/// The edits that metadata has, and the rest of it.
pub(super) fn taken_out(metadata: &Map<String, Value>) -> Option<(Value, Map<String, Value>)> {
    let mut rest = metadata.clone();
    let edits = rest.remove(EDITS)?;
    Some((edits, rest))
}

/// A Thing with the edits that the metadata of its component has. Those that don't fit are left out, with a warning.
pub(super) fn edited(
    thing: ConvertedThing,
    edits: &Value,
    spot: impl Fn() -> Spot,
    findings: &mut Findings,
) -> ConvertedThing {
    let mut warn = |message: String| {
        findings.warning(|| spot().member("metadata").member(EDITS), "edits-unusable", || message);
    };
    let read = match edits {
        Value::String(text) => serde_json::from_str(text).ok(),
        edits => Some(edits.clone()),
    };
    let Some(Value::Array(operations)) = read else {
        warn("the edits are not a list of JSON Patch operations, and are ignored".to_owned());
        return thing;
    };
    let mut value = thing.description.value().clone();
    let mut left_out = 0;
    for operation in &operations {
        let is_own =
            |change: &Change| !change.path.first().is_some_and(|name| ["id", "registration"].contains(&name.as_str()));
        let change = Change::of_operation(operation).filter(is_own);
        left_out += usize::from(!change.is_some_and(|change| change.apply(&mut value)));
    }
    if left_out > 0 {
        warn(format!(
            "edits that don't apply to the Thing Description are ignored (number: {left_out} of {})",
            operations.len()
        ));
    }
    match described(value) {
        Ok(description) if is_valid(&description) || !is_valid(&thing.description) => {
            ConvertedThing { description, ..thing }
        }
        _ => {
            warn("the edits would make the Thing Description invalid, and are ignored".to_owned());
            thing
        }
    }
}

/// A configuration with what was edited since.
///
/// # Errors
/// Those of the parser of the original.
pub(super) fn with_edits(edit: &Edit<'_>) -> Result<Rendition> {
    let mut search = Search::new(Format::AgentSpec, edit)?;
    find_options(&mut search, edit);
    let original: Value = serde_json::from_str(search.original()).unwrap_or_default();
    let root = root_of(&search, edit);
    let metadata = format!("{root}/metadata");
    // Edits that it has already are part of what is there, and are made again.
    if original.pointer(&metadata).is_some_and(|metadata| metadata.get(EDITS).is_some()) {
        let edits = nested(&format!("{metadata}/{EDITS}"), Some(&json!([])));
        let without = merged(search.original(), &edits, &nested(&metadata, Some(&json!({}))));
        search.replace(without);
    }
    if export::from_thing(edit.base).is_ok_and(|exported| exported == original) {
        search.merge(|thing| export::from_thing(thing).ok());
    }
    let exact = search.best.clone();
    // A tool is called by its name.
    if LmosKind::of(edit.base) == Some(LmosKind::Agent) {
        search.put("/title", &format!("{root}/name"));
    }
    search.put("/description", &format!("{root}/description"));
    // Others may be what something is called by.
    search.replace_texts(&["description", "lmos:description", "href"]);
    search.drop_removed_texts();
    if search.has_removed_texts() {
        search.put("/title", &format!("{root}/name"));
    }
    keep_in_metadata(&mut search, &metadata);
    if !search.is_complete() {
        let found = std::mem::replace(&mut search.best, exact);
        keep_in_metadata(&mut search, &metadata);
        search.take_nearer(found);
    }
    if search.has_removed_texts()
        && original.pointer(&metadata).is_some_and(|metadata| metadata.get(DESCRIPTION).is_some())
    {
        // The description in it is of before.
        let exported = export::from_thing(edit.edited)?;
        search.replace(exported.to_string());
    }
    finish(search, edit)
}

/// Finds the base that the configuration was imported with, where nobody knows it any more: it is where the Thing is
/// called.
fn find_options(search: &mut Search<'_>, edit: &Edit<'_>) {
    let actions = edit.base.get("actions").and_then(Value::as_object).into_iter().flatten();
    let mut forms = actions.filter_map(|(_, action)| action.get("forms")?.as_array()).flatten();
    let Some(base) = forms.find_map(|form| form.get("href")?.as_str()) else { return };
    for protocol in Protocol::ALL {
        let called = |options: ImportOptions| options.by_default("base", base).by_default("protocol", protocol.name());
        search.try_options(called);
        search.try_options(|options| called(options).with_prompts());
    }
}

/// The JSON Pointer of the component that the configuration is about.
fn root_of(search: &Search<'_>, edit: &Edit<'_>) -> String {
    let Ok(configuration) = Configuration::parse(search.original().as_bytes(), Syntax::Json, edit.original.components)
    else {
        return String::new();
    };
    let graph = reading::read(&configuration.main, &configuration.beside, Profile::Sdk, &mut Findings::default());
    let spot = graph.root().map(|root| graph.at(root)).filter(|spot| spot.document == 0);
    spot.map(|spot| spot.pointer).unwrap_or_default()
}

/// Keeps what is still missing in the metadata.
fn keep_in_metadata(search: &mut Search<'_>, metadata: &str) {
    let json = search.best.json.clone();
    let document: Value = serde_json::from_str(&json).unwrap_or_default();
    let is_taken = |metadata: &Value| as_reference(metadata).is_some() || !metadata.is_object() && !metadata.is_null();
    if search.is_complete() || document.pointer(metadata).is_some_and(is_taken) {
        return;
    }
    let earlier = document.pointer(metadata).and_then(|metadata| metadata.get(EDITS)?.as_array());
    let changes = changes_with_moves(&search.best.thing, search.edited);
    let mut thing = search.best.thing.clone();
    for change in &changes {
        change.apply(&mut thing);
    }
    let is_valid = |thing: Value| described(thing).is_ok_and(|thing| is_valid(&thing));
    if !is_valid(thing.clone()) && is_valid(search.edited.clone()) {
        return;
    }
    let operations: Value =
        earlier.into_iter().flatten().cloned().chain(changes.iter().map(Change::to_operation)).collect();
    let operations = export::kept(&operations);
    let added = nested(&format!("{metadata}/{EDITS}"), Some(&operations));
    search.take_or_trust(merged(&json, &nested(metadata, Some(&json!({}))), &added), thing);
}

fn finish(search: Search<'_>, edit: &Edit<'_>) -> Result<Rendition> {
    let is_changed = search.best.json != search.original();
    let Rendition { bytes, warnings } = search.finish_without_removed_texts()?;
    let bytes = match is_changed {
        true => stored::in_syntax(String::from_utf8_lossy(&bytes).into_owned(), edit.original.syntax)?.bytes,
        false => edit.original.bytes.to_vec(),
    };
    Ok(Rendition { bytes, warnings })
}
