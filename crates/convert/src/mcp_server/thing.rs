//! A description of an MCP server as a Thing Description.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::{
    MCP_NAMESPACE, Options, Server,
    envelope::status,
    input::objects,
    publisher_metadata::thing_id,
    remote::{Remote, remotes},
    run::command,
    terms::prefixed,
    tool::{self, tools},
};
use crate::{
    Conversion, Format, Result, Source,
    shape::Findings,
    td::{LmosKind, internal::Path, normalize_id},
    thing_builder::{HTTP_NAMESPACE, ThingBuilder, capability},
};

type Object = Map<String, Value>;

/// Characters that are percent-encoded in ids made of a name: all but ASCII letters, digits, `-`, `.`, `_`, `~` and
/// `/`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Members that have a place in a Thing Description.
const PLACED: [&str; 6] = ["title", "description", "version", "websiteUrl", "packages", "icons"];

/// The id that a server of this name has.
pub(super) fn id_of(name: &str) -> String {
    format!("{MCP_NAMESPACE}{}", utf8_percent_encode(name, RESERVED))
}

impl Server {
    /// Converts it to a Thing, which keeps the document as its source.
    ///
    /// # Errors
    /// Those of [`normalize_id`], and [`Error::DocumentTooLarge`](crate::Error::DocumentTooLarge) and
    /// [`Error::LimitExceeded`](crate::Error::LimitExceeded) where the description would be more than a
    /// registry takes.
    pub fn to_thing(&self, options: &Options) -> Result<Conversion> {
        to_thing(self, options)
    }
}

fn to_thing(server: &Server, options: &Options) -> Result<Conversion> {
    let name = server.text("name").unwrap_or_default();
    let id = match &options.id {
        Some(id) => normalize_id(id)?.into_owned(),
        // Whoever serves a document decides nothing about the Things of others.
        None => match thing_id(server.members()).filter(|_| !server.is_fetched()) {
            Some(id) => normalize_id(id)?.into_owned(),
            None => id_of(name),
        },
    };
    let mut findings = Findings::default();
    let mut thing = ThingBuilder::new(LmosKind::Tool, id, server.text("title").unwrap_or(name));
    thing.type_("mcp:Server");
    thing.prefix("mcp", MCP_NAMESPACE);
    thing.prefix("htv", HTTP_NAMESPACE);
    thing.set_text("description", server.text("description"));
    if let Some(version) = server.text("version") {
        thing.set("version", json!({"instance": version}));
    }
    add_links(server, &mut thing, &mut findings);
    add_tools(server, &mut thing, &mut findings);
    for (name, value) in server.members().iter().filter(|(name, _)| !PLACED.contains(&name.as_str())) {
        thing.set(&format!("mcp:{name}"), prefixed(value));
    }
    thing.set_text("mcp:withdrawn", status(server.members()));
    let packages: Vec<Value> = objects(server.members(), "packages").map(package).collect();
    if !packages.is_empty() {
        thing.set("mcp:packages", packages.into());
    }
    let source =
        Source { format: Format::McpServer, media_type: "application/json".into(), bytes: server.bytes().to_vec() };
    let things = vec![thing.finish(source)?];
    let warnings = server.warnings().iter().cloned().chain(findings.into_list()).collect();
    Ok(Conversion { things, warnings, ..Conversion::default() })
}

fn package(package: &Object) -> Value {
    let mut written = prefixed(&package.clone().into());
    if let Some(command) = command(package) {
        written["mcp:command"] = command.into();
    }
    written
}

fn add_links(server: &Server, thing: &mut ThingBuilder, findings: &mut Findings) {
    let is_web = |url: &str| {
        let is_of_web = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
        is_of_web && fluent_uri::Iri::parse(url).is_ok()
    };
    if let Some(url) = server.text("websiteUrl") {
        if is_web(url) {
            thing.link("service-doc", url, None);
        } else {
            let message = || "not an http or https URL; it gets no link".into();
            findings.add(&Path::ROOT.member("websiteUrl"), "url-broken", message);
        }
    }
    for icon in objects(server.members(), "icons") {
        let text = |name: &str| icon.get(name).and_then(Value::as_str);
        if let Some(url) = text("src").filter(|url| is_web(url)) {
            thing.link("icon", url, text("mimeType"));
        }
    }
}

/// Tools as actions; of a server that only runs where it is installed, as capabilities.
fn add_tools(server: &Server, thing: &mut ThingBuilder, findings: &mut Findings) {
    let (remotes, definitions) = remotes(server.members(), findings);
    let tools = tools(server.members(), findings);
    let name = server.text("name").unwrap_or_default();
    let own_name = name.rsplit('/').next().unwrap_or(name);
    if remotes.is_empty() {
        let own = Object::from_iter([("id".to_owned(), own_name.into())]);
        let entry = |tool: &tool::Tool<'_>| capability(&tool.capability_members(), "mcp");
        let mut entries: Vec<Value> = tools.iter().map(entry).collect();
        if entries.is_empty() {
            entries.push(capability(&own, "mcp"));
        }
        thing.set("lmos:capabilities", entries.into());
        return;
    }
    let mut schemas = tool::data_schemas();
    let mut named =
        |tool: &tool::Tool<'_>| (tool.name.to_owned(), Value::from(tool.action(&remotes, &mut schemas, findings)));
    let mut actions: Object = tools.iter().map(&mut named).collect();
    if actions.is_empty() {
        actions.insert(own_name.to_owned(), tool::any_tool(&remotes).into());
    }
    thing.set("actions", actions.into());
    if definitions.is_empty() {
        return;
    }
    let mut definitions = definitions;
    let security = match remotes.first().and_then(Remote::security) {
        Some(first) if remotes.iter().all(|remote| remote.security() == Some(first)) => first.clone(),
        _ => {
            definitions.insert("auto_sc".to_owned(), json!({"scheme": "auto"}));
            "auto_sc".into()
        }
    };
    thing.set("securityDefinitions", definitions.into());
    thing.set("security", security);
}
