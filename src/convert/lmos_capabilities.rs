//! LMOS capability files: what deployed agents serve at `/.well-known/capabilities.json`, as Things and
//! back.
//!
//! A file says what an agent can do, in which versions, for which tenants and over which channels; it
//! doesn't say where. So its Thing has capabilities, but no actions, and leaves security open. Tenants
//! and channels are `lmos:supportedTenants` and `lmos:supportedChannels`, which search filters by. Members
//! that no table knows, and an id that a Thing can't have, keep their name with the prefix `lmos-file:`.

use serde_json::{Map, Value, json};

use super::{
    Conversion, ConvertedThing, Format, Source,
    a2a::place,
    shape::{self, Findings, Kind, Member},
    signs,
};
use crate::{
    Error, Result,
    td::{
        CONTEXT_1_1, Capability, LMOS_NAMESPACE, MAX_AFFORDANCES, MAX_DOCUMENT_BYTES, Path, Report, Violation,
        listed_capabilities, normalize_id, semantic_version,
    },
};

type Object = Map<String, Value>;

const FILE: &[Member] = &[
    Member::optional("id", Kind::Text),
    Member::optional("description", Kind::Text),
    Member::optional("supportedTenants", Kind::Texts),
    Member::optional("supportedChannels", Kind::Texts),
    Member::required("capabilities", Kind::Objects(CAPABILITY)),
];

const CAPABILITY: &[Member] = &[
    Member::optional("id", Kind::Text),
    Member::required("name", Kind::Text),
    Member::required("version", Kind::Text),
    Member::optional("description", Kind::Text),
    Member::optional("examples", Kind::Texts),
];

/// The lists of a file, and what they are called in a Thing.
const LISTS: [(&str, &str); 2] =
    [("supportedTenants", "lmos:supportedTenants"), ("supportedChannels", "lmos:supportedChannels")];

/// The prefix of members that only the file has, and the namespace that it stands for.
const FILE_PREFIX: &str = "lmos-file:";
const FILE_NAMESPACE: &str = "urn:agentdex:lmos-file:";

/// How a file becomes a Thing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The id of the Thing; without one it is that of the file, or made of where the file is from.
    pub id: Option<String>,
    /// The URL that the file is from.
    pub base: Option<String>,
}

/// Turns a capability file into a Thing, which keeps the file as its source.
///
/// ```
/// use agentdex::convert::lmos_capabilities::{Options, to_thing};
///
/// let file = br#"{"id": "urn:example:billing", "capabilities": [{"name": "view-bill", "version": "1.2.0"}]}"#;
/// let conversion = to_thing(file, &Options::default())?;
/// assert_eq!(conversion.things[0].id, "urn:example:billing");
/// # Ok::<(), agentdex::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidSource`] for what is no such file, or has no id where none is given either;
/// [`Error::LimitExceeded`] for more than 1,000 capabilities; those of [`normalize_id`] and of
/// [`Document::parse`](crate::td::Document::parse).
pub fn to_thing(json: &[u8], options: &Options) -> Result<Conversion> {
    let (value, duplicates) = signs::parse(json)?.into_parts();
    let Value::Object(mut members) = value else {
        return Err(invalid("not-a-capability-file", "not an LMOS capability file: it is no object"));
    };
    let mut findings = Findings::default();
    shape::respell(&mut members, FILE, &Path::ROOT, &mut findings);
    diagnose(&members)?;
    shape::mend(&mut members, FILE, &Path::ROOT, &mut findings);
    if members.get("capabilities").and_then(Value::as_array).is_some_and(|all| all.len() > MAX_AFFORDANCES) {
        return Err(Error::LimitExceeded { what: "number of capabilities", maximum: MAX_AFFORDANCES as u64 });
    }
    let id = id_of(&members, options)?;
    let description = description(&id, &members, options, &mut findings).to_string();
    if description.len() > MAX_DOCUMENT_BYTES {
        return Err(Error::DocumentTooLarge { maximum: MAX_DOCUMENT_BYTES });
    }
    let source =
        Source { format: Format::LmosCapabilities, media_type: "application/json".into(), bytes: json.to_vec() };
    let repeated = duplicates.into_iter().map(|pointer| {
        Violation::new(pointer, "duplicate-member", "the name is there more than once in its object; the last is read")
    });
    let warnings = repeated.chain(findings.into_list()).collect();
    Ok(Conversion { things: vec![ConvertedThing { id, description, source }], warnings })
}

fn invalid(rule: &'static str, message: &str) -> Error {
    let violations = vec![Violation::new("", rule, message)];
    Error::InvalidSource { format: Format::LmosCapabilities.name(), report: Report { violations, ..Report::default() } }
}

