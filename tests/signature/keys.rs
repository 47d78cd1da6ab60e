//! Which keys are trusted: files of the operator's, sets that domains publish.

use std::{fs, path::Path};

use agentdex::{
    convert::Error,
    signature::{Algorithm, Form, Status, TrustedKeys},
};
use serde_json::{Value, json};

use super::{card, check, signer::Signer};

fn write(folder: &Path, name: &str, content: &Value) {
    fs::write(folder.join(name), content.to_string()).unwrap();
}

fn signed(signer: &Signer) -> Value {
    let mut card = card();
    signer.sign(&mut card, Form::Specification);
    card
}

#[test]
fn files_and_folders_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (Signer::new("one", Algorithm::Es256), Signer::new("two", Algorithm::EdDsa));
    write(folder.path(), "partners.json", &json!({"keys": [one.jwk()]}));
    write(folder.path(), "single.jwks", &two.jwk());
    fs::write(folder.path().join("README.md"), "keys of partners").unwrap();
    let all = TrustedKeys::read(folder.path()).unwrap();
    assert_eq!((all.len(), all.passed_over()), (2, &[][..]));
    for signer in [&one, &two] {
        assert_eq!(check(&signed(signer), &all).status, Status::Valid);
    }
    let file = folder.path().join("single.jwks");
    let single = TrustedKeys::read(&file).unwrap();
    assert_eq!(check(&signed(&one), &single).status, Status::Untrusted);
    let found = check(&signed(&two), &single);
    assert_eq!(found.trusted_by.as_deref(), Some("single.jwks"));
    assert_eq!(check(&signed(&one), &single.and(all)).status, Status::Valid);
}

#[test]
fn keys_for_something_else_are_passed_over_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let key = Signer::new("one", Algorithm::Es256).jwk();
    let with = |name: &str, value: Value| {
        let mut key = key.clone();
        key[name] = value;
        key
    };
    let others = [with("use", json!("enc")), with("key_ops", json!(["sign"])), with("crv", json!("secp256k1"))];
    write(folder.path(), "keys.json", &json!({"keys": [others[0], key, others[1], others[2]]}));
    let keys = TrustedKeys::read(folder.path()).unwrap();
    assert_eq!(keys.len(), 1);
    assert_eq!(
        keys.passed_over(),
        [
            r#"key 1 of keys.json: its use is "enc", not "sig""#,
            r#"key 3 of keys.json: its key_ops don't contain "verify""#,
            r#"key 4 of keys.json: keys of type "EC secp256k1" are not supported"#,
        ]
    );
}

#[test]
fn key_without_a_name_is_tried_for_every_signature() {
    let signer = Signer::new("any", Algorithm::Ps256);
    let mut jwk = signer.jwk();
    jwk.as_object_mut().unwrap().remove("kid");
    let keys = TrustedKeys::from_domain(jwk.to_string().as_bytes(), "x").unwrap();
    assert_eq!(check(&signed(&signer), &keys).status, Status::Valid);
    assert_eq!(check(&signed(&Signer::new("any", Algorithm::EdDsa)), &keys).status, Status::Invalid);
}

