//! Server Cards in the shapes that sites published before there was a schema of them, read as `server.json`.
//!
//! Many cards under `/.well-known/mcp/server-card.json` and `/.well-known/mcp.json` have the server's identity in
//! `serverInfo` (SEP-1649) or `server_name` (SEP-1960), and its endpoint in `transport`, `endpoints`, `serverUrl` or
//! `url`. A member of the schema takes precedence over any other spelling of it.

use std::collections::BTreeSet;

use fluent_uri::{Iri, IriRef};
use serde_json::{Map, Value, json};

use super::input::text;
use crate::{shape::Findings, td::internal::Path};

type Object = Map<String, Value>;

/// Maximum number of endpoints read from a card.
const MOST_ENDPOINTS: usize = 100;
/// Depth of lists and objects in which endpoints are looked for: `endpoints`, a transport, its object.
const DEEPEST_ENDPOINT: usize = 3;

/// Other names of members whose value is a text.
const SPELLINGS: [(&str, &[&str]); 5] = [
    ("name", &["server_name", "serverName"]),
    ("title", &["displayName", "display_name"]),
    ("version", &["server_version", "serverVersion"]),
    ("description", &["server_description", "serverDescription"]),
    ("websiteUrl", &["homepage", "website", "documentationUrl", "documentation_url", "documentation"]),
];

/// Members with endpoints of several transports.
const TRANSPORTS: [&str; 3] = ["transport", "transports", "endpoints"];
/// Members with the one endpoint of a server.
const ENDPOINTS: [&str; 9] =
    ["endpoint", "url", "serverUrl", "server_url", "mcp_endpoint", "mcpEndpoint", "mcp_url", "mcpUrl", "mcp_server"];
/// Members of an endpoint that are its URL, and those that name its transport.
const URL: [&str; 5] = ["url", "endpoint", "uri", "href", "baseUrl"];
const TYPE: [&str; 6] = ["type", "transport", "transportType", "transport_type", "protocol", "kind"];

/// The transport that a name stands for, in any of the spellings in use.
pub(super) fn transport(name: &str) -> Option<&'static str> {
    let plain = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
    match plain.take(32).collect::<String>().as_str() {
        "http" | "https" | "streamable" | "streamablehttp" | "httpstream" | "httpstreaming" | "jsonrpc" | "mcp" => {
            Some("streamable-http")
        }
        "sse" | "httpsse" | "serversentevents" => Some("sse"),
        "stdio" => Some("stdio"),
        _ => None,
    }
}

/// Reads the transports of remotes and packages in other spellings, and their headers where they are members of an
/// object.
pub(super) fn respell_transports(members: &mut Object, findings: &mut Findings) {
    let list = Path::ROOT.member("remotes");
    for (index, remote) in listed(members, "remotes") {
        respell_transport(remote, &list.index(index), findings);
    }
    let list = Path::ROOT.member("packages");
    for (index, package) in listed(members, "packages") {
        if let Some(Value::Object(remote)) = package.get_mut("transport") {
            respell_transport(remote, &list.index(index).member("transport"), findings);
        }
    }
}

fn listed<'o>(members: &'o mut Object, name: &str) -> impl Iterator<Item = (usize, &'o mut Object)> {
    let elements = members.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten().enumerate();
    elements.filter_map(|(index, one)| Some((index, one.as_object_mut()?)))
}

fn respell_transport(remote: &mut Object, path: &Path<'_>, findings: &mut Findings) {
    if !remote.contains_key("type")
        && let Some(name) = TYPE.into_iter().find(|name| text(remote, name).is_some())
    {
        findings.add(&path.member(name), "member-spelling", || format!("`{name}` is read as `type`"));
        let value = remote.remove(name).unwrap_or_default();
        remote.insert("type".to_owned(), value);
    }
    if let Some(written) = text(remote, "type") {
        match transport(written) {
            Some(known) if known == written => {}
            Some(known) => {
                findings.add(&path.member("type"), "transport", || format!("{written:?} is read as {known:?}"));
                remote.insert("type".to_owned(), known.into());
            }
            // Its form tells.
            None => {}
        }
    }
    if let Some(Value::Object(named)) = remote.get("headers") {
        let headers = header_list(named);
        findings.add(&path.member("headers"), "member-type", || "an object is read as a list of headers".into());
        remote.insert("headers".to_owned(), headers);
    }
}

fn unknown_transport(written: &str) -> String {
    format!("{written:?} is not a transport of MCP, such as streamable-http: nothing calls it")
}

