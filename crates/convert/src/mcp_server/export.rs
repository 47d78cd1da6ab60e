//! Export of Things as descriptions of MCP servers, for Things that were imported from one or have forms with the
//! subprotocol `mcp`.

use std::collections::BTreeSet;

use fluent_uri::Uri;
use serde_json::{Map, Value, json};

use super::{
    DocumentKind, MCP_NAMESPACE, THING_ID,
    input::{is_secret, objects, text, variables_in},
    publisher_metadata::note,
    terms::{own_name, unprefixed},
    thing::id_of,
    tool::{move_to_meta, write_tools},
};
use crate::{
    Error, Format, Rendition, Result,
    shape::Findings,
    size::size,
    td::{
        MAX_DOCUMENT_BYTES, Violation,
        internal::{McpTransport, Path},
    },
};

type Object = Map<String, Value>;

/// The most characters of a description.
pub(super) const LONGEST_DESCRIPTION: usize = 100;
/// The most characters of a title, and of either half of a name that is made.
pub(super) const LONGEST_TITLE: usize = 100;
/// The most bytes of the URL of an icon.
pub(super) const LONGEST_ICON: usize = 255;
/// The media types that an icon may have (schema of 2025-12-11).
pub(super) const ICON_TYPES: [&str; 5] = ["image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"];
/// The most remotes.
const MOST_REMOTES: usize = 100;
/// The deepest combination of security schemes whose headers are listed.
const DEEPEST_COMBINATION: usize = 4;
/// The most bytes of variables and headers of all remotes: each may repeat what the Thing says once.
const MOST_BYTES: usize = MAX_DOCUMENT_BYTES / 4;

/// Creates `server.json` or a Server Card from a Thing Description.
///
/// ```
/// use agentdex_convert::mcp_server::{DocumentKind, from_thing};
/// use agentdex_td::{Description, description::{Action, Form}};
///
/// let form = Form::new("https://weather.example/mcp").subprotocol("mcp");
/// let agent = Description::new("Weather").id("urn:example:weather").version("1.0.0").description("Forecasts");
/// let thing = agent.action(Action::new("forecast", form)).to_value();
/// let server: serde_json::Value = serde_json::from_slice(&from_thing(&thing, DocumentKind::ServerJson)?.bytes)?;
/// assert_eq!(server["remotes"][0]["url"], "https://weather.example/mcp");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::NotExpressible`] if the Thing has neither forms with the subprotocol `mcp` nor packages, or, for a Server
/// Card, if it has only packages.
pub fn from_thing(thing: &Value, kind: DocumentKind) -> Result<Rendition> {
    let not_expressible =
        |reason: &str| Error::NotExpressible { format: Format::McpServer.name(), reason: reason.to_owned() };
    let members = thing.as_object().ok_or_else(|| not_expressible("a Thing Description must be a JSON object"))?;
    let mut findings = Findings::default();
    let mut server: Object =
        members.iter().filter_map(|(name, value)| Some((own_name(name)?.to_owned(), unprefixed(value)))).collect();
    server.remove("withdrawn");
    if let Some(Value::Array(packages)) = server.get_mut("packages") {
        // Of others only the command is known, which has no place in a document.
        packages.retain(|package| ["identifier", "runtimeHint"].iter().any(|name| package.get(*name).is_some()));
        for package in packages.iter_mut().filter_map(Value::as_object_mut) {
            package.remove("command");
        }
        if packages.is_empty() {
            server.remove("packages");
        }
    }
    let remotes = remotes(members, &mut findings);
    if remotes.is_empty() {
        server.remove("remotes");
    } else if !is_same(server.get("remotes"), &remotes) {
        server.insert("remotes".to_owned(), remotes.into());
    }
    write_tools(members, &mut server, &mut findings);
    if !["remotes", "packages"].iter().any(|name| server.contains_key(*name)) {
        return Err(not_expressible("/actions: an MCP server needs forms with the subprotocol mcp, or packages"));
    }
    add_metadata(members, &mut server, &mut findings);
    add_id(members, &mut server);
    let mut made = as_kind(server, kind, "/mcp:packages")?;
    made.warnings.splice(0..0, findings.into_list());
    Ok(made)
}

