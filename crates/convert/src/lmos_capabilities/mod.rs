//! LMOS capability files, served by deployed agents at `/.well-known/capabilities.json`: conversion to Things and back.
//!
//! A file lists the abilities of an agent with their versions, tenants, and channels, but no address. Therefore its
//! Thing has capabilities but no actions, and its security is `auto`. Tenants and channels are in
//! `lmos:supportedTenants` and `lmos:supportedChannels`, which search filters use. Unknown members, and an id that is
//! invalid for a Thing, keep their names with the prefix `lmos-file:`.

use serde_json::{Map, Value, json};

use super::{
    Conversion, Descriptor, Export, Format, Import, ImportOptions, Input, Parameter, Rendition, Source, Syntax,
    Tracking,
    canonical_url::canonical_url,
    descriptor::{Sign, as_it_is, no_version, nothing_to_supply, report_on},
    edits::through_export,
    looks::look_of,
    redacted_json::RedactedJson,
    redaction::{Mark, Marks, Place},
    shape::{self, Expected, Findings, Member},
    signs,
    thing_builder::{ThingBuilder, capability, capability_members},
};
use crate::{
    Error, Result,
    td::{
        Capability, LmosKind, MAX_AFFORDANCES, Report, Violation,
        internal::{Path, listed_capabilities, semantic_version},
        normalize_id,
    },
};

type Object = Map<String, Value>;

pub(super) const FORMAT: Descriptor = Descriptor {
    name: "lmos-capabilities",
    noun: "an LMOS capability file",
    recognized_by: "`capabilities` with names and versions",
    signs: &[Sign::likely(signs::is_capability_file)],
    search_terms: &[],
    import: Some(Import {
        summary: "Register an agent from its LMOS capability file, or track the file's URL",
        description: "",
        media_types: &[("application/json", Syntax::Json)],
        schema: include_str!("schema.json"),
        parameters: &[
            Parameter::id("Id of the Thing, instead of the file's id"),
            Parameter::source("URL of the file in the body; if the file has no id, the id is derived from this URL"),
        ],
        takes_components: false,
        tracking: Some(Tracking { accept: None, well_known: &["/.well-known/capabilities.json"], is_signed: false }),
        has_id,
        to_things: |input, options| {
            let text = |name| options.text(name).map(str::to_owned);
            let json = input.syntax.to_json(input.bytes)?;
            to_thing(json.as_bytes(), &Options { id: text("id"), base: text("base") })
        },
        validate,
    }),
    export: Some(Export {
        path: "lmos-capabilities",
        summary: "Read a Thing as an LMOS capability file",
        description: "The imported file. For Things registered in another format, a file is generated from their \
            capabilities and actions.",
        media_types: &[("application/json", None)],
        versions: &[],
        read_version: no_version,
        max_age: Some(60),
        from_thing: |thing, _| {
            from_thing(thing).map(|file| Rendition { bytes: file.into_bytes(), warnings: Vec::new() })
        },
        in_version: as_it_is,
        with_edits: |edit| {
            through_export(Format::LmosCapabilities, edit, &[], |thing, _| {
                Ok(serde_json::from_str(&from_thing(thing)?).unwrap_or_default())
            })
        },
        supply: nothing_to_supply,
    }),
};

fn has_id(input: &Input<'_>, options: &ImportOptions) -> bool {
    let is_given = |text: &str| !text.is_empty();
    let file = input.syntax.to_json(input.bytes).ok();
    let file = file.and_then(|json| serde_json::from_str::<Object>(&json).ok());
    let own = |file: Object| file.get("id").and_then(Value::as_str).is_some_and(is_given);
    options.text("base").is_some() || file.is_none_or(own)
}

/// A file without an id is valid too.
fn validate(input: &Input<'_>, _: &ImportOptions) -> Result<Report> {
    let options = Options { id: Some("urn:agentdex:unknown".to_owned()), base: None };
    Ok(report_on(to_thing(input.syntax.to_json(input.bytes)?.as_bytes(), &options)?))
}

const FILE: &[Member] = &[
    Member::optional("id", Expected::Text),
    Member::optional("description", Expected::Text),
    Member::optional("supportedTenants", Expected::Texts),
    Member::optional("supportedChannels", Expected::Texts),
    Member::required("capabilities", Expected::Objects(CAPABILITY)),
];

const CAPABILITY: &[Member] = &[
    Member::optional("id", Expected::Text),
    Member::required("name", Expected::Text),
    Member::required("version", Expected::Text),
    Member::optional("description", Expected::Text),
    Member::optional("examples", Expected::Texts),
];

