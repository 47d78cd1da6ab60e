//! Re-import of configurations that were exported from Things, and whose metadata contains the complete Thing
//! Description.
//!
//! An edit of such a configuration is an edit of the Thing: each change is located in the description and applied to
//! it, so that a new export of the description yields the edited configuration.

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
    ConvertedThing, Error, Format, Result,
    edits::{Change, ExportSearch, spelled_like},
    returned::{is_valid, without_description},
    td::{self, Document, Report, Violation},
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
                match description_of(description.value(), exported, &sent, findings)? {
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

impl Configuration {
    /// The report of a configuration that a Thing was exported as, with the edits that its description has no place for.
    pub(super) fn with_edits_of_export(&self, mut report: Report) -> Report {
        let is_export = self.main.value.get("metadata").is_some_and(|metadata| metadata.get(DESCRIPTION).is_some());
        if !is_export || !report.is_valid() {
            return report;
        }
        let (secrets, mut findings) = (Secrets::of(&self.main, &self.beside, false), Findings::default());
        match self.exported_thing(&secrets, &Options::default(), &mut findings) {
            Err(Error::InvalidSource { report: found, .. }) => report.violations.extend(found.violations),
            _ => report.warnings.extend(findings.into_report().warnings),
        }
        report
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
///
/// # Errors
/// [`Error::InvalidSource`] for an edit of how something is called that the description has no place for.
fn description_of(
    description: &Value,
    exported: Value,
    sent: &Value,
    findings: &mut Findings,
) -> Result<Option<Document>> {
    let export = |thing: &Value| from_thing(thing).map(without_description).ok();
    let sent = without_description(sent.clone());
    let search = ExportSearch::new(export, description, without_description(exported), &sent);
    let missing = search.missing();
    if let Some(change) = missing.iter().find(|change| is_of_call(change)) {
        let message = "this edit affects calls, which are determined by `metadata.thingDescription`; edit the \
                       description there instead";
        let violation = Violation::new(change.pointer(), "not-in-description", message);
        let report = Report { version: None, violations: vec![violation], warnings: Vec::new() };
        return Err(Error::InvalidSource { format: Format::AgentSpec.name(), report });
    }
    for change in missing.iter().take(MOST_WARNINGS) {
        let spot = || Spot { pointer: change.pointer(), document: 0 };
        findings.warning(
            spot,
            "not-in-description",
            || "`metadata.thingDescription` takes precedence, and has a different value; edit that value, too",
        );
    }
    Ok(described(search.into_best().0).ok().filter(is_valid))
}

/// True for an edit of an address, a transport, or an access.
fn is_of_call(change: &Change) -> bool {
    const FIELDS: [&str; 14] = [
        "url",
        "agent_url",
        "server_url",
        "api_spec_uri",
        "url_allow_list",
        "http_method",
        "headers",
        "sensitive_headers",
        "query_params",
        "auth",
        "key_file",
        "cert_file",
        "ca_file",
        "connection_config",
    ];
    let is_transport = change.path.last().is_some_and(|last| last == "component_type")
        && change.path.iter().any(|name| name == "client_transport");
    is_transport || change.path.iter().any(|name| FIELDS.contains(&name.as_str()))
}

fn with_id(description: &Document, id: &str) -> Result<Document> {
    let patched = td::merge_patch::apply(description.text(), &json!({"id": id}).to_string())?;
    Ok(Document::parse(patched.as_bytes())?)
}
