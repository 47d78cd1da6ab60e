//! What a check says of cards that are signed well, badly, by strangers, or by nobody.

use agentdex::signature::{Algorithm, Form, Status, TrustedKeys, Verification};
use ring::hmac;
use serde_json::{Value, json};

use super::{
    NOW, card, check, check_text, fault,
    signer::{Signer, add, encode},
    trusting,
};

fn signed(signer: &Signer) -> Value {
    let mut card = card();
    signer.sign(&mut card, Form::Specification);
    card
}

#[test]
fn every_algorithm_is_verified_in_every_form() {
    for algorithm in Algorithm::ALL {
        for form in Form::ALL {
            let signer = Signer::new("key-1", algorithm);
            let mut card = card();
            signer.sign(&mut card, form);
            let expected = Verification {
                status: Status::Valid,
                kid: Some("key-1".into()),
                alg: Some(algorithm.name().into()),
                form: Some(form),
                trusted_by: Some("https://agents.example/jwks.json".into()),
                reason: None,
                checked_at: NOW,
            };
            assert_eq!(check(&card, &trusting(&[&signer])), expected);
            assert_eq!(check(&card, &trusting(&[&Signer::new("key-2", algorithm)])).status, Status::Untrusted);
        }
    }
}

#[test]
fn result_is_written_as_descriptions_have_it() {
    let signer = Signer::new("key-1", Algorithm::EdDsa);
    let (valid, untrusted) =
        (check(&signed(&signer), &trusting(&[&signer])), check(&signed(&signer), &TrustedKeys::none()));
    insta::assert_snapshot!(serde_json::to_string(&valid).unwrap(), @r#"{"status":"valid","kid":"key-1","alg":"EdDSA","form":"specification","trustedBy":"https://agents.example/jwks.json","checkedAt":"2026-11-18T11:06:40.000Z"}"#);
    insta::assert_snapshot!(serde_json::to_string(&untrusted).unwrap(), @r#"{"status":"untrusted","kid":"key-1","alg":"EdDSA","reason":"no trusted key has the id \"key-1\"","checkedAt":"2026-11-18T11:06:40.000Z"}"#);
    insta::assert_snapshot!(serde_json::to_string(&check(&card(), &TrustedKeys::none())).unwrap(), @r#"{"status":"unsigned","checkedAt":"2026-11-18T11:06:40.000Z"}"#);
    assert_eq!(serde_json::from_str::<Verification>(&serde_json::to_string(&valid).unwrap()).unwrap(), valid);
}

#[test]
fn changed_card_is_invalid() {
    for algorithm in Algorithm::ALL {
        let signer = Signer::new("k", algorithm);
        let keys = trusting(&[&signer]);
        for (pointer, value) in [
            ("/name", json!("Other")),
            ("/supportedInterfaces/0/url", json!("https://evil.example/a2a")),
            ("/capabilities/streaming", json!(true)),
            ("/capabilities/extensions/0/params/n", json!(1.5000000000000002)),
            ("/skills", json!([])),
        ] {
            let mut card = signed(&signer);
            *card.pointer_mut(pointer).unwrap() = value;
            assert!(fault(&card, &keys).contains("may have been changed"), "{pointer}");
        }
        let mut more = signed(&signer);
        more["x-added"] = json!("");
        // Only the stripped form would not see it, and that wasn't signed.
        fault(&more, &keys);
        more["x-added"] = json!({"a": 1});
        fault(&more, &keys);
    }
}

#[test]
fn changed_signature_is_invalid() {
    for algorithm in Algorithm::ALL {
        let signer = Signer::new("k", algorithm);
        let keys = trusting(&[&signer]);
        let card = signed(&signer);
        let mut bytes = card["signatures"][0]["signature"].as_str().unwrap().to_owned();
        bytes.insert(5, if bytes.as_bytes()[5] == b'A' { 'B' } else { 'A' });
        bytes.remove(6);
        for signature in [
            bytes.as_str(),
            "",
            "AAAA",
            "====",
            "not base64url",
            &encode(&[0; 64]),
            &encode(&[0; 96]),
            &encode(&[255; 256]),
        ] {
            let mut broken = card.clone();
            broken["signatures"][0]["signature"] = signature.into();
            fault(&broken, &keys);
        }
        let mut header = card.clone();
        header["signatures"][0]["protected"] =
            encode(signer.header().to_string().replace("JOSE", "jose").as_bytes()).into();
        fault(&header, &keys);
    }
}

#[test]
fn signature_of_another_key_is_invalid() {
    let (signer, other) = (Signer::new("k", Algorithm::Es256), Signer::new("k", Algorithm::Es256));
    assert!(fault(&signed(&signer), &trusting(&[&other])).contains("doesn't match the card"));
    // With both under one name, it is found out whose it is.
    assert_eq!(check(&signed(&signer), &trusting(&[&other, &signer])).status, Status::Valid);
}

#[test]
fn unsigned_algorithm_and_shared_secrets_are_refused() {
    let signer = Signer::new("k", Algorithm::Rs256);
    let keys = trusting(&[&signer]);
    for alg in ["none", "None", "HS256", "hs256", "HS512", "RS1", "ES256K", "RSA-OAEP", "dir", "A128KW", ""] {
        let mut unsigned = card();
        let header = json!({"alg": alg, "kid": "k"}).to_string();
        add(&mut unsigned, json!({"protected": encode(header.as_bytes()), "signature": ""}));
        assert!(fault(&unsigned, &keys).contains("not accepted"), "{alg}");
    }
    // The trick: what is public as a key of RSA is used as the secret of an HMAC.
    let payload = Form::Specification.payload(&card()).unwrap();
    for secret in [signer.jwk().to_string().into_bytes(), signer.jwk()["n"].as_str().unwrap().as_bytes().to_vec()] {
        let protected = encode(br#"{"alg":"HS256","kid":"k"}"#);
        let message = format!("{protected}.{}", encode(payload.as_bytes()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), message.as_bytes());
        let mut forged = card();
        add(&mut forged, json!({"protected": protected, "signature": encode(tag.as_ref())}));
        let found = check(&forged, &keys);
        assert_eq!((found.status, found.alg.as_deref()), (Status::Invalid, Some("HS256")));
    }
}

#[test]
fn key_is_used_for_what_it_is_only() {
    let (rsa, curve) = (Signer::new("k", Algorithm::Rs256), Signer::new("k", Algorithm::Es256));
    let mut limited = rsa.jwk();
    limited["alg"] = "PS256".into();
    let limited = TrustedKeys::from_domain(json!({"keys": [limited]}).to_string().as_bytes(), "x").unwrap();
    assert!(fault(&signed(&rsa), &limited).contains("is not for the algorithm RS256"));
    assert!(fault(&signed(&curve), &trusting(&[&rsa])).contains("is not for the algorithm ES256"));
    // A signature of one padding under the name of the other.
    let mut card = card();
    let payload = Form::Specification.payload(&card).unwrap();
    add(&mut card, rsa.entry(r#"{"alg":"PS256","kid":"k"}"#, &payload));
    fault(&card, &trusting(&[&rsa]));
}

#[test]
fn what_a_card_says_of_keys_makes_no_trust() {
    let stranger = Signer::new("stranger", Algorithm::Es256);
    let mut card = card();
    let mut header = stranger.header();
    header["jku"] = "https://agents.example/jwks.json".into();
    header["jwk"] = stranger.jwk();
    let payload = Form::Specification.payload(&card).unwrap();
    let mut entry = stranger.entry(&header.to_string(), &payload);
    entry["header"] = json!({"jwk": stranger.jwk(), "kid": "trusted"});
    add(&mut card, entry);
    for keys in [TrustedKeys::none(), trusting(&[&Signer::new("trusted", Algorithm::Es256)])] {
        let found = check(&card, &keys);
        assert_eq!((found.status, found.kid.as_deref()), (Status::Untrusted, Some("stranger")));
        assert_eq!(found.reason.as_deref(), Some("no trusted key has the id \"stranger\""));
    }
}

#[test]
fn malformed_signatures_are_named() {
    let signer = Signer::new("k", Algorithm::EdDsa);
    let keys = trusting(&[&signer]);
    let payload = Form::Specification.payload(&card()).unwrap();
    let deep = format!(r#"{{"alg":"EdDSA","kid":"k","x":{}{}}}"#, "[".repeat(70), "]".repeat(70));
    for (header, reason) in [
        (r#"{"kid":"k"}"#, "no `alg`"),
        (r#"{"alg":5,"kid":"k"}"#, "no `alg`"),
        (r#"{"alg":"EdDSA"}"#, "no `kid`"),
        (r#"{"alg":"EdDSA","kid":""}"#, "no `kid`"),
        (r#"{"alg":"EdDSA","kid":["k"]}"#, "no `kid`"),
        (r#"{"alg":"EdDSA","kid":"k","kid":"k"}"#, "/kid of the protected header is repeated"),
        (r#"{"alg":"EdDSA","kid":"k","crit":["b64"],"b64":false}"#, "`crit`"),
        (r#"{"alg":"EdDSA","kid":"k""#, "not JSON"),
        ("", "not JSON"),
        ("[]", "no `alg`"),
        (&deep, "not JSON"),
    ] {
        let mut card = card();
        add(&mut card, signer.entry(header, &payload));
        let found = fault(&card, &keys);
        assert!(found.contains(reason), "{header}: {found}");
    }
    for (entry, reason) in [
        (json!("text"), "`protected` of the signature must be a string"),
        (json!({"signature": "x"}), "`protected` of the signature must be a string"),
        (json!({"protected": "e30"}), "`signature` of the signature must be a string"),
        (json!({"protected": "e30=", "signature": ""}), "not base64url"),
        (json!({"protected": "x".repeat(9000), "signature": ""}), "longer than 8192 bytes"),
    ] {
        let mut card = card();
        add(&mut card, entry);
        let found = fault(&card, &keys);
        assert!(found.contains(reason), "{found}");
    }
    let mut odd = card();
    for signatures in [json!({}), json!("x"), json!(1), json!(false)] {
        odd["signatures"] = signatures;
        assert!(fault(&odd, &keys).contains("is not a list"));
    }
}

#[test]
fn cards_without_signatures_are_unsigned() {
    let mut unsigned = card();
    for signatures in [json!([]), Value::Null] {
        unsigned["signatures"] = signatures;
        assert_eq!(check(&unsigned, &TrustedKeys::none()).status, Status::Unsigned);
    }
    for other in ["{}", "[]", "3", r#"{"name": 1, "name": 2}"#] {
        assert_eq!(check_text(other, &TrustedKeys::none()).status, Status::Unsigned);
    }
}

#[test]
fn card_that_repeats_a_member_is_refused() {
    let signer = Signer::new("k", Algorithm::Es256);
    let text = signed(&signer).to_string();
    let repeated = text.replacen("{", "{\"name\":\"What others may read\",", 1);
    let found = check_text(&repeated, &trusting(&[&signer]));
    assert_eq!(found.status, Status::Invalid);
    assert!(found.reason.unwrap().starts_with("the member /name is repeated"));
    assert_eq!(check_text(&text, &trusting(&[&signer])).status, Status::Valid);
}

#[test]
fn one_valid_signature_is_enough_and_an_invalid_one_counts_more_than_strangers() {
    let (known, stranger) = (Signer::new("known", Algorithm::Es384), Signer::new("stranger", Algorithm::EdDsa));
    let keys = trusting(&[&known]);
    let mut both = card();
    stranger.sign(&mut both, Form::Specification);
    known.sign(&mut both, Form::Stripped);
    let found = check(&both, &keys);
    assert_eq!((found.status, found.kid.as_deref(), found.form), (Status::Valid, Some("known"), Some(Form::Stripped)));
    both["name"] = "Changed".into();
    let found = check(&both, &keys);
    assert_eq!((found.status, found.kid.as_deref()), (Status::Invalid, Some("known")));
    let mut many = card();
    for _ in 0..17 {
        known.sign(&mut many, Form::Specification);
    }
    assert!(fault(&many, &keys).contains("more than 16"));
    many["signatures"].as_array_mut().unwrap().pop();
    assert_eq!(check(&many, &keys).status, Status::Valid);
}
