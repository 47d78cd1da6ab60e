//! The interface of an agent of which only the URL is known where its card is found.
//!
//! Agent Spec says no more of an `A2AAgent`: its form has that URL as `a2a:agentCard`. The card is fetched when the agent is
//! called. Without a card, the URL is that of JSON-RPC of version 0.3, as it was before cards had a place.

use reqwest::{Method, Url};
use serde_json::Value;

use super::{
    super::{
        Error, Form, Result,
        transport::{Outgoing, Transport, origin},
    },
    endpoint::Endpoint,
};
use crate::fetch::shown;

/// The places of a card below a URL: of 0.3 and later (A2A 1.0, section 8.2), and of 0.2.
const WELL_KNOWN: [&str; 2] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/// What a card says about calling its agent.
pub(super) struct Found {
    pub(super) endpoint: Endpoint,
    pub(super) streams: bool,
}

/// The URL where the card of a form's agent is found, if the form names no interface of its own.
pub(super) fn url(form: &Form) -> Option<&str> {
    form.text("a2a:agentCard")
}

/// Fetches the card that is found at a URL. None if there is no card at any of its places.
pub(super) async fn fetch(transport: &Transport, url: &str) -> Result<Option<Found>> {
    let below = url.trim_end_matches('/');
    for (position, place) in places(url).into_iter().enumerate() {
        let request = Outgoing::new(Method::GET, &place).header("accept", "application/json");
        let bytes = match transport.send(&request).await {
            Ok(answer) => answer.bytes().await?,
            Err(Error::Status { status: 404 | 405 | 410, .. }) => continue,
            Err(error) => return Err(error),
        };
        // A server that answers every path has a page there.
        let card = serde_json::from_slice(&bytes).ok().filter(is_card);
        // That of the site may be of another of its agents.
        let is_own = |card: &Value| position < WELL_KNOWN.len() || is_at_or_below(card, below);
        if let Some(card) = card.filter(is_own) {
            return found(&card, &place).map(Some);
        }
    }
    Ok(None)
}

/// The places where the card may be, the likeliest first.
fn places(url: &str) -> Vec<String> {
    let Ok(parsed) = Url::parse(url) else { return Vec::new() };
    if parsed.path().ends_with(".json") {
        return vec![url.to_owned()];
    }
    let origin = parsed.origin().ascii_serialization();
    let below = format!("{origin}{}", parsed.path().trim_end_matches('/'));
    let mut places: Vec<String> = WELL_KNOWN.iter().map(|place| format!("{below}{place}")).collect();
    if below != origin {
        places.extend(WELL_KNOWN.iter().map(|place| format!("{origin}{place}")));
    }
    places
}

/// True if an interface of a card is at a URL, or below it.
fn is_at_or_below(card: &Value, url: &str) -> bool {
    let rest = |interface: Interface<'_>| interface.url.strip_prefix(url).map(str::to_owned);
    interfaces(card).into_iter().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

fn is_card(card: &Value) -> bool {
    card.get("name").is_some_and(Value::is_string)
        && (card.get("supportedInterfaces").is_some_and(Value::is_array)
            || card.get("url").is_some_and(Value::is_string))
}

/// The first interface that can be called, on the server that the card comes from.
fn found(card: &Value, place: &str) -> Result<Found> {
    let mut elsewhere = None;
    let mut offered = Vec::new();
    for interface in interfaces(card) {
        let target = Url::parse(place).and_then(|base| base.join(interface.url)).map(String::from);
        let target = target.unwrap_or_else(|_| interface.url.to_owned());
        let Some(endpoint) = Endpoint::at(&target, interface.binding, interface.version, interface.tenant) else {
            offered.push(interface.binding);
            continue;
        };
        if origin(&target) == origin(place) {
            let streams = card["capabilities"]["streaming"] == Value::Bool(true);
            return Ok(Found { endpoint, streams });
        }
        elsewhere = elsewhere.or(Some(target));
    }
    Err(match elsewhere {
        Some(target) => Error::Refused {
            url: shown(&target),
            reason: format!(
                "the card at {} names this address, which is another origin: register the agent by its card",
                shown(place)
            ),
        },
        None => {
            Error::Unsupported { what: format!("an agent whose card offers no interface but {}", offered.join(", ")) }
        }
    })
}

struct Interface<'c> {
    url: &'c str,
    binding: &'c str,
    version: &'c str,
    tenant: Option<&'c str>,
}

/// The interfaces of a card, in the order of preference: `supportedInterfaces` of 1.0, else those of 0.3.
fn interfaces(card: &Value) -> Vec<Interface<'_>> {
    let listed = |name: &str| card.get(name).and_then(Value::as_array).into_iter().flatten();
    let supported: Vec<Interface<'_>> = listed("supportedInterfaces")
        .filter_map(|interface| {
            Some(Interface {
                url: interface.get("url")?.as_str()?,
                binding: interface.get("protocolBinding")?.as_str()?,
                version: interface.get("protocolVersion").and_then(Value::as_str).unwrap_or("1.0"),
                tenant: interface.get("tenant").and_then(Value::as_str).filter(|tenant| !tenant.is_empty()),
            })
        })
        .collect();
    if !supported.is_empty() {
        return supported;
    }
    let version = card.get("protocolVersion").and_then(Value::as_str).unwrap_or("0.3.0");
    let main = card.get("url").and_then(Value::as_str).map(|url| {
        let binding = card.get("preferredTransport").and_then(Value::as_str).unwrap_or("JSONRPC");
        Interface { url, binding, version, tenant: None }
    });
    let additional = listed("additionalInterfaces").filter_map(|interface| {
        let (url, binding) = (interface.get("url")?.as_str()?, interface.get("transport")?.as_str()?);
        Some(Interface { url, binding, version, tenant: None })
    });
    main.into_iter().chain(additional).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn card_is_looked_for_below_the_url_and_at_its_origin() {
        let below = "https://a.example/agents/x/.well-known/agent-card.json";
        assert_eq!(places("https://a.example/agents/x/")[0], below);
        assert_eq!(places("https://a.example/agents/x")[2], "https://a.example/.well-known/agent-card.json");
        assert_eq!(places("https://a.example").len(), 2);
        assert_eq!(places("https://a.example/cards/x.json"), ["https://a.example/cards/x.json"]);
    }

    #[test]
    fn interface_that_can_be_called_is_chosen() {
        let place = "https://a.example/.well-known/agent-card.json";
        let card = |interfaces: Value| json!({"name": "A", "supportedInterfaces": interfaces});
        let interface =
            |url: &str, binding: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": "1.0"});
        let chosen =
            found(&card(json!([interface("https://a.example/g", "GRPC"), interface("/rpc", "JSONRPC")])), place);
        assert!(chosen.unwrap().endpoint.is_rpc);
        let old = json!({"name": "A", "url": "https://a.example/rpc", "protocolVersion": "0.3.0",
            "capabilities": {"streaming": true}});
        let old = found(&old, place).unwrap();
        assert!(old.streams && !old.endpoint.is_v1);
        let elsewhere = found(&card(json!([interface("https://b.example/rpc", "JSONRPC")])), place).err().unwrap();
        assert!(elsewhere.to_string().contains("another origin"), "{elsewhere}");
        let grpc = found(&card(json!([interface("https://a.example/g", "GRPC")])), place).err().unwrap();
        assert!(grpc.to_string().contains("GRPC"), "{grpc}");
    }
}
