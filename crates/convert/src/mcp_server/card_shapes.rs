//! Conversion of Server Cards in forms that were published before a schema existed to the form of `server.json`.
//!
//! Many cards under `/.well-known/mcp/server-card.json` and `/.well-known/mcp.json` have the server's identity in
//! `serverInfo` (SEP-1649) or `server_name` (SEP-1960), and its endpoint in `transport`, `endpoints`, `serverUrl`, or
//! `url`. If a member of the schema is present, it takes precedence over other spellings.

use std::collections::BTreeSet;

use fluent_uri::{Iri, IriRef};
use serde_json::{Map, Value, json};

use super::{
    authentication::{self, Authentication, MOST_BYTES},
    connection_options::warn_of_options,
    headers::{HEADERS, REQUESTS, header_list, take_headers},
    input::text,
    schema::{DECLARED, SPELLINGS, TYPE},
};
use crate::{shape::Findings, size::size, td::internal::Path};

type Object = Map<String, Value>;

/// Maximum number of endpoints read from a card.
const MOST_ENDPOINTS: usize = 100;
/// Depth of lists and objects in which endpoints are looked for: `endpoints`, a transport, its object.
const DEEPEST_ENDPOINT: usize = 3;

/// Members with endpoints of several transports.
const TRANSPORTS: [&str; 3] = ["transport", "transports", "endpoints"];
/// Members with the one endpoint of a server.
pub(super) const ENDPOINTS: [&str; 9] =
    ["endpoint", "url", "serverUrl", "server_url", "mcp_endpoint", "mcpEndpoint", "mcp_url", "mcpUrl", "mcp_server"];
/// Members of an endpoint with its URL.
const URL: [&str; 5] = ["url", "endpoint", "uri", "href", "baseUrl"];

/// Members of a card that may name its transports.
const KINDS: [&str; 3] = ["type", "protocol", "kind"];

/// The transport that a name stands for, in any of the spellings in use.
pub(super) fn transport(name: &str) -> Option<&'static str> {
    let plain = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
    match plain.take(32).collect::<String>().as_str() {
        "http" | "https" | "streamable" | "streamablehttp" | "httpstream" | "httpstreaming" => Some("streamable-http"),
        "jsonrpc" | "mcp" => Some("streamable-http"),
        "sse" | "httpsse" | "serversentevents" => Some("sse"),
        "stdio" => Some("stdio"),
        _ => None,
    }
}

