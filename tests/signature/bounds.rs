//! What a check costs at most, and what a signature can't tell apart.

use agentdex::signature::{Algorithm, Form, Status, TrustedKeys};
use serde_json::{Value, json};

use super::{
    card, check, check_text, fault,
    signer::{Signer, add, encode},
    trusting,
};

/// A signature by nobody that says it is this key's.
fn junk(kid: &str) -> Value {
    let header = json!({"alg": "EdDSA", "kid": kid}).to_string();
    json!({"protected": encode(header.as_bytes()), "signature": encode(&[1; 64])})
}

fn keys(jwks: &[Value]) -> TrustedKeys {
    TrustedKeys::from_domain(json!({"keys": jwks}).to_string().as_bytes(), "x").unwrap()
}

#[test]
fn card_is_verified_so_many_times_only() {
    let signer = Signer::new("k", Algorithm::EdDsa);
    let nameless: Vec<Value> = (0..64)
        .map(|_| {
            let mut jwk = Signer::new("k", Algorithm::EdDsa).jwk();
            jwk.as_object_mut().unwrap().remove("kid");
            jwk
        })
        .collect();
    // Two of twelve attempts each leave enough for the right one, fifteen don't.
    let signed = |before: usize| {
        let mut card = card();
        (0..before).for_each(|_| add(&mut card, junk("j")));
        signer.sign(&mut card, Form::Specification);
        card
    };
    let all = keys(&[&nameless[..63], &[signer.jwk()]].concat());
    assert_eq!(check(&signed(2), &all).status, Status::Valid);
    let found = check(&signed(15), &all);
    assert_eq!(found.status, Status::Invalid);
    let last = check(&signed(15), &keys(&[signer.jwk()]));
    assert_eq!(last.status, Status::Valid, "strangers cost nothing: {last:?}");
    // Of one name, four keys are tried.
    let others = |count: usize| {
        let others = (0..count).map(|_| Signer::new("k", Algorithm::EdDsa).jwk());
        keys(&others.chain([signer.jwk()]).collect::<Vec<_>>())
    };
    assert_eq!(check(&signed(0), &others(3)).status, Status::Valid);
    assert_eq!(check(&signed(0), &others(4)).status, Status::Invalid);
    let mut spent = card();
    (0..16).for_each(|_| add(&mut spent, junk("k")));
    assert_eq!(check(&spent, &others(1)).status, Status::Invalid);
}

#[test]
fn rsa_keys_are_of_2048_to_4096_bits() {
    for (bytes, is_usable) in [(128, false), (255, false), (256, true), (512, true), (513, false), (1024, false)] {
        let jwk = json!({"kty": "RSA", "kid": "k", "n": encode(&vec![0xff; bytes]), "e": "AQAB"});
        assert_eq!(keys(&[jwk]).len(), usize::from(is_usable), "{bytes}");
    }
}

#[test]
fn integers_that_canonical_forms_round_are_refused() {
    let signer = Signer::new("k", Algorithm::Es256);
    let keys = trusting(&[&signer]);
    for (number, is_exact) in [
        ("9007199254740991", true),
        ("-9007199254740991", true),
        ("1e300", true),
        ("9007199254740992", false),
        ("9007199254740993", false),
        ("-9007199254740993", false),
        ("18446744073709551615", false),
    ] {
        let mut card = card();
        card["x"] = json!([{"limit": serde_json::from_str::<Value>(number).unwrap()}]);
        signer.sign(&mut card, Form::Plain);
        if is_exact {
            assert_eq!(check(&card, &keys).status, Status::Valid, "{number}");
        } else {
            assert!(fault(&card, &keys).contains("/x/0/limit"), "{number}");
        }
    }
}

#[test]
fn edwards_curve_goes_by_both_names() {
    let signer = Signer::new("k", Algorithm::EdDsa);
    let mut card = card();
    let payload = Form::Specification.payload(&card).unwrap();
    add(&mut card, signer.entry(r#"{"alg":"Ed25519","kid":"k"}"#, &payload));
    let mut jwk = signer.jwk();
    for alg in ["Ed25519", "EdDSA"] {
        jwk["alg"] = alg.into();
        let found = check_text(&card.to_string(), &keys(&[jwk.clone()]));
        assert_eq!((found.status, found.alg.as_deref()), (Status::Valid, Some("Ed25519")));
    }
    jwk["alg"] = "Ed448".into();
    assert_eq!(check(&card, &keys(&[jwk])).status, Status::Invalid);
}
