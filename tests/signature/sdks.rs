//! Cards that the SDKs of others sign. Where one is missing, its test says so and ends.

use agentdex::signature::{Algorithm, Form, Status, TrustedKeys};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Map, Value, json};

use super::check;
use crate::support::{run_javascript, run_python};

/// Reads `{"cards", "values"}`; answers `{"jwks", "signed", "canonical"}`: every card signed in every
/// algorithm and as it would be served, and the canonical form of every value.
const PYTHON: &str = r#"
import json, sys
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt.algorithms import get_default_algorithms
from a2a.types import AgentCard
from a2a.utils._jcs import canonicalize
from a2a.utils.signing import create_agent_card_signer

keys = {
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "ES384": ec.generate_private_key(ec.SECP384R1()),
    "RS256": rsa.generate_private_key(65537, 2048),
    "PS256": rsa.generate_private_key(65537, 2048),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}
asked, algorithms = json.load(sys.stdin), get_default_algorithms()
jwks = [{**algorithms[alg].to_jwk(key.public_key(), as_dict=True), "kid": alg} for alg, key in keys.items()]
for jwk in jwks:
    jwk["key_ops"] = ["verify"]
signed = []
for card in asked["cards"]:
    for alg, key in keys.items():
        sign = create_agent_card_signer(key, {"alg": alg, "kid": alg, "typ": "JOSE", "jku": None})
        signed.append(MessageToDict(sign(ParseDict(card, AgentCard()))))
json.dump({"jwks": {"keys": jwks}, "signed": signed, "canonical": [canonicalize(v) for v in asked["values"]]}, sys.stdout)
"#;

const JAVASCRIPT: &str = r#"
import { AgentCard, generateAgentCardSignature } from "@a2a-js/sdk";
import * as jose from "jose";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const asked = JSON.parse(Buffer.concat(chunks).toString());
const jwks = [], signed = [], signers = [];
for (const alg of ["ES256", "ES384", "RS256", "PS256", "EdDSA"]) {
    const { publicKey, privateKey } = await jose.generateKeyPair(alg, { extractable: true });
    jwks.push({ ...(await jose.exportJWK(publicKey)), kid: alg });
    signers.push(generateAgentCardSignature(privateKey, { alg, kid: alg, typ: "JOSE" }));
}
for (const card of asked.cards) {
    for (const sign of signers) signed.push(await sign(card));
}
// Given the SDK's own object it leaves the security schemes out of what it signs (seen in 1.3.0). Such a
// signature would let anybody exchange them, and is not taken for one of the card.
for (const sign of signers) signed.push(AgentCard.toJSON(await sign(AgentCard.fromJSON(asked.cards[0]))));
const write = value => value === null || typeof value !== "object" ? JSON.stringify(value)
    : Array.isArray(value) ? "[" + value.map(write).join(",") + "]"
    : "{" + Object.keys(value).sort().map(name => JSON.stringify(name) + ":" + write(value[name])).join(",") + "}";
process.stdout.write(JSON.stringify({ jwks: { keys: jwks }, signed, canonical: asked.values.map(write) }));
"#;

/// Cards of 1.0 that an SDK can read: plain, and with something in every corner.
fn cards() -> Vec<Value> {
    let mut plain = super::card();
    plain.as_object_mut().unwrap().remove("signatures");
    let full = json!({
        "name": "Zoë’s agent 😀 <&>\u{7f}\u{2028}",
        "description": "Line one\nline \"two\"\t\\",
        "version": "0",
        "provider": {"organization": "Größe & Co", "url": "https://example.org"},
        "documentationUrl": "",
        "iconUrl": "https://example.org/icon.png",
        "supportedInterfaces": [
            {"url": "https://agents.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "t"},
            {"url": "https://agents.example/grpc", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {
            "streaming": true, "pushNotifications": false, "extendedAgentCard": false,
            "extensions": [{"uri": "urn:x", "required": true, "params": {
                "int": 3, "float": 0.1, "tiny": 1e-7, "huge": 1e21, "neg": -0.000001, "big": 9007199254740991u64,
                "deep": {"b": [1, "ä", true, {"z": 0}], "a": false}, "\u{ff5e}": 1, "😀": 2
            }}]
        },
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"authorizationCode": {
                "authorizationUrl": "https://example.org/a", "tokenUrl": "https://example.org/t", "scopes": {"read": "Reads", "write": "Writes"}, "pkceRequired": true}}}},
            "tls": {"mtlsSecurityScheme": {"description": "Client certificates"}}
        },
        "securityRequirements": [{"schemes": {"key": {}, "oauth": {"list": ["read"]}}}, {"schemes": {"tls": {"list": []}}}],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["application/json"],
        "skills": [{"id": "a", "name": "A", "description": "", "tags": [], "examples": ["x"], "inputModes": []},
            {"id": "b", "name": "B", "description": "b", "tags": ["t"], "securityRequirements": [{"schemes": {"key": {"list": []}}}]}]
    });
    vec![plain, full]
}

