//! Signatures of agent cards: what is valid, and what must not be.

mod bounds;
mod forms;
mod keys;
mod sdks;
pub mod signer;
mod uncovered;
mod verdicts;

use agentdex::{
    Timestamp,
    signature::{Status, TrustedKeys, Verification, verify},
    td::Document,
};
use serde_json::{Value, json};

use self::signer::Signer;

/// The moment at which everything is checked here.
const NOW: Timestamp = Timestamp(1_795_000_000_000);

/// A card whose three forms all differ.
fn card() -> Value {
    json!({
        "name": "Route planner",
        "description": "",
        "version": "1.2.0",
        "supportedInterfaces": [
            {"url": "https://agents.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": ""}
        ],
        "capabilities": {"streaming": false, "extensions": [{"uri": "urn:example:x", "required": false, "params": {"n": 1.5}}]},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": [],
        "skills": [{"id": "plan", "name": "Plan", "description": "Plans a route", "tags": [], "examples": []}],
        "signatures": []
    })
}

fn check(card: &Value, keys: &TrustedKeys) -> Verification {
    check_text(&card.to_string(), keys)
}

fn check_text(card: &str, keys: &TrustedKeys) -> Verification {
    verify(&Document::parse(card.as_bytes()).unwrap(), keys, NOW)
}

/// The keys of these signers, as a domain would publish them.
fn trusting(signers: &[&Signer]) -> TrustedKeys {
    let keys: Vec<Value> = signers.iter().map(|signer| signer.jwk()).collect();
    TrustedKeys::from_domain(json!({"keys": keys}).to_string().as_bytes(), "https://agents.example/jwks.json").unwrap()
}

/// Why a card is invalid.
fn fault(card: &Value, keys: &TrustedKeys) -> String {
    let found = check(card, keys);
    assert_eq!(found.status, Status::Invalid, "{found:?}");
    found.reason.unwrap()
}
