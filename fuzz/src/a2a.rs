//! Agent cards and LMOS capability files: whatever comes is read or refused. What is read becomes a valid
//! Thing Description and comes back; a card is said in either generation, and what a warning doesn't
//! name survives the way there and back.

#![no_main]

use agentdex::{
    convert::{
        Error,
        a2a::{Card, Generation, Options, from_thing},
        lmos_capabilities,
    },
    td::{self, Document, Identity, Strictness},
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};

const ID: &str = "urn:example:fuzz";

/// What the generations say in words of their own, beside the requirements of skills.
const TRANSLATED: [&str; 12] = [
    "url",
    "protocolVersion",
    "preferredTransport",
    "additionalInterfaces",
    "supportedInterfaces",
    "capabilities",
    "securitySchemes",
    "security",
    "securityRequirements",
    "skills",
    "supportsAuthenticatedExtendedCard",
    "signatures",
];

fuzz_target!(|bytes: &[u8]| {
    check_capability_file(bytes);
    let Ok(card) = Card::parse(bytes) else { return };
    let kept = Card::parse(card.bytes()).expect("a card without its secrets is a card");
    assert_eq!((kept.bytes(), kept.generation()), (card.bytes(), card.generation()), "secrets were left");
    check_renditions(&card);
    check_thing(&card);
});

fn check_capability_file(bytes: &[u8]) {
    let options = lmos_capabilities::Options { id: Some(ID.into()), base: None };
    let Ok(conversion) = lmos_capabilities::to_thing(bytes, &options) else { return };
    let Some(thing) = admitted(&conversion.things[0].description) else { return };
    let Ok(file) = lmos_capabilities::from_thing(&thing) else { return };
    let again = lmos_capabilities::to_thing(file.as_bytes(), &options).expect("a written file is one");
    let Some(thing) = admitted(&again.things[0].description) else { return };
    let repeated = lmos_capabilities::from_thing(&thing).expect("what was written once is written again");
    assert_eq!(json(repeated.as_bytes()), json(file.as_bytes()), "no fixed point");
}

/// The card in its own generation, in the other one, and back.
fn check_renditions(card: &Card) {
    let own = card.generation();
    let other = if own == Generation::V0 { Generation::V1 } else { Generation::V0 };
    assert_eq!(card.as_version(own).bytes, card.bytes(), "the card itself");
    let there = card.as_version(other);
    let Some(converted) = reread(&there.bytes) else { return };
    assert_eq!(converted.generation(), other);
    if card.warnings().is_empty() {
        assert_eq!(untranslated(card.bytes()), untranslated(&there.bytes), "what both say alike");
    }
    let back = converted.as_version(own);
    let Some(returned) = reread(&back.bytes) else { return };
    assert_eq!(returned.generation(), own);
    let again = returned.as_version(other);
    // A card of 0.3 has a URL, if an empty one, which is an interface.
    let has_interface = there.warnings.iter().all(|warning| warning.rule != "no-interface");
    // In 1.0 each flow of OAuth 2.0 has a scheme of its own.
    let is_split = count_schemes(&back.bytes) != count_schemes(&there.bytes);
    if has_interface && !is_split && converted.warnings().is_empty() && back.warnings.is_empty() {
        assert_eq!(versioned(&again.bytes), versioned(&there.bytes), "by way of {}", text(&back.bytes));
    }
}

/// A card with what it says of its main interface as 1.0 says it: a transport, and a version without patch.
/// Members of a scheme of our own may be in its wrapper or beside it.
fn versioned(card: &[u8]) -> Value {
    let mut card = json(card);
    if card.get("url").is_some() {
        let version = card["protocolVersion"].as_str().unwrap_or("0.3");
        card["protocolVersion"] = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".").into();
        let transport = card["preferredTransport"].as_str().unwrap_or("JSONRPC");
        card["preferredTransport"] = transport.into();
    }
    for scheme in card.get_mut("securitySchemes").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        let Value::Object(members) = scheme else { continue };
        let wrapped: Vec<String> = members.keys().filter(|name| name.ends_with("SecurityScheme")).cloned().collect();
        for name in wrapped {
            if let Some(Value::Object(inner)) = members.insert(name, Value::Null) {
                members.extend(inner);
            }
        }
    }
    card
}