#[test]
fn file_that_must_not_be_trusted_is_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let key = Signer::new("k", Algorithm::Es256).jwk();
    let with = |name: &str, value: Value| {
        let mut key = key.clone();
        key[name] = value;
        json!({"keys": [key]}).to_string()
    };
    for (text, reason) in [
        (with("d", json!("AAAA")), "key 1 contains its private part"),
        (r#"{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}"#.into(), "key 1 is a shared secret"),
        (with("x", json!("AAAA")), "key 1 lacks coordinates"),
        (with("use", json!("enc")), "no public key"),
        (with("key_ops", json!(["encrypt"])), "no public key"),
        (with("use", json!(["enc"])), "a use, alg, or kid that is not a string"),
        (with("key_ops", json!("sign")), "key_ops that are not a list"),
        (with("crv", json!("secp256k1")), "no public key"),
        (with("kty", json!("RSA")), "modulus"),
        (r#"{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}]}"#.into(), "2048"),
        (r#"{"keys": []}"#.into(), "no public key"),
        (r#"{"keys": [{}]}"#.into(), "no kty"),
        (r#"{"kid": "k"}"#.into(), "neither a JSON Web Key"),
        (r#"{"keys": [], "keys": []}"#.into(), "/keys is repeated"),
        (json!({"keys": vec![key.clone(); 65]}).to_string(), "more than 64 keys"),
    ] {
        fs::write(&file, text).unwrap();
        match TrustedKeys::read(&file) {
            Err(Error::InvalidSetting { origin, message }) => {
                assert!(origin.ends_with("keys.json") && message.contains(reason), "{origin}: {message}");
            }
            other => panic!("{reason}: {other:?}"),
        }
    }
    fs::write(&file, "no JSON").unwrap();
    assert!(matches!(TrustedKeys::read(&file), Err(Error::InvalidSetting { .. })));
    assert!(matches!(TrustedKeys::read(&folder.path().join("missing")), Err(Error::Io { .. })));
    fs::remove_file(&file).unwrap();
    let empty = TrustedKeys::read(folder.path()).unwrap_err().to_string();
    assert!(empty.contains("no *.json or *.jwks file"), "{empty}");
}

#[test]
fn domains_may_publish_keys_that_are_of_no_use_here() {
    let signer = Signer::new("k", Algorithm::Es256);
    let (mut leaked, mut encryption) = (signer.jwk(), signer.jwk());
    leaked["d"] = "AAAA".into();
    leaked["kid"] = "leaked".into();
    encryption["use"] = "enc".into();
    let set = json!({"keys": [leaked, encryption, {"kty": "oct", "k": "x"}, {"kty": "PQ"}, 5, signer.jwk()]});
    let keys = TrustedKeys::from_domain(set.to_string().as_bytes(), "x").unwrap();
    assert_eq!(keys.len(), 1);
    assert_eq!(check(&signed(&signer), &keys).status, Status::Valid);
    assert!(TrustedKeys::from_domain(br#"{"keys": []}"#, "x").unwrap().is_empty());
    for wrong in ["<html>", "{}", "[]", r#"{"keys": {}}"#] {
        assert!(TrustedKeys::from_domain(wrong.as_bytes(), "x").is_err(), "{wrong}");
    }
}

#[test]
fn key_whose_restrictions_cannot_be_read_is_not_used() {
    for algorithm in [Algorithm::Rs256, Algorithm::EdDsa] {
        let signer = Signer::new("k", algorithm);
        for (member, value) in [
            ("use", json!("enc")),
            ("use", json!(["enc"])),
            ("use", json!(null)),
            ("key_ops", json!(["sign"])),
            ("key_ops", json!("sign")),
            ("key_ops", json!("verify")),
            ("alg", json!("RSA-OAEP")),
            ("alg", json!(["RSA-OAEP"])),
            ("kid", json!(5)),
        ] {
            let mut jwk = signer.jwk();
            jwk[member] = value.clone();
            let keys = TrustedKeys::from_domain(json!({"keys": [jwk]}).to_string().as_bytes(), "x").unwrap();
            assert_ne!(check(&signed(&signer), &keys).status, Status::Valid, "{member}: {value}");
        }
        let mut jwk = signer.jwk();
        for (member, value) in [("use", json!("sig")), ("key_ops", json!(["verify"])), ("alg", json!(algorithm.name()))]
        {
            jwk[member] = value;
        }
        let keys = TrustedKeys::from_domain(jwk.to_string().as_bytes(), "x").unwrap();
        assert_eq!(check(&signed(&signer), &keys).status, Status::Valid);
    }
}

#[test]
fn key_with_the_name_is_preferred_to_those_without() {
    let (signer, other) = (Signer::new("k", Algorithm::EdDsa), Signer::new("k", Algorithm::EdDsa));
    let mut nameless = signer.jwk();
    nameless.as_object_mut().unwrap().remove("kid");
    let keys = |jwks: Value| TrustedKeys::from_domain(json!({"keys": jwks}).to_string().as_bytes(), "x").unwrap();
    assert_eq!(check(&signed(&signer), &keys(json!([nameless, other.jwk()]))).status, Status::Invalid);
    assert_eq!(check(&signed(&signer), &keys(json!([nameless]))).status, Status::Valid);
}
