//! What the SDKs of the protocol's own project write and read. Where one is missing, its tests say so
//! and end.

use agentdex::convert::a2a::{Card, Generation, Options, from_thing};
use serde_json::{Value, json};

use super::{fixtures, json, thing, thing_with};
use crate::support::{TestRegistry, run_javascript, run_python};

/// Writes cards of both generations, one a line.
const PYTHON_CARDS: &str = r#"
import json
from google.protobuf.json_format import MessageToDict, ParseDict
from a2a.types import a2a_pb2 as new
from a2a.compat.v0_3 import types as old
from a2a.server.request_handlers.response_helpers import agent_card_to_dict

def emit(card): print(json.dumps(card))

skill = new.AgentSkill(id="s", name="Skill", description="Does it", tags=["t"], examples=["do"], input_modes=["text/plain"])
skill.security_requirements.add().schemes["key"].list.append("x")
card = new.AgentCard(name="Ünicode", description="d", version="1.0.0", default_input_modes=["text/plain"],
    default_output_modes=["text/plain"], skills=[skill], documentation_url="https://a.example/doc",
    provider=new.AgentProvider(organization="o", url="https://o.example"))
card.capabilities.streaming = True
card.capabilities.extended_agent_card = False
extension = card.capabilities.extensions.add(uri="urn:x", required=True)
ParseDict({"a": [1, None, {"b": 2.5}]}, extension.params)
card.supported_interfaces.add(url="https://a.example/rpc", protocol_binding="JSONRPC", protocol_version="1.0", tenant="t")
card.supported_interfaces.add(url="https://a.example/old", protocol_binding="JSONRPC", protocol_version="0.3")
card.supported_interfaces.add(url="a.example:50051", protocol_binding="GRPC", protocol_version="1.0")
card.security_schemes["key"].api_key_security_scheme.CopyFrom(new.APIKeySecurityScheme(location="header", name="K"))
card.security_schemes["http"].http_auth_security_scheme.CopyFrom(new.HTTPAuthSecurityScheme(scheme="Bearer", bearer_format="JWT"))
flows = card.security_schemes["oauth"].oauth2_security_scheme.flows
flows.authorization_code.CopyFrom(new.AuthorizationCodeOAuthFlow(authorization_url="https://l.example/a", token_url="https://l.example/t", scopes={"r": "read"}, pkce_required=True))
card.security_schemes["device"].oauth2_security_scheme.flows.device_code.CopyFrom(new.DeviceCodeOAuthFlow(device_authorization_url="https://l.example/d", token_url="https://l.example/t", scopes={}))
card.security_schemes["login"].open_id_connect_security_scheme.open_id_connect_url = "https://l.example/oidc"
card.security_schemes["tls"].mtls_security_scheme.SetInParent()
both = card.security_requirements.add()
both.schemes["key"].SetInParent()
both.schemes["tls"].SetInParent()
card.security_requirements.add().schemes["oauth"].list.append("r")
emit(MessageToDict(card))
emit(MessageToDict(card, preserving_proto_field_name=True))
emit(agent_card_to_dict(card))
emit(MessageToDict(new.AgentCard(name="bare", supported_interfaces=[new.AgentInterface(url="https://b.example")])))

legacy = old.AgentCard(name="Legacy", description="d", version="1", url="https://c.example/a2a",
    preferred_transport="GRPC", protocol_version="0.3.0", default_input_modes=["text"], default_output_modes=["text"],
    additional_interfaces=[old.AgentInterface(url="https://c.example/a2a", transport="GRPC"), old.AgentInterface(url="https://c.example/rest", transport="HTTP+JSON")],
    capabilities=old.AgentCapabilities(streaming=True, push_notifications=False, extensions=[old.AgentExtension(uri="urn:x", params={"a": 1})]),
    supports_authenticated_extended_card=True, security=[{"oauth": ["r"]}, {"key": [], "tls": []}],
    security_schemes={
        "key": old.SecurityScheme(root=old.APIKeySecurityScheme(in_=old.In.cookie, name="K")),
        "tls": old.SecurityScheme(root=old.MutualTLSSecurityScheme(description="m")),
        "login": old.SecurityScheme(root=old.OpenIdConnectSecurityScheme(open_id_connect_url="https://l.example/oidc")),
        "http": old.SecurityScheme(root=old.HTTPAuthSecurityScheme(scheme="basic")),
        "oauth": old.SecurityScheme(root=old.OAuth2SecurityScheme(flows=old.OAuthFlows(
            client_credentials=old.ClientCredentialsOAuthFlow(token_url="https://l.example/t", scopes={"r": "read"}),
            implicit=old.ImplicitOAuthFlow(authorization_url="https://l.example/a", scopes={}))))},
    skills=[old.AgentSkill(id="s", name="Skill", description="Does it", tags=["t"], security=[{"key": []}])],
    signatures=[old.AgentCardSignature(protected="e30", signature="AA", header={"x": 1})])