/// The lists of a file, and what they are called in a Thing.
const LISTS: [(&str, &str); 2] =
    [("supportedTenants", "lmos:supportedTenants"), ("supportedChannels", "lmos:supportedChannels")];

/// The prefix of members that only the file has, and the namespace that it stands for.
const FILE_PREFIX: &str = "lmos-file";
const FILE_NAMESPACE: &str = "urn:agentdex:lmos-file:";

/// Options for converting a capability file to a Thing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Id of the Thing. By default, it is the id of the file or, if there is none, derived from the file's URL.
    pub id: Option<String>,
    /// The URL of the file.
    pub base: Option<String>,
}

/// Converts a capability file to a Thing, which keeps the file as its source.
///
/// ```
/// use agentdex_convert::lmos_capabilities::{Options, to_thing};
///
/// let file = br#"{"id": "urn:example:billing", "capabilities": [{"name": "view-bill", "version": "1.2.0"}]}"#;
/// let conversion = to_thing(file, &Options::default())?;
/// assert_eq!(conversion.things[0].id, "urn:example:billing");
/// # Ok::<(), agentdex_convert::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidSource`] if the document is not a capability file, or if neither the file nor the options contain an
/// id; [`Error::LimitExceeded`] for more than 1,000 capabilities; the errors of [`normalize_id`] and
/// [`Document::parse`](crate::td::Document::parse).
pub fn to_thing(json: &[u8], options: &Options) -> Result<Conversion> {
    let RedactedJson { bytes, value, numbers, mut warnings } = RedactedJson::parse(json, &NoMarks)?;
    let Value::Object(mut members) = value else {
        return Err(invalid("not-a-capability-file", "not an LMOS capability file: it is not an object"));
    };
    let mut findings = Findings::with_numbers(numbers);
    shape::respell(&mut members, FILE, &Path::ROOT, &mut findings);
    diagnose(&members)?;
    shape::fix(&mut members, FILE, &Path::ROOT, &mut findings);
    if members.get("capabilities").and_then(Value::as_array).is_some_and(|all| all.len() > MAX_AFFORDANCES) {
        return Err(Error::LimitExceeded { what: "number of capabilities", maximum: MAX_AFFORDANCES as u64 });
    }
    let id = id_of(&members, options)?;
    let source = Source { format: Format::LmosCapabilities, media_type: "application/json".into(), bytes };
    let thing = describe(id, &members, options).finish(source)?;
    warn_of_versions(&members, &mut findings);
    warnings.extend(findings.into_list());
    Ok(Conversion { things: vec![thing], warnings, ..Conversion::default() })
}

/// No member of a file is a secret by itself.
struct NoMarks;

impl Marks for NoMarks {
    fn mark(&self, _: &Place<'_, '_>) -> Mark {
        Mark::None
    }
}

fn invalid(rule: &'static str, message: &str) -> Error {
    let violations = vec![Violation::new("", rule, message)];
    Error::InvalidSource { format: Format::LmosCapabilities.name(), report: Report { violations, ..Report::default() } }
}

fn diagnose(file: &Object) -> Result<()> {
    let list = file.get("capabilities").and_then(Value::as_array);
    let is_list = list.is_some_and(|list| list.is_empty() || list.iter().any(Value::is_object));
    let look = look_of(file).filter(|look| look.format != Some(Format::LmosCapabilities));
    // What hardly says anything says nothing beside a list of capabilities.
    if is_list && look.is_none_or(|look| !look.is_certain() && look.format.is_none()) {
        return Ok(());
    }
    let looks = look.map(|look| look.words_with_format(file));
    let missing = if is_list { "" } else { "it has no list of `capabilities`" };
    let looks = looks.map(|looks| format!("it looks like {looks}")).unwrap_or_default();
    let between = if missing.is_empty() || looks.is_empty() { "" } else { "; " };
    Err(invalid("not-a-capability-file", &format!("not an LMOS capability file: {missing}{between}{looks}")))
}

fn id_of(file: &Object, options: &Options) -> Result<String> {
    let own = file.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    if let Some(id) = options.id.as_deref().or(own) {
        return Ok(normalize_id(id)?.into_owned());
    }
    match &options.base {
        Some(url) => {
            Ok(uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, canonical_url(url).as_bytes()).urn().to_string())
        }
        None => Err(invalid("no-identity", "the file has no `id`; give an `id`, or the URL of the file as `base`")),
    }
}

