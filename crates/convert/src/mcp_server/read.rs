//! `Server`: a parsed description of an MCP server, with the members of the schema of 2025-12-11.

use serde::Deserialize;
use serde_json::{Map, Value, map::Entry, value::RawValue};

use super::{
    DocumentKind, REGISTRY_METADATA,
    card_shapes::{CardReader, respell_transports},
    connection_options::warn_of_options,
    envelope,
    input::{self, objects},
    redaction::ServerMarks,
    schema::SERVER,
};
use crate::{
    Error, Format, Result,
    looks::look_of,
    redacted_json::RedactedJson,
    shape::{self, Findings},
    td::{self, Report, Violation, internal::Path},
};

type Object = Map<String, Value>;

/// A description of an MCP server.
#[derive(Debug, Clone)]
pub struct Server {
    bytes: Vec<u8>,
    members: Object,
    kind: DocumentKind,
    is_reshaped: bool,
    is_fetched: bool,
    warnings: Vec<Violation>,
}

impl Server {
    /// Parses `server.json` of any schema version, a Server Card, or another document with the description of a single
    /// server: the response of a registry, a server's response to `initialize`, or the configuration of a client.
    ///
    /// ```
    /// use agentdex_convert::mcp_server::{Options, Server};
    ///
    /// let server = Server::parse(br#"{
    ///     "name": "com.example/weather", "description": "Tells the weather", "version": "1.0.0",
    ///     "remotes": [{"type": "streamable-http", "url": "https://weather.example/mcp"}]
    /// }"#)?;
    /// let conversion = server.to_thing(&Options::default())?;
    /// assert_eq!(conversion.things[0].id, "urn:agentdex:mcp:com.example/weather");
    /// # Ok::<(), agentdex_convert::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidSource`] if the document is not one of these; the errors of
    /// [`Document::parse`](crate::td::Document::parse).
    pub fn parse(json: &[u8]) -> Result<Server> {
        Server::parse_at(json, None)
    }

    /// Like [`Server::parse`], for a document fetched from a URL. Relative endpoints are resolved against that URL.
    ///
    /// # Errors
    /// Same as [`Server::parse`].
    pub fn parse_at(json: &[u8], base: Option<&str>) -> Result<Server> {
        let text = td::internal::text_of(json)?;
        let RedactedJson { mut bytes, value, numbers, mut warnings } = RedactedJson::parse(json, &ServerMarks(text))?;
        let Value::Object(mut members) = value else {
            return Err(invalid("not-an-mcp-server", "it is not an object"));
        };
        let mut findings = Findings::with_numbers(numbers);
        let is_enclosed = envelope::open(&mut members, &mut findings);
        let is_enclosed = is_enclosed.map_err(|message| invalid("several-servers", &message))?;
        if envelope::is_answer(&members) {
            bytes = unwrap(&mut members, &bytes);
            for pointer in warnings.iter_mut().map(|warning| &mut warning.pointer) {
                if pointer == "/server" || pointer.starts_with("/server/") {
                    pointer.drain(.."/server".len());
                }
            }
            findings.add(&Path::ROOT, "registry-answer", || {
                "the server is read from the response of a registry; locations in other warnings are relative to the \
                 server"
                    .into()
            });
        }
        read_older_members(&mut members, &mut findings);
        shape::respell(&mut members, SERVER, &Path::ROOT, &mut findings);
        refuse_others(&members)?;
        if !is_enclosed {
            warn_of_options(&members, &Path::ROOT, &mut findings);
        }
        respell_transports(&mut members, &mut findings);
        let is_reshaped = CardReader::new(&mut members, base, &mut findings).read() || is_enclosed;
        refuse_nameless(&members)?;
        shape::fix(&mut members, SERVER, &Path::ROOT, &mut findings);
        check(&members, &mut findings);
        let schema = members.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let is_card = schema.contains("server-card") || (is_reshaped && !members.contains_key("packages"));
        let kind = if is_card { DocumentKind::ServerCard } else { DocumentKind::ServerJson };
        warnings.extend(findings.into_list());
        Ok(Server { bytes, members, kind, is_reshaped, is_fetched: base.is_some(), warnings })
    }

    /// True if the document has the shape of the schema of its kind.
    pub(super) fn has_kind(&self, kind: DocumentKind) -> bool {
        self.kind == kind && !self.is_reshaped
    }

    /// Returns the kind of the document: `server.json` or a Server Card.
    pub fn kind(&self) -> DocumentKind {
        self.kind
    }

    /// Returns warnings from parsing the document. Pointers refer to the document.
    pub fn warnings(&self) -> &[Violation] {
        &self.warnings
    }

    /// True if the document is that of a URL.
    pub(super) fn is_fetched(&self) -> bool {
        self.is_fetched
    }

    pub(super) fn members(&self) -> &Object {
        &self.members
    }

    /// Returns the original document without its secrets.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }
}

