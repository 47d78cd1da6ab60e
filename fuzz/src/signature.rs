//! Agent cards and their signatures: whatever comes has canonical forms that are fixed points, a strange
//! signature is never valid, and what is signed here is valid in the very form that was signed, also
//! where a byte order mark or other spelling is around it.

#![no_main]

use std::sync::LazyLock;

use agentdex::{
    Timestamp,
    signature::{Form, Status, TrustedKeys, key_set_urls, verify},
    td::Document,
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use libfuzzer_sys::fuzz_target;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp(0);

/// A key of everybody's: only what is signed here is signed by it.
static SIGNER: LazyLock<Ed25519KeyPair> =
    LazyLock::new(|| Ed25519KeyPair::from_seed_unchecked(b"thirty-two bytes of no secret at").expect("a seed"));

static KEYS: LazyLock<TrustedKeys> = LazyLock::new(|| {
    let x = encode(SIGNER.public_key().as_ref());
    let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": x}]});
    TrustedKeys::from_domain(set.to_string().as_bytes(), "fuzz").expect("a key set")
});

fuzz_target!(|bytes: &[u8]| {
    if let Ok(keys) = TrustedKeys::from_domain(bytes, "fuzz") {
        assert!(keys.len() <= 64);
    }
    let Ok(card) = Document::parse(bytes) else { return };
    assert_ne!(verify(&card, &KEYS, NOW).status, Status::Valid, "nobody signed this");
    for source in [None, Some("https://a.example/card.json")] {
        assert!(key_set_urls(card.value(), source).iter().all(|url| url.starts_with("https://")));
    }
    for form in Form::ALL {
        let payload = form.payload(card.value()).expect("every document has a form");
        let canonical = Document::parse(payload.as_bytes()).expect("a form is JSON");
        assert_eq!(Form::Plain.payload(canonical.value()).as_deref(), Some(payload.as_str()), "no fixed point");
        if card.value().is_object() && card.repeated_members().is_empty() {
            check_signed(card.value(), form, &payload);
        }
    }
});

fn check_signed(card: &Value, form: Form, payload: &str) {
    let protected = encode(br#"{"alg":"EdDSA","kid":"k"}"#);
    let signature = encode(SIGNER.sign(format!("{protected}.{}", encode(payload.as_bytes())).as_bytes()).as_ref());
    let mut signed = card.clone();
    signed["signatures"] = json!([{"protected": protected, "signature": signature}]);
    let document = Document::parse(signed.to_string().as_bytes()).expect("a card is JSON");
    let found = verify(&document, &KEYS, NOW);
    if found.status != Status::Valid {
        let reason = found.reason.as_deref().unwrap_or_default();
        let is_uncovered = form != Form::Plain && reason.contains("doesn't cover");
        assert!(is_uncovered || reason.contains("beyond 2^53"), "{form:?}: {found:?}");
        return;
    }
    let matched = found.form.expect("a valid signature has a form");
    assert_eq!(matched.payload(card).as_deref(), Some(payload), "{form:?} is taken for {matched:?}");
    signed["x-added"] = json!({"a": 1});
    let changed = Document::parse(signed.to_string().as_bytes()).expect("a card is JSON");
    let is_as_before = card.get("x-added") == signed.get("x-added");
    assert!(is_as_before || verify(&changed, &KEYS, NOW).status == Status::Invalid);
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
