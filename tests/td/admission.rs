//! Lenient in, valid out: what is mended, what is kept to the letter, what is refused.

use agentdex::{
    Timestamp,
    td::{
        Admission, Document, Error, Identity, Layers, Notes, Registration, Strictness, Violation, admit, enrich,
        validate,
    },
};

fn admitted(json: &str) -> Admission {
    admit(Document::parse(json.as_bytes()).unwrap(), Identity::Own, Strictness::Lenient).unwrap()
}

fn refused(json: &str, identity: Identity<'_>, strictness: Strictness) -> Error {
    admit(Document::parse(json.as_bytes()).unwrap(), identity, strictness).unwrap_err()
}

fn rules(violations: &[Violation]) -> Vec<&str> {
    violations.iter().map(|violation| violation.rule.as_ref()).collect()
}

fn refused_rules(json: &str, strictness: Strictness) -> Vec<String> {
    match refused(json, Identity::Own, strictness) {
        Error::Invalid(report) => report.violations.iter().map(|v| v.rule.to_string()).collect(),
        other => panic!("expected a report, got {other:?}"),
    }
}

const LAMP: &str = r#"{"@context":"https://www.w3.org/2022/wot/td/v1.1","id":"urn:lamp","title":"Lamp","security":"none","securityDefinitions":{"none":{"scheme":"nosec"}},"x:limit":1.50e+2}"#;
const AGENT: &str = r#"{"@context":["https://www.w3.org/2022/wot/td/v1.1",{"lmos":"https://eclipse.dev/lmos/protocol/v1"}],"@type":"lmos:Agent","id":"urn:agent","title":"Agent"}"#;

#[test]
fn a_valid_document_is_stored_as_it_came() {
    let admission = admitted(LAMP);
    assert_eq!(admission.thing.text(), LAMP);
    assert_eq!(admission.thing.id(), "urn:lamp");
    assert_eq!(admission.warnings, []);
}

#[test]
fn only_white_space_between_tokens_is_dropped() {
    let spaced = LAMP.replace(',', " ,\r\n\t").replace("Lamp", "a  \\\" , lamp");
    assert_eq!(admitted(&spaced).thing.text(), LAMP.replace("Lamp", "a  \\\" , lamp"));
}