/// Puts the server in the place of the answer that it is in, with the `_meta` of both; the text of the server.
fn unwrap(members: &mut Object, answer: &[u8]) -> Vec<u8> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        server: &'a RawValue,
    }
    let answered = members.remove("_meta");
    let Some(Value::Object(server)) = members.remove("server") else { return answer.to_vec() };
    *members = server;
    if let Some(Value::Object(answered)) = answered
        && let Value::Object(own) = members.entry("_meta").or_insert_with(|| Object::new().into())
    {
        for (name, value) in answered {
            match own.entry(name) {
                // Authors of documents don't write the metadata of this registry.
                Entry::Occupied(mut own) if own.key() == REGISTRY_METADATA => drop(own.insert(value)),
                own => drop(own.or_insert(value)),
            }
        }
    }
    match serde_json::from_slice::<Answer<'_>>(answer) {
        Ok(answer) => answer.server.get().as_bytes().to_vec(),
        // The member is there more than once.
        Err(_) => serde_json::to_vec(members).unwrap_or_default(),
    }
}

fn invalid(rule: &'static str, message: &str) -> Error {
    let message = format!("not {}: {message}", Format::McpServer.descriptor().noun);
    let violations = vec![Violation::new("", rule, message)];
    Error::InvalidSource { format: Format::McpServer.name(), report: Report { violations, ..Report::default() } }
}

/// Refuses documents of other formats.
fn refuse_others(members: &Object) -> Result<()> {
    let look = look_of(members).filter(|look| look.format != Some(Format::McpServer));
    match look {
        Some(look) if look.is_certain() || look.format.is_some() => {
            Err(invalid("not-an-mcp-server", &format!("it looks like {}", look.words_with_format(members))))
        }
        _ => Ok(()),
    }
}

fn refuse_nameless(members: &Object) -> Result<()> {
    if members.get("name").is_some_and(|name| name.as_str().is_some_and(|name| !name.is_empty())) {
        return Ok(());
    }
    if let Some(reason) = envelope::missing_server(members) {
        return Err(invalid("not-an-mcp-server", &reason));
    }
    let look = look_of(members).filter(|look| look.format != Some(Format::McpServer));
    let looks = look.map(|look| format!("; it looks like {}", look.words(members))).unwrap_or_default();
    Err(invalid("not-an-mcp-server", &format!("`name` is missing; add a name such as `com.example/weather`{looks}")))
}

/// Members that schemas before 2025-09-16 had elsewhere.
fn read_older_members(members: &mut Object, findings: &mut Findings) {
    let detail = members.get("version_detail").and_then(|detail| detail.get("version")).cloned();
    if let Some(version) = detail
        && !members.contains_key("version")
    {
        let message = || "`version_detail.version` is read as `version`".into();
        findings.add(&Path::ROOT.member("version_detail"), "member-spelling", message);
        members.insert("version".to_owned(), version);
        members.remove("version_detail");
    }
    let Some(Value::Array(packages)) = members.get_mut("packages") else { return };
    let list = Path::ROOT.member("packages");
    for (index, package) in packages.iter_mut().enumerate().filter_map(|(i, one)| Some((i, one.as_object_mut()?))) {
        for (old, new) in [("registry_name", "registryType"), ("name", "identifier")] {
            let is_new = package.contains_key(new) || package.contains_key(&shape::snake_case(new));
            if let (Some(value), false) = (package.get(old).cloned(), is_new) {
                findings
                    .add(&list.index(index).member(old), "member-spelling", || format!("`{old}` is read as `{new}`"));
                package.remove(old);
                package.insert(new.to_owned(), value);
            }
        }
    }
}

pub(super) fn is_range(version: &str) -> bool {
    version == "latest" || version.starts_with(['^', '~', '>', '<', '=']) || version.contains(['*', '|'])
}

/// Checks the rules of the current schema for `$schema`, name, description and version, and that there is an endpoint.
fn check(members: &Object, findings: &mut Findings) {
    let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut warn = |name: &str, rule: &'static str, message: String| {
        findings.add(&Path::ROOT.member(name), rule, || message);
    };
    let schema = text("$schema");
    if let Some(dated) = schema.split("/schemas/").nth(1).and_then(|rest| rest.split('/').next())
        && dated.starts_with(|first: char| first.is_ascii_digit())
        && dated != "2025-12-11"
    {
        let message = format!("`$schema` names version {dated}, but the document was read as version 2025-12-11");
        warn("$schema", "schema-version", message);
    }
    let name = text("name");
    let is_part = |part: &str, more: &[u8]| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
    };
    if !name.split_once('/').is_some_and(|(space, own)| is_part(space, b".-") && is_part(own, b"._-")) {
        warn("name", "server-name", format!("{name:?} is not in reverse-DNS form, such as com.example/weather"));
    }
    let length = text("description").chars().count();
    if length > 100 {
        warn("description", "description-length", format!("{length} characters, but registries accept at most 100"));
    }
    let version = text("version");
    if is_range(version) {
        warn("version", "version", format!("{version:?} is not a single version, such as 1.2.0"));
    }
    let list = Path::ROOT.member("packages");
    for (index, package) in objects(members, "packages").enumerate() {
        if let Some(version) = input::text(package, "version").filter(|version| is_range(version)) {
            let message = || format!("{version:?} is not a single version, such as 1.2.0");
            findings.add(&list.index(index).member("version"), "version", message);
        }
    }
    if let Some(status) = envelope::status(members) {
        findings
            .add(&Path::ROOT.member("_meta"), "server-status", || format!("the registry marks the server as {status}"));
    }
    let lists_any = |name: &str| members.get(name).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if !lists_any("remotes") && !lists_any("packages") {
        findings.add(&Path::ROOT, "no-endpoint", || {
            "the server can neither be reached nor run; add `remotes` or `packages`".to_owned()
        });
    }
}
