//! Conversion of a description of an MCP server to a Thing Description.

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
    agent_spec::{AGENT_SPEC_NAMESPACE, REQUIRES_CONFIRMATION},
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

/// Returns the id of the Thing of a server with this name, unless the import of the server names another id.
pub fn id_of(name: &str) -> String {
    format!("{MCP_NAMESPACE}{}", utf8_percent_encode(name, RESERVED))
}

impl Server {
    /// Converts the description to a Thing, which keeps the document as its source.
    ///
    /// # Errors
    /// The errors of [`normalize_id`]; [`Error::DocumentTooLarge`](crate::Error::DocumentTooLarge) and
    /// [`Error::LimitExceeded`](crate::Error::LimitExceeded) if the resulting description exceeds a limit.
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
            let message = || "this value is not an http or https URL; no link is created for it".into();
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
    if actions.values().any(|action| action.get(REQUIRES_CONFIRMATION).is_some()) {
        thing.prefix("agentspec", AGENT_SPEC_NAMESPACE);
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

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://a.example/mcp";

    fn thing(document: &Value) -> Value {
        let server =
            Server::parse(document.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}\n{document}"));
        let kept = String::from_utf8_lossy(server.bytes()).into_owned();
        assert!(!kept.contains("abc123"), "{kept}");
        // Read again, nothing is hidden that is hidden already.
        let again = Server::parse(kept.as_bytes()).expect("the same document");
        assert!(!again.warnings().iter().any(|warning| warning.rule.starts_with("secret")), "{:?}", again.warnings());
        let mut conversion = again.to_thing(&Options::default()).expect("a Thing");
        let thing = conversion.things.remove(0).description.into_parts().0;
        let mut first = server.to_thing(&Options::default()).expect("a Thing");
        assert_eq!(first.things.remove(0).description.into_parts().0, thing, "{document}");
        assert!(!thing.to_string().contains("abc123"), "{thing}");
        thing
    }

    fn form(thing: &Value) -> &Value {
        let actions = thing["actions"].as_object().unwrap_or_else(|| panic!("no actions: {thing}"));
        &actions.values().next().expect("an action")["forms"][0]
    }

    /// A document for each shape that a server with these members may have.
    fn shapes(server: &Value) -> Vec<Value> {
        let with = |further: Value| {
            let mut server = server.clone();
            server.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
            server
        };
        let tools = json!([{"name": "t"}]);
        vec![
            json!({"mcpServers": {"k": server}}),
            json!({"servers": {"k": server}}),
            json!({"mcpServers": [with(json!({"name": "k"}))]}),
            json!({"servers": [with(json!({"name": "k"}))]}),
            with(json!({"name": "k", "tools": tools})),
            with(json!({"serverInfo": {"name": "k"}, "tools": tools})),
            with(json!({"server": {"name": "k"}, "tools": tools})),
            json!({"server": with(json!({"name": "k"})), "tools": tools}),
        ]
    }

    #[test]
    fn transport_is_read_in_every_shape() {
        for member in ["type", "transport", "transportType", "transport_type"] {
            for document in shapes(&json!({"url": URL, member: "sse"})) {
                let thing = thing(&document);
                let form = form(&thing);
                assert_eq!((&form["href"], &form["mcp:transport"]), (&json!(URL), &json!("sse")), "{document}");
            }
        }
        for (document, transport) in [
            (json!({"name": "k", "transport": "sse", "endpoints": {"mcp": URL}}), "sse"),
            (json!({"name": "k", "transport": "sse", "endpoints": {"mcp": {"url": URL}}}), "sse"),
            (json!({"name": "k", "transport": {"type": "sse"}, "endpoints": {"jsonrpc": URL}}), "sse"),
            (json!({"name": "k", "transport": "sse", "endpoints": [{"url": URL, "protocol": "mcp"}]}), "sse"),
            (json!({"name": "k", "supportedTransports": ["sse"], "url": URL}), "sse"),
            (json!({"name": "k", "transport": "sse", "endpoints": {"streamable_http": URL}}), "streamable-http"),
            (json!({"name": "k", "endpoints": {"mcp": URL}}), "streamable-http"),
            (json!({"name": "k", "type": "mcp-server", "protocol": "mcp", "url": URL}), "streamable-http"),
            (json!({"name": "k", "type": "sse", "protocol": "mcp", "url": URL}), "sse"),
        ] {
            let mut document = document;
            document["tools"] = json!([{"name": "t"}]);
            assert_eq!(form(&thing(&document))["mcp:transport"], transport, "{document}");
        }
    }

    #[test]
    fn headers_are_read_in_every_shape() {
        let given = json!({"Authorization": "Bearer abc123secret", "X-Region": "eu"});
        let listed = json!([{"name": "Authorization", "value": "Bearer abc123secret", "isSecret": true, "isRequired": true}, {"name": "X-Region", "value": "eu"}]);
        for headers in [
            json!({"headers": given}),
            json!({"httpHeaders": given}),
            json!({"requestInit": {"headers": given}}),
            json!({"requestOptions": {"headers": given}}),
            json!({"headers": listed}),
            json!({"headers": {"X-Region": "eu"}, "bearerToken": "abc123secret"}),
        ] {
            let mut server = headers;
            server["url"] = URL.into();
            for document in shapes(&server) {
                let thing = thing(&document);
                let sent = json!([{"htv:fieldName": "X-Region", "htv:fieldValue": "eu"}]);
                assert_eq!(form(&thing)["htv:headers"], sent, "{document}");
                assert_eq!(thing["security"], json!(["Authorization"]), "{document}");
                assert_eq!(thing["securityDefinitions"]["Authorization"]["scheme"], "bearer", "{document}");
            }
        }
    }

    #[test]
    fn schemes_of_literal_credentials_are_kept() {
        for (name, value, scheme, template) in [
            ("Authorization", "Bearer abc123secret", "bearer", Value::Null),
            ("authorization", "bearer abc123secret", "bearer", Value::Null),
            ("Authorization", "Bearer sk-proj-abc123abc123abc123abc123abc123abc123", "bearer", Value::Null),
            ("Authorization", "Basic dXNlcjphYmMxMjNzZWNyZXQ=", "basic", Value::Null),
            ("Authorization", "Token abc123secret", "apikey", json!("Token {token}")),
            ("Authorization", "abc123secret", "apikey", Value::Null),
            ("X-Api-Key", "Bearer abc123secret", "apikey", json!("Bearer {token}")),
            ("X-Api-Key", "abc123secret", "apikey", Value::Null),
        ] {
            let thing = thing(&json!({"mcpServers": {"k": {"url": URL, "headers": {name: value}}}}));
            let definition = &thing["securityDefinitions"][name];
            assert_eq!(
                (&definition["scheme"], &definition["mcp:value"]),
                (&json!(scheme), &template),
                "{name}: {value}"
            );
            assert!(!thing.to_string().contains("dXNlcj"), "{thing}");
            let listed = json!([{"name": name, "value": value}]);
            for document in [
                json!({"mcpServers": {"k": {"url": URL, "headers": listed}}}),
                json!({"name": "k", "remotes": [{"type": "sse", "url": URL, "headers": listed}]}),
            ] {
                let thing = self::thing(&document);
                let definition = &thing["securityDefinitions"][name];
                assert_eq!(definition["scheme"], scheme, "{document}");
                assert_eq!(thing["security"], json!([name]), "{document}");
                let expected = if value.contains(' ') { template.clone() } else { json!("[redacted]") };
                assert_eq!(definition.get("mcp:value").unwrap_or(&Value::Null), &expected, "{document}");
            }
            assert_eq!(form(&thing).get("htv:headers"), None, "{name}: {value}");
        }
    }

    #[test]
    fn access_is_read_in_every_shape() {
        for access in [
            json!({"authorization": {"type": "bearer"}}),
            json!({"auth": {"type": "bearer"}}),
            json!({"authentication": {"type": "bearer"}}),
            json!({"oauth": {"clientId": "x"}}),
        ] {
            let mut server = access;
            server["url"] = URL.into();
            for document in shapes(&server) {
                assert_eq!(thing(&document)["securityDefinitions"]["Authorization"]["scheme"], "bearer", "{document}");
            }
            let mut endpoint = server.clone();
            endpoint["type"] = "http".into();
            let document = json!({"name": "k", "transports": [endpoint], "tools": [{"name": "t"}]});
            assert_eq!(thing(&document)["securityDefinitions"]["Authorization"]["scheme"], "bearer", "{document}");
        }
    }

    #[test]
    fn programs_in_a_list_are_run() {
        let server = json!({"name": "k", "command": "npx", "args": ["-y", "@a/b"], "env": {"API_KEY": "abc123secret"}});
        for document in [json!({"mcpServers": [server]}), json!({"servers": [server]})] {
            let thing = thing(&document);
            assert_eq!(thing["mcp:packages"][0]["mcp:command"], json!(["npx", "-y", "@a/b"]), "{document}");
            assert_eq!(thing["mcp:packages"][0]["mcp:environmentVariables"][0]["mcp:name"], "API_KEY", "{document}");
        }
        let several = json!({"mcpServers": [server, {"name": "l", "url": URL}]});
        let refused = Server::parse(several.to_string().as_bytes()).expect_err("several").to_string();
        assert!(refused.contains(".mcpServers[] | {mcpServers: [.]}"), "{refused}");
    }

    #[test]
    fn server_beside_what_describes_it_is_a_card() {
        let tools = json!([{"name": "t", "inputSchema": {"type": "object"}}]);
        for (name, further) in [
            ("server", json!({"endpoint": URL})),
            ("server", json!({"endpoints": {"mcp": URL}})),
            ("mcpServer", json!({"url": URL})),
        ] {
            let mut document = json!({name: {"name": "k", "version": "1"}, "tools": tools});
            document.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
            let thing = thing(&document);
            assert_eq!((&form(&thing)["href"], &form(&thing)["mcp:tool"]), (&json!(URL), &json!("t")), "{document}");
            assert_eq!(thing["version"]["instance"], "1");
        }
        let server = json!({"name": "com.example/k", "description": "d", "version": "1.0.0", "remotes": [{"type": "sse", "url": URL}]});
        let answer =
            json!({"server": server, "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deprecated"}}});
        let server = Server::parse(answer.to_string().as_bytes()).expect("an answer");
        assert!(server.has_kind(super::super::DocumentKind::ServerJson), "the server in the answer");
    }
}
