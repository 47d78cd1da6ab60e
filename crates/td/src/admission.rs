//! Admission of documents: fixable problems are fixed and reported, and the stored form is valid.
//!
//! Edits change only the affected members; everything else keeps its text. They are:
//!
//! - An `id` is assigned, percent-encoded if it is not a URI, or renamed from `@id`.
//! - An LMOS agent or tool without security gets the scheme `auto`, which raises TD 1.0 to 1.1.
//! - An LMOS agent or tool without a TD context gets one.
//! - `registration` and its context are removed.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{
    CONTEXT_1_0, CONTEXT_1_1, CONTEXT_DISCOVERY, Document, Identity, LmosKind, RegistrationRequest, Report, Strictness,
    ThingDescription, Version, Violation, check,
    enrich::find_context,
    identity::is_absolute_uri,
    members::{Members, compact},
    normalize_id,
};
use crate::{Error, Result};

/// The name of the security definition that is added to agents without one.
const AUTO_SECURITY: &str = "auto_sc";

/// Result of [`admit`]: the stored form of a document, with the requested expiry and warnings.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Description in its stored form.
    pub thing: ThingDescription,
    /// Expiry requested in `registration`, which is not a part of the stored form.
    pub registration: RegistrationRequest,
    /// Applied fixes, and other warnings of validation.
    pub warnings: Vec<Violation>,
}

/// Validates a document, and converts it to its stored form. With [`Strictness::Lenient`], fixable problems are fixed
/// first.
///
/// ```
/// use agentdex_td::{Document, Identity, Strictness, admit};
///
/// let document = Document::parse(br#"{
///     "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
///     "@type": "lmos:Agent", "id": "my agent", "title": "Weather agent"
/// }"#)?;
/// let admission = admit(document, Identity::Own, Strictness::Lenient)?;
/// assert_eq!(admission.thing.id(), "urn:agentdex:my%20agent");
/// let fixes: Vec<_> = admission.warnings.iter().map(|warning| warning.rule.as_ref()).collect();
/// assert_eq!(fixes, ["id-not-uri", "security-missing"]);
/// # Ok::<(), agentdex_td::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] with all violations; the errors of [`Identity`] and [`normalize_id`].
pub fn admit(document: Document, identity: Identity<'_>, strictness: Strictness) -> Result<Admission> {
    let Document { text, value, duplicates, is_compact } = document;
    let Value::Object(thing) = value else {
        return Err(Error::Invalid(check::not_an_object(&value)));
    };
    let mut draft = Draft { thing, edits: Vec::new(), fixes: Vec::new(), violations: Vec::new() };
    draft.respell_id();
    let id = draft.resolve_id(identity)?;
    let registration = draft.take_registration();
    if strictness == Strictness::Lenient && LmosKind::of_members(&draft.thing).is_some() {
        draft.add_missing_context();
        draft.add_missing_security();
    }
    let Draft { thing, edits, fixes, mut violations } = draft;
    if strictness == Strictness::Strict {
        violations.extend(fixes.iter().cloned());
    }
    let value = Value::Object(thing);
    let report = check::check(&value, &duplicates, super::Layers::All);
    let mut warnings = fixes;
    warnings.extend(report.warnings);
    violations.extend(report.violations);
    let Some(id) = id.filter(|_| violations.is_empty()) else {
        return Err(Error::Invalid(Report { version: report.version, violations, warnings }));
    };
    let thing = ThingDescription { id, text: stored_text(text, is_compact, edits), value };
    Ok(Admission { thing, registration, warnings })
}

/// The text with the edits in, compact, and with an `@context` that a scan finds.
fn stored_text(text: String, is_compact: bool, edits: Vec<Edit>) -> String {
    let is_plain = edits.is_empty() && find_context(&text).is_some();
    if is_plain && is_compact {
        return text;
    }
    let edited = match is_plain {
        true => text,
        false => edit(&text, edits),
    };
    match compact(&edited) {
        Cow::Borrowed(_) => edited,
        Cow::Owned(compacted) => compacted,
    }
}

fn edit(text: &str, edits: Vec<Edit>) -> String {
    let mut members = Members::of(text).unwrap_or_default();
    for edit in edits {
        match edit {
            Edit::Set(name, value) => members.set(name, value.to_string()),
            Edit::SetFirst(name, value) => members.set_first(name, value.to_string()),
            Edit::Remove(name) => members.remove(name),
        }
    }
    members.to_text()
}