/// The members in the shape of a kind; `packages` is where they come from.
///
/// # Errors
/// [`Error::NotExpressible`] for a Server Card of a server that only has packages.
pub(super) fn as_kind(mut server: Object, kind: DocumentKind, packages: &str) -> Result<Rendition> {
    server.insert("$schema".to_owned(), kind.schema().into());
    let mut warnings = Vec::new();
    if kind == DocumentKind::ServerCard {
        let has_packages = server.remove("packages").is_some_and(|packages| packages != json!([]));
        let has_remotes = server.get("remotes").is_some_and(|remotes| *remotes != json!([]));
        match (has_packages, has_remotes) {
            (false, _) => {}
            (true, true) => {
                let message = "a Server Card can't contain packages, so it doesn't describe how to run the server";
                warnings.push(Violation::new(packages, "packages-left-out", message));
            }
            (true, false) => {
                let reason = format!("{packages}: a Server Card can't contain packages, and the server has no remotes");
                return Err(Error::NotExpressible { format: Format::McpServer.name(), reason });
            }
        }
        move_to_meta(&mut server);
    }
    Ok(Rendition { bytes: serde_json::to_vec(&server).unwrap_or_default(), warnings })
}

/// True if the remotes that are noted are those of the forms.
fn is_same(noted: Option<&Value>, remotes: &[Value]) -> bool {
    let secrets = |remote: &Value| -> BTreeSet<String> {
        let remote = remote.as_object().into_iter();
        let secret = remote.flat_map(|remote| objects(remote, "headers")).filter(|header| is_secret(header));
        secret.filter_map(|header| text(header, "name")).map(str::to_owned).collect()
    };
    let places = |remotes: &[Value]| -> Vec<(Value, Value, BTreeSet<String>)> {
        remotes.iter().map(|remote| (remote["url"].clone(), remote["type"].clone(), secrets(remote))).collect()
    };
    noted.and_then(Value::as_array).is_some_and(|noted| places(noted) == places(remotes))
}

fn add_metadata(thing: &Object, server: &mut Object, findings: &mut Findings) {
    let of_thing = |name: &str| text(thing, name).map(str::to_owned);
    let title = of_thing("title").unwrap_or_default();
    let name = server.get("name").and_then(Value::as_str).map(str::to_owned);
    let of_id = || Some(of_thing("id")?.strip_prefix(MCP_NAMESPACE)?.to_owned()).filter(|name| is_name(name));
    let name = name.or_else(of_id).unwrap_or_else(|| made_name(server, &title, findings));
    let mut cut = |text: String, member: &str, rule: &'static str, longest: usize| {
        if text.chars().count() <= longest {
            return text;
        }
        findings.add(&Path::ROOT.member(member), rule, || {
            format!("the text is truncated to {longest} characters in the document")
        });
        text.chars().take(longest - 1).chain(['…']).collect()
    };
    let description = of_thing("description").or_else(|| of_thing("title")).unwrap_or_else(|| name.clone());
    let description = cut(description, "description", "description-length", LONGEST_DESCRIPTION);
    if !title.is_empty() && title != name {
        server.insert("title".to_owned(), cut(title, "title", "title-length", LONGEST_TITLE).into());
    }
    server.insert("name".to_owned(), name.into());
    server.insert("description".to_owned(), description.into());
    let version = thing.get("version").and_then(|version| version.get("instance")?.as_str()).unwrap_or_else(|| {
        findings
            .add(&Path::ROOT.member("version"), "version", || "the Thing has no version; 0.0.0 is used instead".into());
        "0.0.0"
    });
    server.insert("version".to_owned(), version.into());
    let links = || objects(thing, "links");
    let related = |relations: &'static [&'static str]| {
        links().filter(move |link| text(link, "rel").is_some_and(|rel| relations.contains(&rel)))
    };
    let address = |link: &'_ Object| text(link, "href").filter(|href| Uri::parse(*href).is_ok()).map(str::to_owned);
    if let Some(url) = related(&["service-doc", "help"]).find_map(address) {
        server.insert("websiteUrl".to_owned(), url.into());
    }
    let icon = |link: &Object| {
        let mut icon = json!({"src": address(link).filter(|url| url.len() <= LONGEST_ICON)?});
        if let Some(media_type) = text(link, "type").filter(|media_type| ICON_TYPES.contains(media_type)) {
            icon["mimeType"] = media_type.into();
        }
        Some(icon)
    };
    let icons: Vec<Value> = related(&["icon"]).filter_map(icon).collect();
    if !icons.is_empty() {
        server.insert("icons".to_owned(), icons.into());
    }
}

/// Notes the id, unless the name of the server says it.
fn add_id(thing: &Object, server: &mut Object) {
    let id_of_name = text(server, "name").map(id_of);
    if let Some(id) = text(thing, "id").filter(|id| id_of_name.as_deref() != Some(*id)) {
        note(server, THING_ID, id.into());
    }
}

/// A name of a Thing that has none.
fn made_name(server: &Object, title: &str, findings: &mut Findings) -> String {
    let url = objects(server, "remotes").find_map(|remote| text(remote, "url")).unwrap_or_default();
    let name = server_name(url, title);
    findings.add(&Path::ROOT, "server-name", || format!("the Thing has no server name; {name:?} is used instead"));
    name
}