#[test]
fn an_agent_without_security_gets_the_scheme_auto() {
    let admission = admitted(AGENT);
    assert_eq!(rules(&admission.warnings), ["security-missing"]);
    insta::assert_snapshot!(admission.thing.text(), @r#"{"@context":["https://www.w3.org/2022/wot/td/v1.1",{"lmos":"https://eclipse.dev/lmos/protocol/v1"}],"@type":"lmos:Agent","id":"urn:agent","title":"Agent","securityDefinitions":{"auto_sc":{"scheme":"auto"}},"security":"auto_sc"}"#);
    assert_eq!(refused_rules(AGENT, Strictness::Strict), ["schema/required", "schema/required"]);
}

#[test]
fn other_things_without_security_are_refused() {
    let thing = AGENT.replace("lmos:Agent", "Lamp");
    assert_eq!(refused_rules(&thing, Strictness::Lenient), ["schema/required", "schema/required"]);
}

#[test]
fn the_mend_raises_version_1_0() {
    let admission = admitted(&AGENT.replace("2022/wot/td/v1.1", "2019/wot/td/v1"));
    assert_eq!(rules(&admission.warnings), ["security-missing", "td-version-raised"]);
    assert!(admission.thing.text().starts_with(r#"{"@context":["https://www.w3.org/2022/wot/td/v1.1",{"lmos""#));
}

#[test]
fn version_1_0_that_needs_no_mend_stays() {
    let thing = LAMP.replace("2022/wot/td/v1.1", "2019/wot/td/v1");
    assert_eq!(admitted(&thing).thing.text(), thing);
}

#[test]
fn an_agent_in_any_form_gets_the_context_it_lacks() {
    let namespace = "https://eclipse.dev/lmos/protocol/v1";
    for (context, kind) in [
        (None, "lmos:Agent".to_owned()),
        (None, "lmos:Tool".to_owned()),
        (Some(format!("\"{namespace}\"")), "Agent".to_owned()),
        (Some(format!("{{\"lmos\":\"{namespace}\"}}")), "Tool".to_owned()),
        (Some("[]".to_owned()), format!("{namespace}Agent")),
        (None, format!("{namespace}/Agent")),
        (None, format!("{namespace}#Tool")),
        (Some("\"https://www.w3.org/2022/wot/discovery\"".to_owned()), "lmos:Agent".to_owned()),
    ] {
        let context = context.map(|context| format!("\"@context\":{context},")).unwrap_or_default();
        let document = format!(r#"{{"id":"urn:a",{context}"@type":["{kind}"],"title":"A"}}"#);
        let admission = admitted(&document);
        let mends: Vec<_> = rules(&admission.warnings).into_iter().filter(|rule| !rule.starts_with("lmos/")).collect();
        assert_eq!(mends, ["td-context-missing", "security-missing"], "{document}");
        let again = Document::parse(admission.thing.text().as_bytes()).unwrap();
        assert!(validate(&again, Layers::All).is_valid(), "{}", admission.thing.text());
        // What is read and written back is what it was.
        let moment = Timestamp(0);
        let registration =
            Registration { created: moment, modified: moment, expires: None, ttl: None, retrieved: None };
        let written_back = admitted(&enrich(admission.thing.text(), &registration, Notes::default()));
        assert_eq!(written_back.thing.text(), admission.thing.text());
        assert!(refused_rules(&document, Strictness::Strict).contains(&"td-context-missing".to_owned()));
    }
    let lamp =
        r#"{"id":"urn:a","@type":"Agent","title":"A","security":"n","securityDefinitions":{"n":{"scheme":"nosec"}}}"#;
    assert!(refused_rules(lamp, Strictness::Lenient).contains(&"td-context-missing".to_owned()));
}

#[test]
fn an_id_that_is_no_uri_is_mended() {
    let admission = admitted(&LAMP.replace("urn:lamp", "my lamp"));
    assert_eq!(admission.thing.id(), "urn:agentdex:my%20lamp");
    assert_eq!(admission.thing.text(), LAMP.replace("urn:lamp", "urn:agentdex:my%20lamp"));
    assert_eq!(rules(&admission.warnings), ["id-not-uri"]);
    assert_eq!(refused_rules(&LAMP.replace("urn:lamp", "my lamp"), Strictness::Strict), ["id-not-uri"]);
}

#[test]
fn an_id_that_is_no_string_is_a_violation() {
    assert_eq!(refused_rules(&LAMP.replace("\"urn:lamp\"", "7"), Strictness::Lenient), ["schema/type"]);
}

#[test]
fn the_id_must_fit_how_the_document_is_addressed() {
    let anonymous = LAMP.replace(r#""id":"urn:lamp","#, "");
    let parse = |json: &str| Document::parse(json.as_bytes()).unwrap();
    let assigned = admit(parse(&anonymous), Identity::Assigned("urn:uuid:1"), Strictness::Strict).unwrap();
    assert_eq!((assigned.thing.id(), &assigned.thing.value()["id"]), ("urn:uuid:1", &"urn:uuid:1".into()));
    assert!(assigned.thing.text().contains(r#""x:limit":1.50e+2,"id":"urn:uuid:1"}"#), "{}", assigned.thing.text());
    let spaced = LAMP.replace("urn:lamp", "my lamp");
    let addressed = admit(parse(&spaced), Identity::Addressed("my lamp"), Strictness::Lenient).unwrap();
    assert_eq!(addressed.thing.id(), "urn:agentdex:my%20lamp");
    let lenient = Strictness::Lenient;
    assert!(matches!(refused(LAMP, Identity::Assigned("urn:x"), lenient), Error::UnexpectedId { .. }));
    assert!(matches!(refused(LAMP, Identity::Addressed("urn:x"), lenient), Error::IdMismatch { .. }));
    assert!(matches!(refused(&anonymous, Identity::Addressed("urn:x"), lenient), Error::MissingId));
    assert!(matches!(refused(&anonymous, Identity::Own, lenient), Error::MissingId));
}

const REGISTRATION: Registration = Registration {
    created: Timestamp(0),
    modified: Timestamp(1),
    expires: Some(Timestamp(60_001)),
    ttl: Some(60),
    retrieved: Some(Timestamp(2)),
};

#[test]
fn what_is_handed_out_is_stored_as_before_when_it_comes_back() {
    let contexts =
        [r#""https://www.w3.org/2022/wot/td/v1.1""#, r#"["https://www.w3.org/2022/wot/td/v1.1",{"a":"urn:a"}]"#];
    for context in contexts {
        for stored in [
            LAMP.replace(contexts[0], context),
            // The member is found behind others too, and not mistaken for one that is nested or quoted.
            format!(
                r#"{{"x":{{"@context":[1]}},"y":"\"@context\":\\","@context":{context},{}"#,
                LAMP.split_once(',').unwrap().1
            ),
        ] {
            let enriched = enrich(&stored, &REGISTRATION, Notes::default());
            let value: serde_json::Value = serde_json::from_str(&enriched).unwrap();
            assert_eq!(value["@context"].as_array().unwrap().last().unwrap(), "https://www.w3.org/2022/wot/discovery");
            assert_eq!(value["registration"]["ttl"], 60);
            let admission = admitted(&enriched);
            assert_eq!(admission.thing.text(), stored);
            assert_eq!(admission.registration.ttl, Some(60));
            assert_eq!(admission.registration.expires, Some(Timestamp(60_001)));
            assert_eq!(admission.warnings, []);
        }
    }
}

#[test]
fn an_escaped_context_member_is_found_by_later_reads() {
    let admission = admitted(&LAMP.replace("@context", "\\u0040context"));
    assert_eq!(admission.thing.text(), LAMP);
}

#[test]
fn registration_times_that_are_none_are_violations() {
    for (registration, rule) in [
        (r#"{"ttl":-1}"#, "registration-ttl"),
        (r#"{"ttl":"60"}"#, "registration-ttl"),
        (r#"{"expires":"tomorrow"}"#, "registration-expires"),
        ("7", "registration"),
    ] {
        let document = LAMP.replace(r#""id""#, &format!(r#""registration":{registration},"id""#));
        assert_eq!(refused_rules(&document, Strictness::Lenient), [rule]);
    }
    let ignored = LAMP.replace(r#""id""#, r#""registration":{"created":5,"ttl":1.5},"id""#);
    assert_eq!(admitted(&ignored).registration.ttl, Some(2));
}

#[test]
fn id_of_json_ld_is_stored_as_id() {
    let spelled = LAMP.replace(r#""id""#, r#""@id""#);
    let admission = admitted(&spelled);
    assert_eq!((admission.thing.id(), rules(&admission.warnings)), ("urn:lamp", vec!["id-spelling"]));
    assert!(!admission.thing.text().contains("@id"), "{}", admission.thing.text());
    for other in ["urn:lamp", "urn:other"] {
        let both = LAMP.replace(r#""id""#, &format!(r#""@id":"{other}","id""#));
        let admission = admitted(&both);
        assert_eq!((admission.thing.text(), rules(&admission.warnings)), (LAMP, vec!["id-spelling"]));
    }
    let relative = LAMP.replace(r#""id":"urn:lamp""#, r#""@id":"data.example/hall""#);
    let admission = admitted(&relative);
    assert_eq!(admission.thing.id(), "urn:agentdex:data.example%2Fhall");
    assert_eq!(refused_rules(&spelled, Strictness::Strict), ["id-spelling"]);
}