fn count_schemes(card: &[u8]) -> usize {
    json(card)["securitySchemes"].as_object().map_or(0, Map::len)
}

/// The card as a Thing, and as what becomes of the Thing.
fn check_thing(card: &Card) {
    thing_of(card, Some("https://base.example/x"));
    let Some((thing, is_plain)) = thing_of(card, None) else { return };
    for generation in [Generation::V0, Generation::V1] {
        let is_same = generation == card.generation() && is_plain;
        let exported = match from_thing(&thing, generation) {
            Err(error) if is_same => panic!("{error}: {thing}"),
            Err(_) => continue,
            Ok(exported) => exported,
        };
        let Some(exported) = reread(&exported.bytes) else { continue };
        assert_eq!(exported.generation(), generation);
        if is_same {
            assert_eq!(without_schemes(&exported), without_schemes(card), "by way of {thing}");
            check_exported(&exported);
        }
    }
}

/// An exported card becomes the same card again, schemes and all.
fn check_exported(card: &Card) {
    let Some((thing, true)) = thing_of(card, None) else { return };
    let again = from_thing(&thing, card.generation()).expect("what was exported once is exported again");
    assert_eq!(said(&again.bytes), said(card.bytes()), "by way of {thing}");
}

/// The Thing of a card, and whether there was nothing to warn of; none where it is too large.
fn thing_of(card: &Card, base: Option<&str>) -> Option<(Value, bool)> {
    let options = Options { id: Some(ID.into()), base: base.map(str::to_owned) };
    let conversion = match card.to_thing(&options) {
        Err(Error::DocumentTooLarge { .. }) => return None,
        other => other.expect("an id is given"),
    };
    Some((admitted(&conversion.things[0].description)?, conversion.warnings.is_empty()))
}

/// What a card says beside its schemes, which may have members of both generations at once.
fn without_schemes(card: &Card) -> Map<String, Value> {
    let mut members = said(card.bytes());
    members.remove("securitySchemes");
    members
}

/// A card that was written by us; none where it has grown beyond the limits.
fn reread(json: &[u8]) -> Option<Card> {
    match Card::parse(json) {
        Err(Error::DocumentTooLarge { .. } | Error::LimitExceeded { .. }) => None,
        other => Some(other.unwrap_or_else(|error| panic!("{error}: {}", text(json)))),
    }
}

/// The Thing of a description, which has to be valid; none where it has grown beyond the limits. Its value says
/// what its text does.
fn admitted(description: &Document) -> Option<Value> {
    let document = match Document::parse(description.text().as_bytes()) {
        Err(agentdex::td::Error::LimitExceeded { .. }) => return None,
        other => other.expect("a description is JSON"),
    };
    assert_eq!(document.value(), description.value());
    let admission = td::admit(document, Identity::Own, Strictness::Strict);
    Some(admission.unwrap_or_else(|error| panic!("{error}: {}", description.text())).thing.value().clone())
}

/// The members that are called alike in both generations, and the skills without their requirements.
fn untranslated(card: &[u8]) -> Map<String, Value> {
    let mut members = said(card);
    let skills = members.get("skills").and_then(Value::as_array).cloned().unwrap_or_default();
    members.retain(|name, _| !TRANSLATED.contains(&name.as_str()));
    for (index, mut skill) in skills.into_iter().enumerate() {
        if let Some(skill) = skill.as_object_mut() {
            skill.remove("security");
            skill.remove("securityRequirements");
        }
        members.insert(format!("skill {index}"), skill);
    }
    members
}

/// The members of a card; `null` says as much as nothing, and what is around a link means nothing.
fn said(card: &[u8]) -> Map<String, Value> {
    let Value::Object(mut members) = without_null(json(card)) else { return Map::new() };
    for link in ["documentationUrl", "iconUrl"] {
        if let Some(Value::String(url)) = members.get_mut(link) {
            *url = url.trim().to_owned();
        }
    }
    members
}

fn without_null(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            kept.map(|(name, value)| (name, without_null(value))).collect()
        }
        Value::Array(elements) => elements.into_iter().map(without_null).collect(),
        other => other,
    }
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)).expect("it is JSON")
}

fn text(json: &[u8]) -> String {
    String::from_utf8_lossy(json).into_owned()
}