/// True for the name of the protocol, which every transport carries.
fn is_protocol(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    ["mcp", "jsonrpc"].iter().any(|protocol| plain.eq_ignore_ascii_case(protocol))
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
    warn_of_options(remote, path, findings);
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
    format!("{written:?} is not an MCP transport, such as streamable-http; this endpoint can't be called")
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
        self.read_headers();
        self.read_authentication();
        self.name_by_host();
        self.is_reshaped
    }

    fn note(&mut self, from: &str, to: &str) {
        self.is_reshaped = true;
        let message = || match from == to {
            true => format!("`{from}` is read as a list"),
            false => format!("`{from}` is read as `{to}`"),
        };
        self.findings.add(&Path::ROOT.member(from), "member-spelling", message);
    }

    /// Makes the members of `serverInfo` members of the card. `version` beside it is the version of the card.
    fn lift_server_info(&mut self) {
        for member in ["serverInfo", "server_info", "server", "mcpServer", "mcp_server"] {
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
            let path = Path::ROOT.member(name);
            let mut search = EndpointSearch { found: Vec::new(), findings: &mut *self.findings };
            if let Some(value) = self.members.get(name) {
                search.add(value, Inherited::default(), DEEPEST_ENDPOINT, &path);
            }
            let found = search.found;
            if found.is_empty() {
                continue;
            }
            let urls: Vec<Option<String>> = found.iter().map(|endpoint| self.resolve(&endpoint.url, &path)).collect();
            if urls.iter().all(Option::is_none) {
                continue;
            }
            for (endpoint, url) in found.into_iter().zip(urls) {
                let Some(url) = url else { continue };
                let is_known = match &endpoint.transport {
                    Some(own) => known.contains(&(url.clone(), own.clone())),
                    None => remotes.iter().any(|remote: &Value| remote["url"] == *url),
                };
                if is_known || remotes.len() >= MOST_ENDPOINTS {
                    continue;
                }
                let transport =
                    endpoint.transport.or_else(|| declared.clone()).unwrap_or_else(|| "streamable-http".into());
                self.warn_of_transport(&transport, &path);
                known.insert((url.clone(), transport.clone()));
                let mut remote = json!({"type": transport, "url": url});
                let further = [("headers", endpoint.headers), ("authentication", endpoint.authentication)];
                for (name, value) in further.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                    remote[name] = value;
                }
                remotes.push(remote);
            }
            self.members.remove(name);
            self.note(name, "remotes");
        }
        if !remotes.is_empty() {
            self.members.insert("remotes".to_owned(), remotes.into());
        }
    }

    /// Adds the headers of the card to each remote.
    fn read_headers(&mut self) {
        if listed(self.members, "remotes").next().is_none() {
            return;
        }
        let written = HEADERS.into_iter().chain(REQUESTS).find(|name| self.members.contains_key(*name));
        let headers = take_headers(self.members);
        if headers.iter().map(|header| size(header, MOST_BYTES)).sum::<usize>() > MOST_BYTES {
            let message = || {
                format!(
                    "the headers exceed the limit of {MOST_BYTES} bytes, and are ignored; declare them at the endpoint \
                     that needs them"
                )
            };
            return self.findings.add(&Path::ROOT.member(written.unwrap_or("headers")), "headers-unused", message);
        }
        for (_, remote) in listed(self.members, "remotes").take(MOST_ENDPOINTS) {
            authentication::add_headers(remote, &headers);
        }
        if let Some(written) = written.filter(|_| !headers.is_empty()) {
            self.note(written, "remotes");
        }
    }

    fn warn_of_transport(&mut self, written: &str, path: &Path<'_>) {
        if transport(written).is_none() {
            self.findings.add(path, "transport", || unknown_transport(written));
        }
    }

    /// The transport of endpoints that name none; `stdio` if it is the only one.
    fn declared_transport(&self) -> Option<String> {
        let texts = |name: &str| match self.members.get(name) {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect::<Vec<&str>>(),
            Some(Value::Object(one)) => TYPE.iter().find_map(|name| text(one, name)).into_iter().collect(),
            Some(Value::String(one)) => vec![one.as_str()],
            _ => Vec::new(),
        };
        let declared = DECLARED.into_iter().flat_map(texts).filter(|name| !is_protocol(name));
        // Other members of these names say which kind of document it is.
        let of_kind = KINDS.into_iter().flat_map(texts).filter(|name| transport(name).is_some() && !is_protocol(name));
        let known: Vec<&str> = declared.chain(of_kind).map(|name| transport(name).unwrap_or(name)).collect();
        known.iter().find(|name| **name != "stdio").or(known.first()).map(|name| (*name).to_owned())
    }

    fn resolve_remotes(&mut self) {
        let list = Path::ROOT.member("remotes");
        let mut remotes = self.members.remove("remotes").unwrap_or_default();
        for (index, remote) in remotes.as_array_mut().into_iter().flatten().enumerate() {
            if let Some((name, gap)) = remote.as_object().and_then(authentication::gap_of) {
                self.findings.add(&list.index(index).member(name), "authentication", || gap.into());
            }
            if let Some(url) = remote.get("url").and_then(Value::as_str).filter(|url| is_relative(url))
                && let Some(url) = self.resolve(url, &list.index(index).member("url"))
            {
                remote["url"] = url.into();
            }
        }
        self.members.insert("remotes".to_owned(), remotes);
    }

    /// The absolute URL of an endpoint.
    fn resolve(&mut self, url: &str, path: &Path<'_>) -> Option<String> {
        if !is_relative(url) {
            return Some(url.to_owned());
        }
        let base = self.base.and_then(|base| Iri::parse(base).ok());
        let resolved = base.and_then(|base| {
            let reference = IriRef::parse(url).ok()?;
            Some(reference.resolve_against(&base.strip_fragment()).ok()?.into_string())
        });
        if resolved.is_none() {
            self.findings.add(path, "url-relative", || {
                "the URL is relative, so no form is created; give the URL of the card as `base`".into()
            });
        }
        resolved
    }

    /// Adds the headers that `authentication` asks for to each remote: its own, else that of the card.
    fn read_authentication(&mut self) {
        let general = Authentication::asked_by(self.members).unwrap_or_default();
        if let Some((name, gap)) = authentication::gap_of(self.members) {
            self.findings.add(&Path::ROOT.member(name), "authentication", || gap.into());
        }
        for (_, remote) in listed(self.members, "remotes").take(MOST_ENDPOINTS) {
            let own = Authentication::asked_by(remote);
            own.as_ref().unwrap_or(&general).add_to(remote);
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
            let message = || format!("`name` is missing; {host:?} is used instead");
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
                // SEP-1649: the server lists them. In a configuration, `*` allows all tools.
                Value::String(name) if name != "dynamic" && name != "*" => Some(json!({"name": name})),
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
    authentication: Option<Value>,
}

/// What the objects that an endpoint is in say of it.
#[derive(Clone, Copy, Default)]
struct Inherited<'c> {
    /// True if a name says that it is an endpoint.
    is_named: bool,
    transport: Option<&'c str>,
    authentication: Option<&'c Value>,
}