/// Headers by their names, as a list of them. A value with a reference to a variable of the client (`${input:key}`,
/// `${KEY}`) is a secret that its user supplies.
pub(super) fn header_list(named: &Object) -> Value {
    let header = |(name, value): (&String, &Value)| match value.as_str() {
        Some(value) if !value.contains("${") && !crate::redaction::is_stand_in(value) => {
            json!({"name": name, "value": value})
        }
        _ => json!({"name": name, "isRequired": true, "isSecret": true}),
    };
    named.iter().map(header).collect()
}

/// A card as it is read.
pub(super) struct CardReader<'c> {
    members: &'c mut Object,
    findings: &'c mut Findings,
    /// The URL of the card.
    base: Option<&'c str>,
    is_reshaped: bool,
}

impl<'c> CardReader<'c> {
    pub(super) fn new(members: &'c mut Object, base: Option<&'c str>, findings: &'c mut Findings) -> CardReader<'c> {
        CardReader { members, findings, base, is_reshaped: false }
    }

    /// Gives all members the shape of the schema. True if any had another.
    pub(super) fn read(mut self) -> bool {
        self.lift_server_info();
        self.respell();
        self.read_tools();
        self.read_remotes();
        self.read_authentication();
        self.name_by_host();
        self.is_reshaped
    }

    fn note(&mut self, from: &str, to: &str) {
        self.is_reshaped = true;
        let message = || format!("`{from}` is read as `{to}`");
        self.findings.add(&Path::ROOT.member(from), "member-spelling", message);
    }

    /// Makes the members of `serverInfo` members of the card. `version` beside it is the version of the card.
    fn lift_server_info(&mut self) {
        for member in ["serverInfo", "server_info"] {
            if !self.members.get(member).is_some_and(Value::is_object) {
                continue;
            }
            let Some(Value::Object(info)) = self.members.remove(member) else { continue };
            if info.contains_key("version") {
                self.members.remove("version");
            }
            for (name, value) in info {
                self.members.entry(name).or_insert(value);
            }
            self.note(member, "name");
        }
    }

    fn respell(&mut self) {
        for (name, others) in SPELLINGS {
            let is_usable = |value: &str| name != "websiteUrl" || value.starts_with("http");
            if text(self.members, name).is_some() {
                continue;
            }
            if let Some(other) = others.iter().find(|other| text(self.members, other).is_some_and(is_usable)) {
                let value = self.members.remove(*other).unwrap_or_default();
                self.members.insert(name.to_owned(), value);
                self.note(other, name);
            }
        }
        if let Some(url) = text(self.members, "repository") {
            let repository = json!({"url": url});
            self.members.insert("repository".to_owned(), repository);
        }
    }

    fn read_tools(&mut self) {
        let is_plain = |tools: &Value| tools.as_array().is_some_and(|tools| tools.iter().all(Value::is_object));
        if !self.members.get("tools").is_none_or(is_plain) {
            let tools = tool_list(self.members.remove("tools").unwrap_or_default(), true);
            if !tools.is_empty() {
                self.members.insert("tools".to_owned(), tools.into());
                self.note("tools", "tools");
            }
        }
        let offered = self.members.get("capabilities").and_then(|offered| offered.get("tools"));
        if !self.members.contains_key("tools")
            && let Some(offered @ Value::Array(_)) = offered
        {
            let tools = tool_list(offered.clone(), false);
            self.members.insert("tools".to_owned(), tools.into());
            self.note("capabilities", "tools");
        }
        let mut is_respelled = false;
        for (_, tool) in listed(self.members, "tools") {
            let is_schema = |schema: &Value| schema.get("type").is_some() || schema.get("properties").is_some();
            let mut others = ["parameters", "input", "schema"].into_iter();
            let other = others.find(|name| tool.get(*name).is_some_and(is_schema));
            if let (Some(other), None, None) = (other, tool.get("inputSchema"), tool.get("input_schema")) {
                let schema = tool.remove(other).unwrap_or_default();
                tool.insert("inputSchema".to_owned(), schema);
                is_respelled = true;
            }
        }
        if is_respelled {
            self.note("tools", "inputSchema");
        }
    }

    fn read_remotes(&mut self) {
        if self.members.get("remotes").is_some_and(|remotes| *remotes != json!([])) {
            return self.resolve_remotes();
        }
        let declared = self.declared_transport();
        let is_remote = declared.as_deref() != Some("stdio");
        let names = TRANSPORTS.into_iter().chain(ENDPOINTS.into_iter().filter(|_| is_remote));
        let (mut remotes, mut known) = (Vec::new(), BTreeSet::new());
        for name in names {
            let mut found = Vec::new();
            if let Some(value) = self.members.get(name) {
                add_endpoints(value, None, DEEPEST_ENDPOINT, &mut found);
            }
            if found.is_empty() {
                continue;
            }
            let urls: Vec<Option<String>> =
                found.iter().map(|endpoint| self.resolve(&endpoint.url, &Path::ROOT.member(name))).collect();
            if urls.iter().all(Option::is_none) {
                continue;
            }
            for (Endpoint { transport, headers, .. }, url) in found.into_iter().zip(urls) {
                let Some(url) = url else { continue };
                if remotes.len() < MOST_ENDPOINTS && known.insert(url.clone()) {
                    let transport = transport.or_else(|| declared.clone()).unwrap_or("streamable-http".into());
                    self.warn_of_transport(&transport, &Path::ROOT.member(name));
                    let mut remote = json!({"type": transport, "url": url});
                    if let Some(headers) = headers {
                        remote["headers"] = headers;
                    }
                    remotes.push(remote);
                }
            }
            self.members.remove(name);
            self.note(name, "remotes");
        }
        if !remotes.is_empty() {
            self.members.insert("remotes".to_owned(), remotes.into());
        }
    }

    fn warn_of_transport(&mut self, written: &str, path: &Path<'_>) {
        if transport(written).is_none() {
            self.findings.add(path, "transport", || unknown_transport(written));
        }
    }

    /// The transport of endpoints that name none; `stdio` if it is the only one.
    fn declared_transport(&self) -> Option<String> {
        let names = ["transport", "transports", "transportType", "transport_type"].into_iter();
        let texts = names.filter_map(|name| self.members.get(name)).flat_map(|value| match value {
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<&str>>(),
            Value::Object(one) => TYPE.iter().find_map(|name| text(one, name)).into_iter().collect(),
            plain => plain.as_str().into_iter().collect(),
        });
        let known: Vec<&str> = texts.map(|name| transport(name).unwrap_or(name)).collect();
        known.iter().find(|name| **name != "stdio").or(known.first()).map(|name| (*name).to_owned())
    }

    fn resolve_remotes(&mut self) {
        let list = Path::ROOT.member("remotes");
        let mut remotes = self.members.remove("remotes").unwrap_or_default();
        for (index, remote) in remotes.as_array_mut().into_iter().flatten().enumerate() {
            if let Some(url) = remote.get("url").and_then(Value::as_str).filter(|url| url.starts_with('/'))
                && let Some(url) = self.resolve(url, &list.index(index).member("url"))
            {
                remote["url"] = url.into();
            }
        }
        self.members.insert("remotes".to_owned(), remotes);
    }

    /// The absolute URL of an endpoint.
    fn resolve(&mut self, url: &str, path: &Path<'_>) -> Option<String> {
        if !url.starts_with('/') {
            return Some(url.to_owned());
        }
        let base = self.base.and_then(|base| Iri::parse(base).ok());
        let resolved = base.and_then(|base| {
            let reference = IriRef::parse(url).ok()?;
            Some(reference.resolve_against(&base.strip_fragment()).ok()?.into_string())
        });
        if resolved.is_none() {
            self.findings.add(path, "url-relative", || {
                "it is relative to the URL of the card: there is no form for it without `base`".into()
            });
        }
        resolved
    }

    /// Gives remotes without headers those that `authentication` asks for.
    fn read_authentication(&mut self) {
        let Some(name) = ["authentication", "auth"].into_iter().find(|name| self.members.contains_key(*name)) else {
            return;
        };
        let asked = self.members.get(name).map(Authentication::of).unwrap_or_default();
        let headers = match asked {
            Authentication::None => return,
            Authentication::Unknown => {
                let message =
                    || "it names no header that credentials are sent in: the description leaves it open".into();
                return self.findings.add(&Path::ROOT.member(name), "authentication", message);
            }
            Authentication::Header(header) => json!([header]),
        };
        for (_, remote) in listed(self.members, "remotes") {
            remote.entry("headers").or_insert_with(|| headers.clone());
        }
    }

    /// Names a card that has no name after the host of its server.
    fn name_by_host(&mut self) {
        if text(self.members, "name").is_some() {
            return;
        }
        let url = self.members.get("remotes").and_then(|remotes| remotes.get(0)?.get("url")?.as_str());
        let host = url.and_then(|url| {
            let url = Iri::parse(url).ok()?;
            Some(url.authority()?.host().to_owned()).filter(|host| !host.is_empty())
        });
        if let Some(host) = host {
            let message = || format!("`name` is missing; {host:?} stands for it");
            self.findings.add(&Path::ROOT, "member-missing", message);
            self.members.insert("name".to_owned(), host.into());
        }
    }
}

/// Tools by name, in groups, or as names alone, as a list of objects.
fn tool_list(tools: Value, has_groups: bool) -> Vec<Value> {
    match tools {
        Value::Array(list) => {
            let tool = |tool: Value| match tool {
                Value::Object(_) => Some(tool),
                // SEP-1649: they are asked for.
                Value::String(name) if name != "dynamic" => Some(json!({"name": name})),
                _ => None,
            };
            list.into_iter().filter_map(tool).collect()
        }
        Value::Object(named) => {
            let tools = |(name, value): (String, Value)| match value {
                Value::Array(_) if has_groups => tool_list(value, false),
                Value::Object(mut tool) => {
                    tool.entry("name").or_insert_with(|| name.into());
                    vec![tool.into()]
                }
                Value::String(description) => vec![json!({"name": name, "description": description})],
                _ => Vec::new(),
            };
            named.into_iter().flat_map(tools).collect()
        }
        _ => Vec::new(),
    }
}

struct Endpoint {
    transport: Option<String>,
    url: String,
    headers: Option<Value>,
}

/// Finds the endpoints in a value: a URL, an object with one, a list of either, or either by the name of its
/// transport.
fn add_endpoints(value: &Value, named: Option<&str>, depth: usize, found: &mut Vec<Endpoint>) {
    let is_address = |url: &&str| url.starts_with("http://") || url.starts_with("https://") || url.starts_with('/');
    if depth == 0 || found.len() >= MOST_ENDPOINTS {
        return;
    }
    match value {
        Value::String(url) if is_address(&url.as_str()) => {
            found.push(Endpoint { transport: named.map(str::to_owned), url: url.clone(), headers: None });
        }
        Value::Array(list) => list.iter().for_each(|one| add_endpoints(one, named, depth - 1, found)),
        Value::Object(members) => {
            let own = TYPE.iter().find_map(|name| text(members, name));
            let own = own.map(|own| transport(own).unwrap_or(own)).or(named);
            let url = URL.iter().find_map(|name| text(members, name)).filter(is_address);
            if let Some(url) = url.filter(|_| own != Some("stdio")) {
                let headers = members.get("headers").map(|headers| match headers {
                    Value::Object(named) => header_list(named),
                    list => list.clone(),
                });
                found.push(Endpoint { transport: own.map(str::to_owned), url: url.to_owned(), headers });
                return;
            }
            for (name, inner) in members {
                if let Some(named) = transport(name).filter(|named| *named != "stdio") {
                    add_endpoints(inner, Some(named), depth - 1, found);
                }
            }
        }
        _ => {}
    }
}

/// What a card says about credentials.
#[derive(Default)]
enum Authentication {
    /// None are needed.
    #[default]
    None,
    /// They are sent in this header.
    Header(Value),
    Unknown,
}

impl Authentication {
    fn of(asked: &Value) -> Authentication {
        let Some(members) = asked.as_object() else {
            return match asked {
                Value::String(name) => Authentication::named(name, &Object::new(), true),
                Value::Null | Value::Bool(false) => Authentication::None,
                _ => Authentication::Unknown,
            };
        };
        let is_required = members.get("required") != Some(&Value::Bool(false));
        let listed = ["schemes", "types", "methods"].into_iter().filter_map(|name| members.get(name)?.as_array());
        let own = ["type", "scheme", "method"].into_iter().filter_map(|name| text(members, name));
        let mut names = own.chain(listed.flatten().filter_map(|one| match one {
            Value::Object(scheme) => text(scheme, "type").or(text(scheme, "scheme")),
            plain => plain.as_str(),
        }));
        match names.next() {
            // Of several any will do.
            Some(first) => Authentication::named(first, members, is_required),
            None if !is_required || members.get("schemes") == Some(&json!([])) => Authentication::None,
            None => Authentication::Unknown,
        }
    }

