//! Conversion of an AOS agent to a Thing Description.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::{
    AOS_NAMESPACE, Options,
    document::AgentDocument,
    terms::{prefixed, prefixed_name},
    tool::schema,
};
use crate::{
    Conversion, Error, Format, Result, Source,
    mcp_server::MCP_NAMESPACE,
    shape::Findings,
    td::{LmosKind, MAX_AFFORDANCES, internal::Path, normalize_id},
    thing_builder::{ThingBuilder, capability},
};

type Object = Map<String, Value>;

/// Members that have a place in a Thing Description.
const PLACED: [&str; 6] = ["id", "name", "description", "version", "provider", "tools"];
/// Members of a tool that an entry of `lmos:capabilities` has.
const TOOL_PLACED: [&str; 3] = ["id", "name", "description"];
/// Characters that are percent-encoded in the ids of MCP servers: all but ASCII letters, digits, `-`, `.`, `_`, `~` and
/// `/`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

impl AgentDocument {
    /// Converts the agent to a Thing, which keeps the document as its source.
    ///
    /// # Errors
    /// The errors of [`normalize_id`]; [`Error::LimitExceeded`] for more than 1,000 tools, or if the description
    /// exceeds the size limit.
    pub fn to_thing(&self, options: &Options) -> Result<Conversion> {
        let own_id = self.text("id");
        let id = normalize_id(options.id.as_deref().unwrap_or(own_id))?.into_owned();
        let name = self.text("name");
        let mut findings = Findings::default();
        let mut thing = ThingBuilder::new(LmosKind::Agent, id.clone(), if name.is_empty() { own_id } else { name });
        thing.type_("aos:Agent");
        thing.prefix("aos", AOS_NAMESPACE);
        if id != own_id {
            thing.set("aos:id", own_id.into());
        }
        if let Some(description @ Value::String(_)) = self.members().get("description") {
            thing.set("description", description.clone());
        }
        thing.set("version", json!({"instance": self.text("version")}));
        thing.set("lmos:metadata", json!({"lmos:vendor": self.vendor(&mut findings)}));
        thing.set_list("lmos:capabilities", self.tools(&mut findings)?);
        for (name, value) in self.members().iter().filter(|(name, _)| !PLACED.contains(&name.as_str())) {
            match name.as_str() {
                "instructions" if !self.shows_prompts() => {}
                "resources" => thing.set("aos:resources", prefixed(name, &self.resources())),
                _ => thing.set(&prefixed_name(name), prefixed(name, value)),
            }
        }
        self.add_links(&mut thing);
        let source =
            Source { format: Format::Aos, media_type: "application/json".into(), bytes: self.bytes().to_vec() };
        let things = vec![thing.finish(source)?];
        let warnings = self.warnings().iter().cloned().chain(findings.into_list()).collect();
        Ok(Conversion { things, warnings, ..Conversion::default() })
    }

    fn vendor(&self, findings: &mut Findings) -> Object {
        let mut vendor = Object::new();
        for (name, value) in self.members().get("provider").and_then(Value::as_object).into_iter().flatten() {
            match (name.as_str(), value) {
                ("name", value) => vendor.insert("lmos:name".into(), value.clone()),
                ("url", Value::String(url)) if is_address(url) => vendor.insert("lmos:url".into(), value.clone()),
                ("url", _) => {
                    let provider = Path::ROOT.member("provider");
                    let message =
                        || "this value is not the URL of a website; it is exported, but not shown as a link".into();
                    findings.add(&provider.member("url"), "url-broken", message);
                    vendor.insert("aos:url".into(), value.clone())
                }
                _ => vendor.insert(prefixed_name(name), prefixed(name, value)),
            };
        }
        vendor
    }

    fn tools(&self, findings: &mut Findings) -> Result<Vec<Value>> {
        let tools = self.members().get("tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if tools.len() > MAX_AFFORDANCES {
            return Err(Error::LimitExceeded { what: "number of tools", maximum: MAX_AFFORDANCES as u64 });
        }
        let mut ids = std::collections::HashSet::new();
        let list = Path::ROOT.member("tools");
        for (index, tool) in tools.iter().enumerate() {
            let id = tool.get("id").and_then(Value::as_str).unwrap_or_default();
            if !ids.insert(id) {
                let message = || format!("another tool has the id {id:?}; calls can't distinguish the tools");
                findings.add(&list.index(index).member("id"), "duplicate-id", message);
            }
        }
        Ok(tools.iter().filter_map(Value::as_object).map(tool_entry).collect())
    }

    /// The resources, without what they say unless that is shown.
    fn resources(&self) -> Value {
        let mut resources = self.members().get("resources").cloned().unwrap_or_default();
        if !self.shows_prompts() {
            for resource in resources.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                resource.remove("content");
            }
        }
        resources
    }

    /// Links to MCP servers, by the ids that they have here, and to resources that have an address.
    fn add_links(&self, thing: &mut ThingBuilder) {
        let objects = |name: &str| {
            let list = self.members().get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            list.iter().filter_map(Value::as_object)
        };
        for server in objects("mcpServers") {
            let name = server.get("name").and_then(Value::as_str).unwrap_or_default();
            let id = format!("{MCP_NAMESPACE}{}", utf8_percent_encode(name, RESERVED));
            thing.link("related", &id, Some("application/td+json"));
        }
        for resource in objects("resources") {
            let text = |name: &str| resource.get(name).and_then(Value::as_str);
            if let Some(id) = text("id").filter(|id| is_address(id)) {
                thing.link("item", id, text("mimeType").filter(|media_type| media_type.contains('/')));
            }
        }
    }
}

/// A tool as an entry of `lmos:capabilities`, with data schemas, by which it is found.
fn tool_entry(tool: &Object) -> Value {
    let placed =
        TOOL_PLACED.into_iter().filter_map(|name| tool.get_key_value(name)).filter(|(_, value)| !value.is_null());
    let mut entry = capability(placed, "aos");
    for (name, value) in tool.iter().filter(|(name, _)| !TOOL_PLACED.contains(&name.as_str())) {
        entry[prefixed_name(name)] = prefixed(name, value);
    }
    for (from, to, is_input) in [("arguments", "lmos:input", true), ("outputs", "lmos:output", false)] {
        if let Some(schema) = tool.get(from).and_then(|list| schema(list, is_input)) {
            entry[to] = schema;
        }
    }
    entry
}

/// True if a text is the address of a site, or a mail address.
fn is_address(text: &str) -> bool {
    ["http://", "https://", "mailto:"].iter().any(|scheme| text.starts_with(scheme))
        && fluent_uri::Iri::parse(text).is_ok()
}