fn diagnose(file: &Object) -> Result<()> {
    let list = file.get("capabilities").and_then(Value::as_array);
    let is_list = list.is_some_and(|list| list.is_empty() || list.iter().any(Value::is_object));
    let is_like_card = signs::is_card(file) || file.contains_key("skills") || file.contains_key("supportedInterfaces");
    let other = signs::sign_of(file).filter(|sign| sign.format != Some(Format::LmosCapabilities));
    let looks = match other {
        Some(sign) if sign.is_certain => Some(sign.words(file)),
        _ if is_like_card => Some("an A2A agent card".to_owned()),
        _ if is_list => return Ok(()),
        other => other.map(|sign| sign.words(file)),
    };
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
        Some(url) => Ok(uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, place(url).as_bytes()).urn().to_string()),
        None => Err(invalid(
            "no-identity",
            "the file has no `id`: give an `id` for its Thing, or as `base` the URL that the file is from",
        )),
    }
}

fn description(id: &str, file: &Object, options: &Options, findings: &mut Findings) -> Value {
    let text = |name| file.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut terms = json!({"lmos": LMOS_NAMESPACE});
    let mut thing = json!({
        "@type": "lmos:Agent",
        "id": id,
        "title": text("id").unwrap_or(id),
        "securityDefinitions": {"auto_sc": {"scheme": "auto"}},
        "security": "auto_sc",
    });
    let capabilities = file.get("capabilities").and_then(Value::as_array).into_iter().flatten();
    let listed = capabilities.filter_map(Value::as_object).map(|one| renamed(one, |name| own_name(CAPABILITY, name)));
    thing["lmos:capabilities"] = listed.collect();
    if let Some(description) = text("description") {
        thing["description"] = description.into();
    }
    for (name, term) in LISTS {
        if let Some(list) = file.get(name) {
            thing[term] = list.clone();
        }
    }
    if let Some(own) = text("id").filter(|own| *own != id) {
        thing[format!("{FILE_PREFIX}id")] = own.into();
    }
    for (name, value) in file.iter().filter(|(name, _)| !shape::knows(FILE, name)) {
        thing[own_name(FILE, name)] = value.clone();
    }
    let is_own = |object: &Object| object.keys().any(|name| name.starts_with(FILE_PREFIX));
    let entries = thing["lmos:capabilities"].as_array().into_iter().flatten();
    if entries.filter_map(Value::as_object).chain(thing.as_object()).any(is_own) {
        terms["lmos-file"] = FILE_NAMESPACE.into();
    }
    thing["@context"] = json!([CONTEXT_1_1, terms]);
    if let Some(url) = &options.base {
        thing["links"] = json!([{"rel": "service-meta", "href": place(url), "type": "application/json"}]);
    }
    warn_of_versions(file, findings);
    thing
}

/// A member's name in a Thing: with the prefix of the file's own if no table knows it.
fn own_name(members: &[Member], name: &str) -> String {
    if shape::knows(members, name) { name.to_owned() } else { format!("{FILE_PREFIX}{name}") }
}

fn renamed(object: &Object, name_of: impl Fn(&str) -> String) -> Value {
    object.iter().map(|(name, value)| (name_of(name), value.clone())).collect::<Object>().into()
}

fn warn_of_versions(file: &Object, findings: &mut Findings) {
    let list = Path::ROOT.member("capabilities");
    for (index, capability) in file.get("capabilities").and_then(Value::as_array).into_iter().flatten().enumerate() {
        if let Some(version) = capability.get("version").and_then(Value::as_str)
            && semantic_version(version).is_none()
        {
            let message = || format!("{version:?} is no semantic version, and no range is satisfied by it");
            findings.add(&list.index(index).member("version"), "version", message);
        }
    }
}

/// Makes a capability file of a Thing: its capabilities and actions, each with its version or that of
/// the Thing.
///
/// # Errors
/// [`Error::NotExpressible`] where there are none, or no version is known of one.
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
    let member = |name: &str| entry.and_then(|entry| entry.get(name).or_else(|| entry.get(&format!("lmos:{name}"))));
    let name = capability.name.unwrap_or(capability.key());
    let version = member("version").and_then(Value::as_str).or(whole);
    let Some(version) = version else {
        return Err(format!("nothing says the version of {name:?}, nor that of the Thing"));
    };
    let mut written = json!({"name": name, "version": version});
    for (name, value) in [("id", capability.id), ("description", capability.description)] {
        if let Some(value) = value {
            written[name] = value.into();
        }
    }
    if let Some(examples) = member("examples") {
        written["examples"] = examples.clone();
    }
    add_own(entry, &mut written);
    Ok(written)
}

/// Gives members that only the file has their own name back.
fn add_own(from: Option<&Object>, to: &mut Value) {
    for (name, value) in from.into_iter().flatten() {
        if let Some(own) = name.strip_prefix(FILE_PREFIX) {
            to[own] = value.clone();
        }
    }
}