    fn named(name: &str, members: &Object, is_required: bool) -> Authentication {
        let plain = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
        let plain: String = plain.take(32).collect();
        let header = ["header", "headerName", "header_name"].into_iter().find_map(|name| text(members, name));
        let header = header.or_else(|| text(members, "name").filter(|_| text(members, "in") == Some("header")));
        let value = match plain.as_str() {
            "none" | "public" | "anonymous" | "open" | "noauth" => return Authentication::None,
            "basic" | "httpbasic" => Some("Basic {credentials}"),
            "apikey" | "key" | "header" => None,
            name if ["bearer", "oauth", "oidc", "openid", "jwt", "token", "pat"]
                .iter()
                .any(|one| name.contains(one)) =>
            {
                Some("Bearer {token}")
            }
            _ => return Authentication::Unknown,
        };
        let header = match (header, value) {
            (Some(header), None) => json!({"name": header}),
            (Some(header), Some(_)) if !header.eq_ignore_ascii_case("authorization") => json!({"name": header}),
            (_, Some(value)) => json!({"name": "Authorization", "value": value}),
            (None, None) => return Authentication::Unknown,
        };
        let mut header = header;
        header["isSecret"] = true.into();
        if is_required {
            header["isRequired"] = true.into();
        }
        if let Some(description) = text(members, "description") {
            header["description"] = description.into();
        }
        Authentication::Header(header)
    }
}