enum Edit {
    Set(&'static str, Value),
    SetFirst(&'static str, Value),
    Remove(&'static str),
}

struct Draft {
    thing: Map<String, Value>,
    edits: Vec<Edit>,
    fixes: Vec<Violation>,
    violations: Vec<Violation>,
}

impl Draft {
    fn set(&mut self, name: &'static str, value: Value) {
        self.thing.insert(name.into(), value.clone());
        self.edits.push(Edit::Set(name, value));
    }

    fn fixed(&mut self, pointer: &str, rule: &'static str, message: String) {
        self.fixes.push(Violation::new(pointer, rule, message));
    }

    /// Renames `@id`, the id in JSON-LD, to `id`, the id in Thing Descriptions. JSON-LD processors can't read descriptions
    /// with both.
    fn respell_id(&mut self) {
        let Some(spelled) = self.thing.remove("@id") else { return };
        self.edits.push(Edit::Remove("@id"));
        let message = match self.thing.get("id") {
            None => {
                self.set("id", spelled);
                "`@id` is read as `id`; rename `@id` to `id`"
            }
            Some(id) if *id == spelled => "`@id` repeats `id`; remove `@id`",
            Some(_) => "`@id` differs from `id`, which takes precedence; remove `@id`",
        };
        self.fixed("/@id", "id-spelling", message.to_owned());
    }

    /// Returns the id under which the description is stored, or `None` if its `id` is not a string (validation
    /// reports this).
    fn resolve_id(&mut self, identity: Identity<'_>) -> Result<Option<String>> {
        let own = match self.thing.get("id") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Ok(None),
        };
        match (identity, own) {
            (Identity::Assigned(id), None) => {
                let id = normalize_id(id)?.into_owned();
                self.thing.insert("id".into(), id.as_str().into());
                self.edits.push(Edit::Set("id", id.as_str().into()));
                Ok(Some(id))
            }
            (Identity::Assigned(_), Some(id)) => Err(Error::UnexpectedId { id }),
            (Identity::Own | Identity::Addressed(_), None) => Err(Error::MissingId),
            (Identity::Own, Some(id)) => self.fix_id(id).map(Some),
            (Identity::Addressed(address), Some(id)) => {
                let expected = normalize_id(address)?;
                if expected != normalize_id(&id)? {
                    return Err(Error::IdMismatch { expected: expected.into_owned(), found: id });
                }
                self.fix_id(id).map(Some)
            }
        }
    }

    fn fix_id(&mut self, id: String) -> Result<String> {
        let normal = normalize_id(&id)?.into_owned();
        if !is_absolute_uri(&id) {
            let message = format!("the id {id:?} is not an absolute URI; by default, it is stored as {normal:?}");
            self.fixed("/id", "id-not-uri", message);
            self.set("id", normal.as_str().into());
        } else if normal != id {
            let message = format!(
                "`urn` and the namespace of a URN are case-insensitive; by default, {id:?} is stored as {normal:?}"
            );
            self.fixed("/id", "urn-case", message);
            self.set("id", normal.as_str().into());
        }
        Ok(normal)
    }

    /// Takes `registration` and the discovery context away: the registry puts them in on the way out.
    fn take_registration(&mut self) -> RegistrationRequest {
        self.remove_discovery_context();
        let Some(registration) = self.thing.remove("registration") else {
            return RegistrationRequest::default();
        };
        self.edits.push(Edit::Remove("registration"));
        RegistrationRequest::read(&registration, &mut self.violations)
    }

    fn remove_discovery_context(&mut self) {
        let is_discovery = |entry: &Value| entry.as_str() == Some(CONTEXT_DISCOVERY);
        let rest = match self.thing.get("@context") {
            Some(Value::Array(entries)) if entries.iter().any(is_discovery) => {
                let rest: Vec<_> = entries.iter().filter(|entry| !is_discovery(entry)).cloned().collect();
                // One string is written as a string: that is what most documents had before they were enriched.
                match <[Value; 1]>::try_from(rest) {
                    Ok([Value::String(one)]) => Value::String(one),
                    Ok([one]) => Value::Array(vec![one]),
                    Err(several) => Value::Array(several),
                }
            }
            _ => return,
        };
        self.set("@context", rest);
    }

    fn add_missing_context(&mut self) {
        let context = self.thing.get("@context");
        if context.is_some_and(|context| Version::named_by(context).is_some()) {
            return;
        }
        let fixed = match context {
            None => json!(CONTEXT_1_1),
            Some(Value::Array(entries)) if entries.is_empty() => json!(CONTEXT_1_1),
            Some(Value::Array(entries)) => std::iter::once(CONTEXT_1_1.into()).chain(entries.iter().cloned()).collect(),
            Some(Value::String(uri)) if uri == CONTEXT_DISCOVERY => json!(CONTEXT_1_1),
            Some(one) => json!([CONTEXT_1_1, one]),
        };
        let message =
            format!("`@context` doesn't name a version of the TD specification; by default, {CONTEXT_1_1:?} is added");
        self.fixed("/@context", "td-context-missing", message);
        self.thing.insert("@context".into(), fixed.clone());
        self.edits.push(Edit::SetFirst("@context", fixed));
    }

    /// An agent that says nothing about security is negotiated with: scheme `auto` (TD 1.1, section 5.3.3.3).
    fn add_missing_security(&mut self) {
        let is_missing = |member: Option<&Value>| match member {
            None => true,
            Some(Value::Array(names)) => names.is_empty(),
            Some(Value::Object(definitions)) => definitions.is_empty(),
            Some(_) => false,
        };
        if !is_missing(self.thing.get("security")) || !is_missing(self.thing.get("securityDefinitions")) {
            return;
        }
        self.set("securityDefinitions", json!({AUTO_SECURITY: {"scheme": "auto"}}));
        self.set("security", json!(AUTO_SECURITY));
        let message =
            "`security` is missing; by default, the scheme `auto` is added, which leaves authentication to the protocol"
                .into();
        self.fixed("/security", "security-missing", message);
        self.raise_version();
    }

    /// The scheme `auto` is new in TD 1.1.
    fn raise_version(&mut self) {
        let raised = match self.thing.get("@context") {
            Some(context) if Version::named_by(context) != Some(Version::V1_0) => return,
            Some(Value::Array(entries)) => {
                let raise = |entry: &Value| match entry.as_str() {
                    Some(CONTEXT_1_0) => CONTEXT_1_1.into(),
                    _ => entry.clone(),
                };
                entries.iter().map(raise).collect()
            }
            _ => json!(CONTEXT_1_1),
        };
        self.fixed(
            "/@context",
            "td-version-raised",
            "TD 1.0 lacks the scheme `auto`; by default, the description is upgraded to TD 1.1".into(),
        );
        self.set("@context", raised);
    }
}
