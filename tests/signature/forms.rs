//! Canonical forms: RFC 8785, and what of a card is signed.

use agentdex::{
    signature::{Algorithm, Form, Status},
    td::Document,
};
use serde_json::{Value, json};

use super::{check, check_text, signer::Signer, trusting};

fn payload(form: Form, card: &str) -> String {
    form.payload(Document::parse(card.as_bytes()).unwrap().value()).unwrap()
}

#[test]
fn published_vector_is_met() {
    let card = r#"{
        "name": "Example Agent",
        "description": "",
        "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []},
        "skills": [],
        "signatures": [{"protected": "x", "signature": "y"}]
    }"#;
    assert_eq!(
        payload(Form::Specification, card),
        r#"{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}"#
    );
    assert_eq!(
        payload(Form::Stripped, card),
        r#"{"capabilities":{"pushNotifications":false,"streaming":false},"name":"Example Agent"}"#
    );
    assert_eq!(
        payload(Form::Plain, card),
        r#"{"capabilities":{"extensions":[],"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}"#
    );
}

#[test]
fn numbers_are_written_as_ecmascript_writes_them() {
    // The values of RFC 8785, appendix B, and spellings that a JSON reader may stumble over.
    for (written, canonical) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("1.0", "1"),
        ("1e2", "100"),
        ("5e-324", "5e-324"),
        ("-5e-324", "-5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("9007199254740992", "9007199254740992"),
        ("9007199254740993", "9007199254740992"),
        ("-9007199254740993", "-9007199254740992"),
        ("18446744073709551615", "18446744073709552000"),
        ("18446744073709551616", "18446744073709552000"),
        ("295147905179352830000", "295147905179352830000"),
        ("9.999999999999997e22", "9.999999999999997e+22"),
        ("1e23", "1e+23"),
        ("1.0000000000000001e23", "1.0000000000000001e+23"),
        ("999999999999999700000", "999999999999999700000"),
        ("999999999999999900000", "999999999999999900000"),
        ("1e21", "1e+21"),
        ("1000000000000000000000", "1e+21"),
        ("9.999999999999997e-7", "9.999999999999997e-7"),
        ("0.000001", "0.000001"),
        ("333333333.3333332", "333333333.3333332"),
        ("333333333.33333325", "333333333.33333325"),
        ("333333333.3333334", "333333333.3333334"),
        ("-0.0000033333333333333333", "-0.0000033333333333333333"),
        ("1424953923781206.25", "1424953923781206.2"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("0.1000000000000000055511151231257827021181583404541015625", "0.1"),
    ] {
        assert_eq!(
            payload(Form::Plain, &format!("{{\"n\": {written}}}")),
            format!("{{\"n\":{canonical}}}"),
            "{written}"
        );
    }
}

#[test]
fn numbers_of_many_digits_take_no_time() {
    let digits = "7".repeat(900_000);
    let canonical = payload(Form::Plain, &format!("{{\"n\": 0.{digits}}}"));
    assert_eq!(canonical, "{\"n\":0.7777777777777778}");
}

#[test]
fn strings_are_escaped_as_little_as_possible_and_sorted_by_utf16() {
    let card = r#"{"\uff5e": 1, "\ud83d\ude00": 2, "\u00e9": 3, "a\/b": "\u0007\n\"\\\u20ac\u007f\/<"}"#;
    assert_eq!(payload(Form::Plain, card), "{\"a/b\":\"\\u0007\\n\\\"\\\\€\u{7f}/<\",\"é\":3,\"😀\":2,\"～\":1}");
}

#[test]
fn text_that_is_no_unicode_is_no_card() {
    for text in [r#"{"name": "\ud800"}"#, r#"{"name": "\udc00\ud800"}"#, r#"{"n": 1e400}"#, r#"{"n": NaN}"#] {
        assert!(Document::parse(text.as_bytes()).is_err(), "{text}");
    }
}

/// A card of each generation with a default in every member.
fn full_of_defaults(is_new: bool) -> Value {
    let schemes = json!({
        "key": {"apiKeySecurityScheme": {"description": "", "location": "", "name": ""}},
        "http": {"httpAuthSecurityScheme": {"description": "", "scheme": "", "bearerFormat": ""}},
        "oauth2": {"oauth2SecurityScheme": {"description": "", "oauth2MetadataUrl": "", "flows": {
            "authorizationCode": {"authorizationUrl": "", "tokenUrl": "", "refreshUrl": "", "scopes": {}, "pkceRequired": false},
            "implicit": {"authorizationUrl": "", "refreshUrl": "", "scopes": {}}}}},
        "open": {"openIdConnectSecurityScheme": {"description": "", "openIdConnectUrl": ""}},
        "tls": {"mtlsSecurityScheme": {"description": ""}}
    });
    let old_schemes = json!({
        "key": {"type": "apiKey", "description": "", "in": "", "name": ""},
        "oauth2": {"type": "oauth2", "flows": {"password": {"tokenUrl": "", "refreshUrl": "", "scopes": {}}}}
    });
    let common = json!({
        "name": "", "description": "", "version": "", "documentationUrl": "", "iconUrl": null,
        "provider": {"organization": "", "url": ""},
        "capabilities": {"streaming": false, "pushNotifications": null, "extensions": [{"uri": "", "description": "", "required": false, "params": {}}]},
        "defaultInputModes": [], "defaultOutputModes": [], "x-unknown": "", "x-null": null
    });
    let mut card = common.clone();
    let skill = json!({"id": "", "name": "", "description": "", "tags": [], "examples": [], "inputModes": [], "outputModes": []});
    if is_new {
        card["supportedInterfaces"] = json!([{"url": "", "protocolBinding": "", "protocolVersion": "", "tenant": ""}]);
        card["securitySchemes"] = schemes;
        card["securityRequirements"] = json!([{"schemes": {"key": {"list": []}}}, {"schemes": {}}]);
        card["skills"] = json!([skill.clone(), {"securityRequirements": []}]);
    } else {
        card["url"] = "".into();
        card["protocolVersion"] = "".into();
        card["preferredTransport"] = "".into();
        card["additionalInterfaces"] = json!([]);
        card["securitySchemes"] = old_schemes;
        card["security"] = json!([]);
        card["supportsAuthenticatedExtendedCard"] = false.into();
        card["skills"] = json!([skill, {"security": []}]);
    }
    card
}

#[test]
fn required_members_stay_and_other_defaults_go() {
    insta::assert_snapshot!(payload(Form::Specification, &full_of_defaults(true).to_string()), @r#"{"capabilities":{"extensions":[{"params":{}}],"streaming":false},"defaultInputModes":[],"defaultOutputModes":[],"description":"","documentationUrl":"","name":"","provider":{"organization":"","url":""},"securityRequirements":[{"schemes":{"key":{}}},{}],"securitySchemes":{"http":{"httpAuthSecurityScheme":{"scheme":""}},"key":{"apiKeySecurityScheme":{"location":"","name":""}},"oauth2":{"oauth2SecurityScheme":{"flows":{"authorizationCode":{"authorizationUrl":"","scopes":{},"tokenUrl":""},"implicit":{}}}},"open":{"openIdConnectSecurityScheme":{"openIdConnectUrl":""}},"tls":{"mtlsSecurityScheme":{}}},"skills":[{"description":"","id":"","name":"","tags":[]},{}],"supportedInterfaces":[{"protocolBinding":"","protocolVersion":"","url":""}],"version":"","x-null":null,"x-unknown":""}"#);
    insta::assert_snapshot!(payload(Form::Specification, &full_of_defaults(false).to_string()), @r#"{"capabilities":{"extensions":[{"params":{}}],"streaming":false},"defaultInputModes":[],"defaultOutputModes":[],"description":"","documentationUrl":"","name":"","preferredTransport":"","protocolVersion":"","provider":{"organization":"","url":""},"securitySchemes":{"key":{"in":"","name":"","type":"apiKey"},"oauth2":{"flows":{"password":{"scopes":{},"tokenUrl":""}},"type":"oauth2"}},"skills":[{"description":"","id":"","name":"","tags":[]},{}],"supportsAuthenticatedExtendedCard":false,"url":"","version":"","x-null":null,"x-unknown":""}"#);
    insta::assert_snapshot!(payload(Form::Stripped, &full_of_defaults(true).to_string()), @r#"{"capabilities":{"streaming":false}}"#);
    insta::assert_snapshot!(payload(Form::Stripped, r#"{"name": "", "skills": [{"tags": [""]}], "x": [[], {}, null]}"#), @"{}");
}

#[test]
fn cards_of_any_shape_have_forms() {
    for card in [
        r#"{"supportedInterfaces": {}, "skills": "x", "securitySchemes": [1], "capabilities": []}"#,
        r#"{"supportedInterfaces": [null, 1, [{}]], "skills": [[{"tags": 0}]], "securityRequirements": [{"schemes": 1}]}"#,
        "[1, {\"signatures\": 1}]",
        "null",
        "\"text\"",
        "{}",
    ] {
        for form in Form::ALL {
            assert!(!payload(form, card).is_empty(), "{card}");
        }
    }
}

#[test]
fn spelling_of_what_is_received_does_not_matter() {
    let signer = Signer::new("k", Algorithm::Es256);
    let keys = trusting(&[&signer]);
    let mut card = json!({"name": "Zoë 😀", "x": {"n": 100, "~": "é", "\u{20ac}": 0.000001}});
    signer.sign(&mut card, Form::Plain);
    let signatures = card["signatures"].to_string();
    for text in [
        r#"{"name": "Zo\u00eb \ud83d\ude00", "x": {"\u20ac": 1e-6, "n": 1E2, "\u007e": "\u00e9"}, "signatures": S}"#,
        "\u{feff}{\"signatures\": S,\n\t\"x\": {\"n\": 100.0, \"€\": 0.0000010, \"~\": \"é\"}, \"name\": \"Zoë 😀\"}",
    ] {
        let found = check_text(&text.replace('S', &signatures), &keys);
        assert_eq!(found.status, Status::Valid, "{found:?}");
    }
    // The same letter in another form is another text.
    let composed = check_text(&card.to_string().replace('ë', "e\u{308}"), &keys);
    assert_eq!(composed.status, Status::Invalid);
    assert_eq!(check(&card, &keys).status, Status::Valid);
}