/// JSON values of all kinds, members and strings of many scripts.
fn values() -> Vec<Value> {
    let number = prop_oneof![
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| json!(n)),
        (-(1i64 << 53) + 1..1 << 53).prop_map(|n| json!(n)),
        (-1000i32..1000, -30i32..30).prop_map(|(n, e)| json!(f64::from(n) * 10f64.powi(e))),
    ];
    let text = any::<String>();
    let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), number, text.prop_map(Value::from)];
    let value = leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    });
    let mut runner = TestRunner::deterministic();
    (0..500).map(|_| json!({"v": value.new_tree(&mut runner).unwrap().current()})).collect()
}

fn question() -> String {
    let cards: Vec<Value> = cards().into_iter().chain(uncovered_cards().into_iter().map(|(_, card)| card)).collect();
    json!({"cards": cards, "values": values()}).to_string()
}

/// Empty things that say something. The SDKs leave them out of what they sign, so that anybody can add them.
fn uncovered_cards() -> Vec<(&'static str, Value)> {
    let with = |pointer: &str, value: Value| {
        let mut card = cards().remove(1);
        *card.pointer_mut(pointer).unwrap() = value;
        card
    };
    vec![
        ("/skills/0/examples/0", with("/skills/0/examples", json!(["", "x"]))),
        (
            "/securitySchemes/oauth/oauth2SecurityScheme/flows/authorizationCode/scopes/write",
            with(
                "/securitySchemes/oauth/oauth2SecurityScheme/flows/authorizationCode/scopes",
                json!({"read": "Reads", "write": ""}),
            ),
        ),
        ("/securityRequirements/0", with("/securityRequirements", json!([{"schemes": {}}]))),
        (
            "/capabilities/extensions/0/params/text",
            with("/capabilities/extensions/0/params", json!({"text": "", "n": 1})),
        ),
    ]
}

fn check_answer(answer: &str) {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let keys = TrustedKeys::from_domain(answer["jwks"].to_string().as_bytes(), "sdk").unwrap();
    assert_eq!(keys.len(), Algorithm::ALL.len());
    let mut signed = answer["signed"].as_array().unwrap().clone();
    let start = cards().len() * Algorithm::ALL.len();
    let uncovered: Vec<Value> = signed.drain(start..start + uncovered_cards().len() * Algorithm::ALL.len()).collect();
    for (number, card) in uncovered.iter().enumerate() {
        let found = check(card, &keys);
        let (pointer, _) = uncovered_cards()[number / Algorithm::ALL.len()];
        let reason = found.reason.unwrap_or_default();
        assert!(
            found.status == Status::Invalid && reason.contains(&format!("cover the empty member {pointer},")),
            "{reason}: {card}"
        );
    }
    for card in &signed {
        let found = check(card, &keys);
        assert_eq!(found.status, Status::Valid, "{found:?}: {card}");
        let mut changed = card.clone();
        changed["name"] = "Somebody else".into();
        assert_eq!(check(&changed, &keys).status, Status::Invalid);
    }
    for (value, canonical) in values().iter().zip(answer["canonical"].as_array().unwrap()) {
        assert_eq!(Form::Plain.payload(value).as_deref(), canonical.as_str(), "{value}");
    }
}

#[test]
fn cards_signed_by_the_python_sdk_are_valid() {
    if let Some(answer) = run_python(PYTHON, &question()) {
        check_answer(&answer);
    }
}

#[test]
fn cards_signed_by_the_javascript_sdk_are_valid() {
    if let Some(answer) = run_javascript(JAVASCRIPT, &question()) {
        check_answer(&answer);
    }
}