emit(legacy.model_dump(by_alias=True, exclude_none=True, mode="json"))
emit(legacy.model_dump(by_alias=False, mode="json"))
"#;

/// Reads cards, one a line, as a strict reader of its generation does, and writes them as the SDK has them.
const PYTHON_READER: &str = r#"
import json, sys
from google.protobuf.json_format import MessageToDict, ParseDict
from a2a.types import a2a_pb2 as new
from a2a.compat.v0_3 import types as old
for line in sys.stdin:
    card = json.loads(line)
    try:
        if "supportedInterfaces" in card:
            print(json.dumps(MessageToDict(ParseDict(card, new.AgentCard(), ignore_unknown_fields=True))))
        else:
            print(json.dumps(old.AgentCard.model_validate(card).model_dump(by_alias=True, exclude_none=True, mode="json")))
    except Exception as error:
        print(json.dumps({"error": str(error)}))
"#;

const JS_CARDS: &str = r#"
import { AgentCard } from '@a2a-js/sdk';
const emit = (card) => console.log(JSON.stringify(AgentCard.toJSON(AgentCard.fromJSON(card))));
emit({ name: 'bare' , supportedInterfaces: [{ url: 'https://j.example' }] });
emit({
  name: 'Full', description: 'd', version: '1', documentationUrl: 'https://j.example/doc',
  supportedInterfaces: [
    { url: 'https://j.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 't' },
    { url: 'https://j.example/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
  ],
  capabilities: { streaming: true, pushNotifications: false, extensions: [{ uri: 'urn:x', params: { a: [1] } }] },
  defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: 'query', name: 'k' } },
    oauth: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: 'https://l.example/t', scopes: { r: 'read' } } } } },
    tls: { mtlsSecurityScheme: {} },
  },
  securityRequirements: [{ schemes: { key: { list: [] }, tls: { list: [] } } }, { schemes: { oauth: { list: ['r'] } } }],
  skills: [{ id: 's', name: 'Skill', description: 'Does it', tags: ['t'], inputModes: ['text/plain'] }],
});
"#;

const JS_READER: &str = r#"
import { AgentCard } from '@a2a-js/sdk';
import { createInterface } from 'node:readline';
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(AgentCard.toJSON(AgentCard.fromJSON(JSON.parse(line)))));
}
"#;

fn python(program: &str, lines: &[String]) -> Option<Vec<Value>> {
    run_python(program, &lines.join("\n")).as_deref().map(values)
}

fn javascript(program: &str, lines: &[String]) -> Option<Vec<Value>> {
    run_javascript(program, &lines.join("\n")).as_deref().map(values)
}

fn values(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| json(line.as_bytes())).collect()
}

/// Reads a card, takes it to a Thing and back, and to the other generation and back.
fn goes_through(value: &Value) {
    let text = value.to_string();
    let card = Card::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (thing, _) = thing_with(&card, &Options::default());
    assert_eq!(thing["actions"].as_object().map(serde_json::Map::len), Some(1), "{text}");
    assert_eq!(card.as_version(card.generation()).bytes, text.as_bytes());
    for generation in [Generation::V0, Generation::V1] {
        let converted = Card::parse(&card.as_version(generation).bytes).unwrap();
        assert_eq!(converted.generation(), generation);
        from_thing(&thing, generation).unwrap();
    }
}

#[test]
fn cards_written_in_python_go_through() {
    let Some(cards) = python(PYTHON_CARDS, &[]) else {
        return;
    };
    assert_eq!(cards.len(), 6);
    cards.iter().for_each(goes_through);
    let things: Vec<Value> = cards.iter().map(|one| thing(&super::card(one))).collect();
    // The spelling of members doesn't matter.
    for member in ["id", "lmos:capabilities", "securityDefinitions", "actions", "a2a:capabilities"] {
        assert_eq!(things[0][member], things[1][member], "{member}");
        assert_eq!(things[4][member], things[5][member], "{member}");
    }
    assert_eq!(things[0]["id"], things[2]["id"]);
    assert_eq!(things[0]["securityDefinitions"], things[2]["securityDefinitions"]);
}

