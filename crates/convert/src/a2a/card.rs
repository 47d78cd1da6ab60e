//! `Card`: a parsed agent card.

use serde_json::{Map, Value};

use super::{
    Generation, diagnosis,
    interface::{Binding, Interface, Listed, supported, written_interfaces},
    invalid, members,
    normalization::normalize,
    redaction::CardMarks,
    schemes::SchemeKind,
    signs::has_capabilities_for_skills,
    unsafe_urls,
};
use crate::{
    Result,
    redacted_json::RedactedJson,
    shape::{self, Findings},
    td::{Violation, internal::Path},
};

/// A parsed agent card: its bytes, and its members in the form of a version 1.0 card, with fixes.
#[derive(Debug, Clone)]
pub struct Card {
    bytes: Vec<u8>,
    members: Map<String, Value>,
    generation: Generation,
    /// Position of each interface in the original card, in the order of the interfaces.
    listed: Vec<Listed>,
    warnings: Vec<Violation>,
}

impl Card {
    /// Parses a card of any version.
    ///
    /// ```
    /// use agentdex_convert::a2a::{Card, Generation};
    ///
    /// let card = Card::parse(br#"{
    ///     "name": "Weather", "description": "Forecasts", "version": "1.0.0", "url": "https://weather.example/a2a",
    ///     "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    ///     "skills": [{"id": "forecast", "name": "Forecast", "description": "Says the weather", "tags": []}]
    /// }"#)?;
    /// assert_eq!(card.generation(), Generation::V0);
    /// assert!(card.warnings().is_empty());
    /// # Ok::<(), agentdex_convert::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidSource`](crate::Error::InvalidSource) with a diagnosis if the document is not an agent card;
    /// otherwise the errors of [`Document::parse`](crate::td::Document::parse), whose limits are 1 MiB and 64 levels of
    /// nesting.
    pub fn parse(json: &[u8]) -> Result<Card> {
        let RedactedJson { bytes, value, numbers, warnings } = RedactedJson::parse(json, &CardMarks)?;
        let Value::Object(members) = value else {
            return Err(invalid(vec![diagnosis::no_object(&value)], warnings));
        };
        Card::read(bytes, members, Findings::with_numbers(numbers), warnings)
    }

    /// A card of these members, which nobody has written as it is.
    pub(super) fn of_members(members: Map<String, Value>) -> Result<Card> {
        Card::read(Vec::new(), members, Findings::default(), Vec::new())
    }

    fn read(
        bytes: Vec<u8>,
        mut members: Map<String, Value>,
        mut findings: Findings,
        mut warnings: Vec<Violation>,
    ) -> Result<Card> {
        // The tables of both generations agree on all names but the one that decides.
        for table in members::of_card(Generation::V1) {
            shape::respell(&mut members, table, &Path::ROOT, &mut findings);
        }
        let violations = diagnosis::diagnose(&members);
        if !violations.is_empty() {
            return Err(invalid(violations, warnings));
        }
        read_capabilities_as_skills(&mut members, &mut findings);
        let generation = generation_of(&members);
        for table in members::of_card(generation) {
            shape::fix(&mut members, table, &Path::ROOT, &mut findings);
        }
        check_version(&members, generation, &mut findings);
        unsafe_urls::remove(&mut members, &mut findings);
        let interfaces = written_interfaces(&members, generation);
        interfaces.iter().for_each(|interface| check_interface(interface, &mut findings));
        warn_of_missing_types(&members, &mut findings);
        let listed = normalize(&mut members, generation);
        warnings.extend(findings.into_list());
        Ok(Card { bytes, members, generation, listed, warnings })
    }

    /// Returns the generation of the card, judged by its structure.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Returns warnings from parsing the card. Pointers refer to the card.
    pub fn warnings(&self) -> &[Violation] {
        &self.warnings
    }

    /// Returns the original card without its secrets.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn members(&self) -> &Map<String, Value> {
        &self.members
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str)
    }

    /// The elements of a list of objects.
    pub(super) fn objects(&self, name: &str) -> impl Iterator<Item = &Map<String, Value>> {
        self.members.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
    }

    /// Its interfaces, the preferred one first.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = Interface<'_>> {
        supported(&self.members).zip(&self.listed).map(|(interface, &listed)| Interface { listed, ..interface })
    }
}

/// Reads `capabilities` that are described one by one as the skills that they are.
fn read_capabilities_as_skills(members: &mut Map<String, Value>, findings: &mut Findings) {
    if !has_capabilities_for_skills(members) {
        return;
    }
    let mut skills = members.remove("capabilities").unwrap_or_default();
    for skill in skills.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        if let (None, Some(name)) = (skill.get("id"), skill.get("name").cloned()) {
            skill.insert("id".to_owned(), name);
        }
    }
    let message = || "`capabilities` is a list of named objects, and is read as `skills`".into();
    findings.add(&Path::ROOT.member("capabilities"), "member-spelling", message);
    members.insert("skills".to_owned(), skills);
}

fn warn_of_missing_types(members: &Map<String, Value>, findings: &mut Findings) {
    let schemes = members.get("securitySchemes").and_then(Value::as_object).into_iter().flatten();
    for (name, scheme) in schemes {
        if let Some(type_) = scheme.as_object().and_then(SchemeKind::missing_type) {
            findings.add(&Path::ROOT.member("securitySchemes").member(name), "member-missing", || {
                format!("`type` is missing; {type_:?} is assumed because of the other members")
            });
        }
    }
}

fn check_version(members: &Map<String, Value>, generation: Generation, findings: &mut Findings) {
    let Some(version) = members.get("protocolVersion").and_then(Value::as_str) else { return };
    // Servers of 1.0 add the members of 0.3 for clients of that age, their version among them.
    let is_for_both = generation == Generation::V1 && members.contains_key("url");
    let said = Generation::of_version(version);
    if said == Some(generation) || (is_for_both && said.is_some()) {
        return;
    }
    findings.add(&Path::ROOT.member("protocolVersion"), "version-mismatch", || {
        format!(
            "the card declares version {version:?}, but has the structure of version {generation}; it is read as \
             version {generation}"
        )
    });
}

fn check_interface(interface: &Interface<'_>, findings: &mut Findings) {
    interface.check_version(findings);
    let Some(written) = interface.written else { return };
    let known = interface.binding.name();
    let is_custom = matches!(interface.binding, Binding::Custom(_));
    interface.listed.with_paths(|_, _, path| {
        if is_custom && !written.contains(':') {
            findings.add(path, "binding-unknown", || {
                format!("{written:?} is not JSONRPC, HTTP+JSON, or GRPC; a custom binding must be a URI")
            });
        } else if known != written {
            findings.add(path, "binding-spelling", || format!("{written:?} is read as {known}"));
        }
    });
}

/// Returns the generation that the shape implies. A `supportedInterfaces` list without any interface doesn't count
/// beside a `url`.
fn generation_of(members: &Map<String, Value>) -> Generation {
    let has_url = |interface: &Value| interface.get("url").is_some_and(Value::is_string);
    match members.get("supportedInterfaces") {
        Some(Value::Array(interfaces)) if members.contains_key("url") && !interfaces.iter().any(has_url) => {
            Generation::V0
        }
        Some(Value::Array(_) | Value::Object(_)) => Generation::V1,
        _ => Generation::V0,
    }
}