/// Returns a name for the server at a URL: its host with the labels in reverse order, a slash, and its title, as registries accept
/// it.
#[must_use]
pub fn server_name(url: &str, title: &str) -> String {
    let authority = url.split("//").nth(1).and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    // Brackets are around an address that has colons itself.
    let host = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let half = |text: &str| -> String {
        let plain: String = text.chars().map(plain).collect();
        plain.trim_matches('-').chars().take(LONGEST_TITLE - 1).collect()
    };
    let labels = host.rsplit('.').map(half).filter(|label| !label.is_empty());
    let space: String = labels.collect::<Vec<String>>().join(".").chars().take(LONGEST_TITLE).collect();
    let space = if space.is_empty() { "localhost" } else { space.trim_end_matches('.') };
    let own = half(title);
    format!("{space}/{}", if own.is_empty() { "server" } else { &own })
}

/// True for a valid server name: a namespace in reverse-DNS form and a name in it, such as `com.example/weather`.
pub fn is_name(name: &str) -> bool {
    let is_plain = |half: &str, more: &str| {
        !half.is_empty() && half.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    name.split_once('/').is_some_and(|(space, own)| is_plain(space, ".-") && is_plain(own, "._-"))
        && name.len() <= 2 * LONGEST_TITLE
}

/// The remotes that the forms of actions lead to, each once.
fn remotes(thing: &Object, findings: &mut Findings) -> Vec<Value> {
    let definitions = thing.get("securityDefinitions").and_then(Value::as_object);
    let mut writer = RemoteWriter { thing, definitions, left: MOST_BYTES, is_complete: true };
    let mut known = BTreeSet::new();
    let mut remotes = Vec::new();
    let actions = thing.get("actions").and_then(Value::as_object).into_iter().flatten();
    'actions: for action in actions.filter_map(|(_, action)| action.as_object()) {
        let variables = action.get("uriVariables").and_then(Value::as_object);
        for form in objects(action, "forms").filter(|form| text(form, "subprotocol") == Some("mcp")) {
            let Some(url) = text(form, "href").filter(|url| url.starts_with("http")) else { continue };
            let written = text(form, "mcp:transport").unwrap_or_default();
            let transport = McpTransport::of_form(form).map_or(written, |transport| transport.name());
            let security = form.get("security").or_else(|| thing.get("security"));
            if !known.insert((
                url,
                transport,
                security.map(Value::to_string),
                form.get("htv:headers").map(Value::to_string),
            )) {
                continue;
            }
            if remotes.len() == MOST_REMOTES {
                writer.is_complete = false;
                break 'actions;
            }
            remotes.push(writer.remote(url, transport, form, variables));
        }
    }
    if !writer.is_complete {
        let message =
            || "there are more remotes, headers, or variables than a document can contain; the rest is left out".into();
        findings.add(&Path::ROOT.member("actions"), "too-many-remotes", message);
    }
    remotes
}

struct RemoteWriter<'t> {
    thing: &'t Object,
    definitions: Option<&'t Object>,
    /// Number of bytes that may still be written.
    left: usize,
    is_complete: bool,
}

impl<'t> RemoteWriter<'t> {
    fn remote(&mut self, url: &str, transport: &str, form: &'t Object, variables: Option<&Object>) -> Value {
        let mut remote = json!({"type": transport, "url": url});
        let mut named = self.inputs(url, variables);
        let required = self.required(form);
        for (definition, _) in required.iter().filter(|(definition, _)| text(definition, "in") == Some("uri")) {
            if let Some(variable) = text(definition, "name").and_then(|name| named.get_mut(name)) {
                *variable = json!({"isRequired": true, "isSecret": true});
            }
        }
        if !named.is_empty() {
            remote["variables"] = named.into();
        }
        let mut headers = Vec::new();
        for header in objects(form, "htv:headers") {
            let Some(name) = text(header, "htv:fieldName") else { continue };
            let value = text(header, "htv:fieldValue").unwrap_or_default();
            let mut written = json!({"name": name, "value": value});
            let inner = self.inputs(value, variables);
            let is_optional = header.get("mcp:isRequired") == Some(&Value::Bool(false));
            if !is_optional && inner.values().any(|variable| variable.get("default").is_none()) {
                written["isRequired"] = true.into();
            }
            if !inner.is_empty() {
                written["variables"] = inner.into();
            }
            headers.push(written);
        }
        self.add_secret_headers(&required, variables, &mut headers);
        if !headers.is_empty() {
            remote["headers"] = headers.into();
        }
        remote
    }

