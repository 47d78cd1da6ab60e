//! Fetching the card of an agent whose description contains only the URL of its card.
//!
//! An `A2AAgent` of Agent Spec is such an agent: its form contains the URL of the card as `a2a:agentCard`. The card is
//! fetched when the agent is called, and parsed like a registered card. It determines the interface to call, the
//! tenant, and the required credentials. If there is no card, the URL is treated as a JSON-RPC endpoint of version 0.3,
//! as before cards were supported.

use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::{
    super::{
        Affordance, Call, Description, Error, Form, Result,
        headers::{check_no_body, declared_headers},
        transport::{Outgoing, Transport, origin},
    },
    endpoint::Endpoint,
};
use crate::{
    convert::a2a::{Card, Options},
    fetch::shown,
};

/// The places of a card below a URL: of 0.3 and later (A2A 1.0, section 8.2), and of 0.2.
const WELL_KNOWN: [&str; 2] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/// Returns the URL of the agent's card, if the form names no interface itself.
pub(super) fn url(form: &Form) -> Option<&str> {
    form.text("a2a:agentCard")
}

/// Fetches the card at a URL. Returns its description and the form of the interface to call, or `None` if no
/// candidate location has a card.
pub(super) async fn fetch(call: &Call, url: &str) -> Result<Option<(Description, Form)>> {
    check_no_body(&call.authorization, "A2A")?;
    let transport = Transport::of(call).with_headers(declared_headers(call)?);
    let below = url.trim_end_matches('/');
    for (position, place) in places(url).into_iter().enumerate() {
        let request = Outgoing::new(Method::GET, &place).header("accept", "application/json");
        let bytes = match transport.send(&request).await {
            Ok(answer) => answer.bytes().await?,
            Err(Error::Status { status: 404 | 405 | 410, .. }) => continue,
            Err(error) => return Err(error),
        };
        // A server that answers every path has a page there.
        let Some(card) = serde_json::from_slice(&bytes).ok().filter(is_card) else { continue };
        let description = described(card, call.description.id(), &place)?;
        let forms = message_forms(&description);
        // That of the site may be of another of its agents.
        if position < WELL_KNOWN.len() || forms.iter().any(|form| is_at_or_below(form, below)) {
            let form = interface(forms, &place)?;
            return Ok(Some((description, form)));
        }
    }
    Ok(None)
}

/// Describes the agent of a card, as an import does. Missing skills and capabilities count as empty: a message needs neither.
fn described(mut card: Value, id: &str, place: &str) -> Result<Description> {
    for (name, nothing) in [("skills", json!([])), ("capabilities", json!({}))] {
        if card.get(name).is_none() {
            card[name] = nothing;
        }
    }
    let options = Options { id: Some(id.to_owned()), base: Some(place.to_owned()) };
    let conversion = Card::parse(card.to_string().as_bytes()).and_then(|card| card.to_thing(&options));
    let unreadable = |reason: String| Error::Protocol { url: shown(place), binding: "a2a", reason };
    let conversion = conversion.map_err(|error| unreadable(format!("the card can't be read: {error}")))?;
    let thing = conversion.things.first().ok_or_else(|| unreadable("the card doesn't describe an agent".into()))?;
    Description::parse(thing.description.text())
}

/// Returns candidate locations of the card, most likely first.
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

/// True if a form leads to a URL, or below it.
fn is_at_or_below(form: &Form, url: &str) -> bool {
    form.href.strip_prefix(url).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

fn is_card(card: &Value) -> bool {
    card.get("name").is_some_and(Value::is_string)
        && (card.get("supportedInterfaces").is_some_and(Value::is_array)
            || card.get("url").is_some_and(Value::is_string))
}

/// Returns the forms for sending a message to the agent, one for each interface. Since the skill addressed by a
/// message is unknown, requirements of individual skills are ignored.
fn message_forms(description: &Description) -> Vec<Form> {
    let Some(action) = description.actions().next() else { return Vec::new() };
    let mut forms = description.forms(&Affordance::Action(action.to_owned()));
    for form in &mut forms {
        let of_skill = form.members.remove("security");
        if of_skill.as_ref() != description.value().get("security") {
            form.members.remove("scopes");
        }
    }
    forms
}

/// Returns the first usable interface on the server of the card.
fn interface(forms: Vec<Form>, place: &str) -> Result<Form> {
    let mut elsewhere = None;
    let mut offered = Vec::new();
    for form in forms {
        if Endpoint::of(&form).is_none() {
            offered.push(form.text("a2a:binding").unwrap_or("plain HTTP").to_owned());
        } else if origin(&form.href) == origin(place) {
            return Ok(form);
        } else {
            elsewhere = elsewhere.or(Some(form.href));
        }
    }
    Err(match elsewhere {
        Some(target) => Error::Refused {
            url: shown(&target),
            reason: format!(
                "the card at {} contains this address, whose origin differs from that of the card; register the agent \
                 by the URL of its card",
                shown(place)
            ),
        },
        None => {
            let offered = if offered.is_empty() { "no interface".to_owned() } else { offered.join(", ") };
            Error::Unsupported { what: format!("any known A2A interface; its card offers {offered}") }
        }
    })
}

#[cfg(test)]
mod tests {
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
        let chosen = |card: Value| {
            let description = described(card, "urn:example:a", place).unwrap();
            interface(message_forms(&description), place)
        };
        let interface =
            |url: &str, binding: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": "1.0"});
        let both = card(json!([interface("https://a.example/g", "GRPC"), interface("/rpc", "JSONRPC")]));
        assert_eq!(chosen(both).unwrap().href, "https://a.example/rpc");
        let old = json!({"name": "A", "url": "https://a.example/rpc", "protocolVersion": "0.3.0"});
        assert!(!Endpoint::of(&chosen(old).unwrap()).unwrap().is_v1);
        let elsewhere = chosen(card(json!([interface("https://b.example/rpc", "JSONRPC")]))).err().unwrap();
        assert!(elsewhere.to_string().contains("whose origin differs"), "{elsewhere}");
        let grpc = chosen(card(json!([interface("https://a.example/g", "GRPC")]))).err().unwrap();
        assert!(grpc.to_string().contains("GRPC"), "{grpc}");
    }

    #[test]
    fn what_one_skill_requires_is_not_asked_for_a_message() {
        let card = json!({
            "name": "A", "url": "https://a.example/rpc", "protocolVersion": "0.3.0", "security": [{"k": []}],
            "securitySchemes": {"k": {"type": "http", "scheme": "bearer"}, "o": {"type": "mutualTLS"}},
            "skills": [{"id": "a", "name": "a", "description": "d", "tags": [], "security": [{"o": ["admin"]}]}],
        });
        let description = described(card, "urn:example:a", "https://a.example").unwrap();
        let forms = message_forms(&description);
        assert_eq!(description.security(&forms[0]), ["k"]);
        assert_eq!(forms[0].scopes().count(), 0);
    }
}