#[test]
fn cards_written_in_javascript_go_through() {
    let Some(cards) = javascript(JS_CARDS, &[]) else {
        return;
    };
    assert_eq!(cards.len(), 2);
    cards.iter().for_each(goes_through);
}

/// Cards of ours in both generations, and of Things that never were cards.
fn exported() -> Vec<Value> {
    let mut cards = Vec::new();
    // The card for both says all twice, which no reader keeps.
    for (_, bytes) in fixtures().into_iter().filter(|(name, _)| name != "for_both") {
        let card = Card::parse(&bytes).unwrap();
        for generation in [Generation::V0, Generation::V1] {
            cards.push(json(&card.as_version(generation).bytes));
            cards.push(json(&from_thing(&thing(&card), generation).unwrap().bytes));
        }
    }
    let honest = json!({
        "title": "Weather", "securityDefinitions": {"k": {"scheme": "apikey", "name": "k"}}, "security": ["k"],
        "actions": {"forecast": {"forms": [{"href": "https://weather.example/f"}]}},
    });
    cards.push(json(&from_thing(&honest, Generation::V1).unwrap().bytes));
    cards
}

#[test]
fn exported_cards_are_read_in_python() {
    let cards = exported();
    let lines: Vec<String> = cards.iter().map(Value::to_string).collect();
    let Some(read) = python(PYTHON_READER, &lines) else {
        return;
    };
    assert_eq!(read.len(), cards.len());
    for (card, read) in cards.iter().zip(&read) {
        assert_eq!(read.get("error"), None, "{card}");
        same(card, read, &["name", "version", "url", "supportedInterfaces", "securitySchemes", "security"]);
    }
}

#[test]
fn cards_that_were_edited_by_hand_are_read_in_python() {
    let registry = TestRegistry::start();
    let mut lines = Vec::new();
    for (number, (name, bytes)) in fixtures().into_iter().enumerate() {
        let import = registry.call("POST", &format!("/import/a2a?id=urn:card:{number}"));
        import.body("application/json", bytes).send().expect(201);
        let path = format!("/things/urn:card:{number}");
        let edit = json!({"title": format!("Edited {number}"), "description": "Edited by hand"});
        registry.patch(&path, edit.to_string()).expect(204);
        let card = registry.get(&format!("{path}/agent-card")).expect(200).json();
        assert_eq!((&card["name"], &card["description"]), (&edit["title"], &edit["description"]), "{name}");
        lines.push(card.to_string());
    }
    let Some(read) = python(PYTHON_READER, &lines) else { return };
    assert_eq!(read.len(), lines.len());
    for (card, read) in lines.iter().zip(&read) {
        assert_eq!((read.get("error"), &read["description"]), (None, &json!("Edited by hand")), "{card}");
    }
}

#[test]
fn exported_cards_are_read_in_javascript() {
    let cards: Vec<Value> = exported().into_iter().filter(|card| card.get("supportedInterfaces").is_some()).collect();
    let lines: Vec<String> = cards.iter().map(Value::to_string).collect();
    let Some(read) = javascript(JS_READER, &lines) else {
        return;
    };
    assert_eq!(read.len(), cards.len());
    for (card, read) in cards.iter().zip(&read) {
        same(card, read, &["name", "version", "supportedInterfaces"]);
        let names =
            |card: &Value| card["securitySchemes"].as_object().map(|all| all.keys().cloned().collect::<Vec<_>>());
        assert_eq!(names(card).filter(|names| !names.is_empty()), names(read).filter(|names| !names.is_empty()));
    }
}

/// Whether the SDK has these members as the card does; what is empty may be left out.
fn same(card: &Value, read: &Value, members: &[&str]) {
    for member in members {
        assert_eq!(without_empty(&card[*member]), without_empty(&read[*member]), "{member} of {card}");
    }
}

fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            // Readers of 0.3 pass these over.
            let known = members.iter().filter(|(name, _)| !["deviceCode", "pkceRequired"].contains(&name.as_str()));
            let kept = known.map(|(name, value)| (name.clone(), without_empty(value)));
            let kept: serde_json::Map<_, _> = kept.filter(|(_, value)| !value.is_null()).collect();
            if kept.is_empty() { Value::Null } else { kept.into() }
        }
        Value::Array(elements) if elements.is_empty() => Value::Null,
        Value::Array(elements) => elements.iter().map(without_empty).collect(),
        Value::String(text) if text.is_empty() => Value::Null,
        other => other.clone(),
    }
}