/// The endpoints that were found in a member of a card.
struct EndpointSearch<'f> {
    found: Vec<Endpoint>,
    findings: &'f mut Findings,
}

impl EndpointSearch<'_> {
    /// Adds the endpoints in a value: a URL, an object with one, a list of either, or either by the name of its
    /// transport. Reports those that nothing calls.
    fn add(&mut self, value: &Value, inherited: Inherited<'_>, depth: usize, path: &Path<'_>) {
        if depth == 0 || self.found.len() >= MOST_ENDPOINTS {
            return;
        }
        match value {
            Value::String(url) if is_address(url) => self.push(url, inherited, None),
            Value::String(url) if inherited.is_named || url.contains("://") => self.warn_of_url(url, path),
            Value::Array(list) => {
                list.iter()
                    .enumerate()
                    .for_each(|(index, one)| self.add(one, inherited, depth - 1, &path.index(index)));
            }
            Value::Object(members) => self.add_members(members, inherited, depth, path),
            _ => {}
        }
    }

    fn add_members(&mut self, members: &Object, inherited: Inherited<'_>, depth: usize, path: &Path<'_>) {
        let own = TYPE.iter().filter_map(|name| text(members, name)).find(|own| !is_protocol(own));
        let own = own.map(|own| transport(own).unwrap_or(own));
        let inherited = Inherited {
            is_named: inherited.is_named,
            transport: own.or(inherited.transport),
            authentication: authentication::member(members).map(|(_, asked)| asked).or(inherited.authentication),
        };
        if let Some((name, gap)) = authentication::gap_of(members) {
            self.findings.add(&path.member(name), "authentication", || gap.into());
        }
        let is_remote = inherited.transport != Some("stdio");
        let urls = || URL.iter().filter(|_| is_remote).filter_map(|name| Some((*name, text(members, name)?)));
        if let Some((_, url)) = urls().find(|(_, url)| is_address(url)) {
            warn_of_options(members, path, self.findings);
            let headers = take_headers(&mut members.clone());
            let headers = (!headers.is_empty()).then(|| headers.into());
            return self.push(url, inherited, headers);
        }
        if let Some((name, url)) = urls().next() {
            return self.warn_of_url(url, &path.member(name));
        }
        for (name, inner) in members {
            match transport(name) {
                Some("stdio") => {}
                Some(named) => {
                    let transport = if is_protocol(name) { inherited.transport } else { Some(named) };
                    let inherited = Inherited { is_named: true, transport, ..inherited };
                    self.add(inner, inherited, depth - 1, &path.member(name));
                }
                None if is_place(inner) && !authentication::is_member(name) => {
                    self.findings.add(&path.member(name), "endpoint-unused", || {
                        format!(
                            "{name:?} is not an MCP transport, such as streamable-http; this endpoint can't be called"
                        )
                    })
                }
                None => {}
            }
        }
    }

    fn push(&mut self, url: &str, inherited: Inherited<'_>, headers: Option<Value>) {
        let authentication = inherited.authentication.map(authentication::bounded);
        let transport = inherited.transport.map(str::to_owned);
        self.found.push(Endpoint { transport, url: url.to_owned(), headers, authentication });
    }

    fn warn_of_url(&mut self, url: &str, path: &Path<'_>) {
        self.findings.add(path, "endpoint-unused", || {
            format!(
                "{url:?} is neither an http or https URL nor a path that begins with `/`, `./`, or `../`; it \
                can't be called"
            )
        });
    }
}

/// True for a URL that a server can be called at.
fn is_address(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://") || is_relative(url)
}

/// True for a path from the URL of the card.
fn is_relative(url: &str) -> bool {
    ["/", "./", "../"].iter().any(|start| url.starts_with(start))
}

/// True for a URL, or an object with one.
fn is_place(value: &Value) -> bool {
    let is_url = |url: &str| is_address(url) || url.contains("://");
    match value {
        Value::String(url) => is_url(url),
        Value::Object(members) => URL.iter().any(|name| text(members, name).is_some_and(is_url)),
        _ => false,
    }
}