fn describe(id: String, file: &Object, options: &Options) -> ThingBuilder {
    let text = |name| file.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut thing = ThingBuilder::new(LmosKind::Agent, id.clone(), text("id").unwrap_or(&id));
    thing.prefix(FILE_PREFIX, FILE_NAMESPACE);
    thing.set_text("description", text("description"));
    let capabilities = file.get("capabilities").and_then(Value::as_array).into_iter().flatten();
    let capabilities = capabilities.filter_map(Value::as_object);
    thing.set("lmos:capabilities", capabilities.map(|one| capability(one, FILE_PREFIX)).collect());
    for (name, term) in LISTS {
        file.get(name).into_iter().for_each(|list| thing.set(term, list.clone()));
    }
    if let Some(own) = text("id").filter(|own| *own != id) {
        thing.set(&format!("{FILE_PREFIX}:id"), own.into());
    }
    for (name, value) in file.iter().filter(|(name, _)| !shape::knows(FILE, name)) {
        thing.set(&format!("{FILE_PREFIX}:{name}"), value.clone());
    }
    if let Some(url) = &options.base {
        thing.link("service-meta", &canonical_url(url), Some("application/json"));
    }
    thing
}

fn warn_of_versions(file: &Object, findings: &mut Findings) {
    let list = Path::ROOT.member("capabilities");
    for (index, capability) in file.get("capabilities").and_then(Value::as_array).into_iter().flatten().enumerate() {
        if let Some(version) = capability.get("version").and_then(Value::as_str)
            && semantic_version(version).is_none()
        {
            let message = || format!("{version:?} is not a semantic version, so no version range matches it");
            findings.add(&list.index(index).member("version"), "version", message);
        }
    }
}

/// Creates a capability file from a Thing: its capabilities and actions, each with its own version or
/// that of the Thing.
///
/// ```
/// use agentdex_convert::lmos_capabilities::from_thing;
/// use agentdex_td::Description;
///
/// let agent = Description::new("Billing").id("urn:example:billing").version("1.2.0").capability("view-bill");
/// let file: serde_json::Value = serde_json::from_str(&from_thing(&agent.to_value())?)?;
/// assert_eq!(file["capabilities"][0]["version"], "1.2.0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::NotExpressible`] if the Thing has no capabilities and actions, or if the version of one of them is unknown.
pub fn from_thing(thing: &Value) -> Result<String> {
    let not_expressible = |reason| Error::NotExpressible { format: Format::LmosCapabilities.name(), reason };
    let whole = thing.get("version").and_then(|version| version.get("instance")?.as_str());
    let listed = listed_capabilities(thing);
    if listed.is_empty() && !thing.get("lmos:capabilities").is_some_and(Value::is_array) {
        return Err(not_expressible("the Thing has neither capabilities nor actions".into()));
    }
    let mut written = Vec::new();
    for (capability, entry) in listed {
        let entry = entry.and_then(Value::as_object);
        written.push(write_capability(&capability, entry, whole).map_err(not_expressible)?);
    }
    let mut file = json!({"capabilities": written});
    for name in ["id", "description"] {
        if let Some(value) = thing.get(name) {
            file[name] = value.clone();
        }
    }
    for (name, term) in LISTS {
        if let Some(list) = thing.get(term) {
            file[name] = list.clone();
        }
    }
    add_own(thing.as_object(), &mut file);
    Ok(file.to_string())
}

fn write_capability(
    capability: &Capability<'_>,
    entry: Option<&Object>,
    whole: Option<&str>,
) -> std::result::Result<Value, String> {
    let mut written = entry.map_or_else(Object::new, |entry| capability_members(entry, FILE_PREFIX));
    let name = capability.name.unwrap_or(capability.key());
    let Some(version) = written.get("version").and_then(Value::as_str).or(whole) else {
        return Err(format!(
            "neither {name:?} nor the Thing has a version; add `lmos:version` to the capability, or \
             `version.instance` to the Thing"
        ));
    };
    let version = version.to_owned();
    written.insert("version".to_owned(), version.into());
    for (member, value) in [("name", Some(name)), ("id", capability.id), ("description", capability.description)] {
        written.extend(value.map(|value| (member.to_owned(), value.into())));
    }
    Ok(written.into())
}

/// Gives members that only the file has their own name back.
fn add_own(from: Option<&Object>, to: &mut Value) {
    for (name, value) in from.into_iter().flatten() {
        if let Some(own) = name.strip_prefix(FILE_PREFIX).and_then(|name| name.strip_prefix(':')) {
            to[own] = value.clone();
        }
    }
}
