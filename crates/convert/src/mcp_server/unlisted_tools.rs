//! Cards that list no tools, as Server Cards of SEP-2127 never do: where to ask for the tools, and where to note them.

use fluent_uri::Uri;
use serde_json::{Map, Value};

use super::{
    DocumentKind, Server,
    input::{objects, text},
    publisher_metadata::note,
    tool::tools,
};
use crate::shape::Findings;

/// Returns the URL of the server of a card that lists no tools. `url` is the URL that the card was fetched from.
///
/// Returns `None` for other documents, and if the server has another origin than the card: nobody's card makes others connect to
/// a third party.
pub fn endpoint_without_tools(document: &[u8], url: &str) -> Option<String> {
    let server =
        Server::parse_at(document, Some(url)).ok().filter(|server| server.kind() == DocumentKind::ServerCard)?;
    if !tools(server.members(), &mut Findings::default()).is_empty() {
        return None;
    }
    let endpoints = objects(server.members(), "remotes").filter_map(|remote| text(remote, "url"));
    let own = origin(url)?;
    endpoints.filter(|endpoint| origin(endpoint).as_ref() == Some(&own)).map(str::to_owned).next()
}

/// Returns a card with the tools in another description of its server, or `None` if that lists no tools.
pub fn with_tools(card: &[u8], description: &[u8]) -> Option<Vec<u8>> {
    let mut members: Map<String, Value> = serde_json::from_slice(card).ok()?;
    let mut description: Map<String, Value> = serde_json::from_slice(description).ok()?;
    let tools = description.remove("tools").filter(|tools| tools.as_array().is_some_and(|tools| !tools.is_empty()))?;
    note(&mut members, "tools", tools);
    serde_json::to_vec(&members).ok()
}

/// Scheme, host, and port of a URL without variables.
fn origin(url: &str) -> Option<(bool, String, u16)> {
    let parsed = Uri::parse(url).ok()?;
    let is_secure = match parsed.scheme().as_str() {
        scheme if scheme.eq_ignore_ascii_case("https") => true,
        scheme if scheme.eq_ignore_ascii_case("http") => false,
        _ => return None,
    };
    let authority = parsed.authority()?;
    let port = match authority.port().map_or("", |port| port.as_str()) {
        "" if is_secure => 443,
        "" => 80,
        port => port.parse().ok()?,
    };
    Some((is_secure, authority.host().to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp_server::Options;

    const CARD: &str = "https://a.example/mcp/server-card";

    fn card(url: &str) -> Value {
        json!({"$schema": DocumentKind::ServerCard.schema(), "name": "example.a/k", "version": "1.0.0", "description": "K",
            "remotes": [{"type": "streamable-http", "url": url}]})
    }

    fn endpoint(document: &Value) -> Option<String> {
        endpoint_without_tools(document.to_string().as_bytes(), CARD)
    }

    #[test]
    fn servers_of_the_origin_of_their_card_can_be_asked() {
        for url in ["https://a.example/mcp", "https://A.example:443/x?y"] {
            assert_eq!(endpoint(&card(url)).as_deref(), Some(url));
        }
        for url in [
            "https://b.example/mcp",
            "http://a.example/mcp",
            "https://a.example:8443/mcp",
            "https://a.example@b.example/mcp",
            "https://{host}/mcp",
            "https://a.example/{tenant}/mcp",
            "file:///etc/passwd",
        ] {
            assert_eq!(endpoint(&card(url)), None, "{url}");
        }
        let older =
            json!({"serverInfo": {"name": "k", "version": "1"}, "transport": {"type": "http", "endpoint": "/mcp"}});
        assert_eq!(endpoint(&older).as_deref(), Some("https://a.example/mcp"));
        let several = json!({"remotes": [{"type": "sse", "url": "https://b.example/"}, {"type": "sse", "url": "https://a.example/"}]});
        let mut of_several = card("");
        of_several["remotes"] = several["remotes"].clone();
        assert_eq!(endpoint(&of_several).as_deref(), Some("https://a.example/"));
    }

    #[test]
    fn other_documents_are_taken_as_they_are() {
        let mut listed = card("https://a.example/mcp");
        listed["tools"] = json!([{"name": "t"}]);
        let mut entry = card("https://a.example/mcp");
        entry["$schema"] = DocumentKind::ServerJson.schema().into();
        for document in [listed, entry, json!([]), json!({"name": "x"})] {
            assert_eq!(endpoint(&document), None, "{document}");
        }
    }

    #[test]
    fn tools_become_actions() {
        let card = card("https://a.example/mcp");
        let described =
            json!({"serverInfo": {"name": "other"}, "tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
        let with = with_tools(card.to_string().as_bytes(), described.to_string().as_bytes()).unwrap();
        assert_eq!(endpoint_without_tools(&with, CARD), None);
        let conversion = Server::parse(&with).unwrap().to_thing(&Options::default()).unwrap();
        assert_eq!(conversion.things[0].id, "urn:agentdex:mcp:example.a/k");
        let thing = conversion.things[0].description.clone().into_parts().0;
        assert_eq!(thing["actions"].as_object().unwrap().keys().collect::<Vec<_>>(), ["t"]);
        for nothing in [json!({}), json!({"tools": []}), json!([])] {
            assert_eq!(with_tools(card.to_string().as_bytes(), nothing.to_string().as_bytes()), None);
        }
    }
}