    /// The definitions that a form requires, each with whether nothing else will do.
    fn required(&mut self, form: &'t Object) -> Vec<(&'t Object, bool)> {
        let mut required = Vec::new();
        if let Some(names) = form.get("security").or_else(|| self.thing.get("security")) {
            self.add_required(names, true, DEEPEST_COMBINATION, &mut required);
        }
        required
    }

    /// Adds the definitions of names, and those that combinations of them are made of.
    fn add_required(
        &mut self,
        names: &'t Value,
        is_required: bool,
        depth: usize,
        required: &mut Vec<(&'t Object, bool)>,
    ) {
        let names = names.as_array().map_or(std::slice::from_ref(names), Vec::as_slice);
        for name in names {
            let definition = name.as_str().and_then(|name| self.definitions?.get(name)?.as_object());
            let Some(definition) = definition else { continue };
            let combined = ["oneOf", "allOf"].iter().find_map(|kind| Some((*kind, definition.get(*kind)?.as_array()?)));
            let written = definition.values().map(|value| size(value, self.left)).sum::<usize>();
            if depth == 0 || !self.spend(64 + if combined.is_some() { 0 } else { written }) {
                self.is_complete = false;
                return;
            }
            match combined {
                Some((kind, names)) => {
                    let is_required = is_required && (kind == "allOf" || names.len() == 1);
                    names.iter().for_each(|name| self.add_required(name, is_required, depth - 1, required));
                }
                None => match required.iter_mut().find(|(known, _)| std::ptr::eq(*known, definition)) {
                    Some((_, is_known_required)) => *is_known_required |= is_required,
                    None => required.push((definition, is_required)),
                },
            }
        }
    }

    fn add_secret_headers(
        &mut self,
        required: &[(&'t Object, bool)],
        variables: Option<&Object>,
        headers: &mut Vec<Value>,
    ) {
        for (definition, is_required) in required {
            let Some(mut header) = secret_header(definition, *is_required) else { continue };
            let template = text(definition, "mcp:value").unwrap_or_default();
            let is_open = |name: &str| variables.is_some_and(|variables| variables.contains_key(name));
            if variables_in(template).any(is_open) {
                let mut inner = self.inputs(template, variables);
                let secrets = inner.iter_mut().filter(|(name, _)| !is_open(name));
                secrets.for_each(|(_, variable)| *variable = json!({"isRequired": true, "isSecret": true}));
                header["variables"] = inner.into();
            }
            headers.push(header);
        }
    }

    /// The variables of a template as inputs.
    fn inputs(&mut self, template: &str, variables: Option<&Object>) -> Object {
        let mut inputs = Object::new();
        for name in variables_in(template) {
            if inputs.contains_key(name) {
                continue;
            }
            let schema = variables.and_then(|variables| variables.get(name)?.as_object());
            if !self.spend(
                name.len() + schema.into_iter().flatten().map(|(_, value)| size(value, self.left)).sum::<usize>(),
            ) {
                break;
            }
            inputs.insert(name.to_owned(), schema.map(input).unwrap_or_default().into());
        }
        inputs
    }

    /// True if so much may still be written; once it may not, nothing may.
    fn spend(&mut self, bytes: usize) -> bool {
        let is_there = bytes < self.left;
        self.left = if is_there { self.left - bytes } else { 0 };
        self.is_complete &= is_there;
        is_there
    }
}

/// A data schema as an input, whose values are texts.
fn input(schema: &Object) -> Object {
    let format = match text(schema, "type") {
        Some("number" | "integer") => Some("number"),
        Some("boolean") => Some("boolean"),
        _ => None,
    };
    let written = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    let description = text(schema, "description").map(Value::from);
    let default = schema.get("default").and_then(written).map(Value::from);
    let value = schema.get("const").and_then(written).map(Value::from);
    let choices =
        schema.get("enum").and_then(Value::as_array).map(|choices| choices.iter().filter_map(written).collect());
    let members = [
        ("description", description),
        ("format", format.map(Value::from)),
        ("value", value),
        ("default", default),
        ("choices", choices),
    ];
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The header that a security definition asks for.
fn secret_header(definition: &Object, is_required: bool) -> Option<Value> {
    let name = text(definition, "name");
    let mut header = match text(definition, "scheme")? {
        "bearer" => json!({"name": name.unwrap_or("Authorization"), "value": "Bearer {token}"}),
        "basic" => json!({"name": name.unwrap_or("Authorization"), "value": "Basic {credentials}"}),
        "apikey" if text(definition, "in") == Some("header") => json!({"name": name?}),
        _ => return None,
    };
    if let Some(description) = text(definition, "description") {
        header["description"] = description.into();
    }
    if let Some(value) = text(definition, "mcp:value") {
        header["value"] = value.into();
    }
    if is_required {
        header["isRequired"] = true.into();
    }
    header["isSecret"] = true.into();
    Some(header)
}
