//! The model keeps everything: what it reads it writes, equal as data, numbers as they were written.

use std::{fs, path::PathBuf};

use agentdex::{
    Error,
    td::{
        Document, Layers, merge_patch,
        model::{DataType, LmosCapability, OneOrMany, Operation, PropertyAffordance, Thing},
        validate,
    },
};

/// Everything that TD 1.1 and LMOS know, each member at least once.
const WHOLE: &str = include_str!("../fixtures/td/whole.json");

fn assert_round_trip(name: &str, text: &str) {
    let written = Thing::parse(text).unwrap().to_json();
    assert_eq!(merge_patch::diff(text, &written), None, "{name}");
    assert_eq!(merge_patch::diff(&written, text), None, "{name}");
}

#[test]
fn a_whole_description_survives() {
    let report = validate(&Document::parse(WHOLE.as_bytes()).unwrap(), Layers::All);
    assert!(report.is_valid(), "{report}");
    assert_round_trip("whole.json", WHOLE);
}

#[test]
fn capabilities_are_read_in_both_spellings_and_keep_theirs() {
    for text in [
        r#"{"title":"A","lmos:capabilities":[{"lmos:id":"urn:c","lmos:name":"bake","lmos:version":"1.0.0","lmos:description":"Bakes","lmos:tags":["oven"],"lmos:examples":["bake"],"x":1}]}"#,
        r#"{"title":"A","lmos:capabilities":[{"id":"urn:c","name":"bake","version":"1.0.0","description":"Bakes","tags":["oven"],"examples":["bake"],"x":1}]}"#,
        r#"{"title":"A","lmos:capabilities":[{"lmos:id":"urn:c","name":"bake","lmos:name":"other","lmos:version":"1.0.0","description":"Bakes","tags":["oven"],"lmos:examples":["bake"]}]}"#,
    ] {
        let thing = Thing::parse(text).unwrap();
        let capability = &thing.capabilities[0];
        let texts =
            [&capability.id, &capability.name, &capability.version, &capability.description].map(Option::as_deref);
        assert_eq!(texts, ["urn:c", "bake", "1.0.0", "Bakes"].map(Some), "{text}");
        assert_eq!(
            (&capability.tags[..], &capability.examples[..]),
            (&["oven".to_owned()][..], &["bake".to_owned()][..])
        );
        assert_round_trip("capabilities", text);
    }
    let mut thing = Thing::new("A");
    thing.capabilities.push(LmosCapability { name: Some("bake".into()), ..LmosCapability::default() });
    assert!(thing.to_json().contains(r#"[{"lmos:name":"bake"}]"#), "{}", thing.to_json());
}

#[test]
fn a_whole_description_is_in_fields() {
    let thing = Thing::parse(WHOLE).unwrap();
    assert!(thing.members.iter().map(|(name, _)| name).eq(["ex:serial"]), "{:?}", thing.members);
    let heat = thing.properties.get("heat").unwrap();
    assert_eq!(heat.schema.minimum.as_ref().unwrap().as_str(), "0.50");
    assert_eq!(heat.schema.minimum.as_ref().unwrap().as_f64(), Some(0.5));
    assert_eq!(heat.schema.data_type, Some(DataType::Number));
    assert_eq!(heat.forms[0].operations.as_slice(), [Operation::ReadProperty, Operation::ObserveProperty]);
    assert_eq!(thing.capabilities[0].id.as_deref(), Some("urn:example:capability:bake"));
    assert_eq!(thing.security, OneOrMany::One("both".into()));
}

#[test]
fn real_documents_survive() {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let Ok(files) = fs::read_dir(shared.join("corpus/td")) else {
        return println!("skipped: there are no real documents in {}", shared.display());
    };
    let mut count = 0;
    for path in files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|it| it == "json")) {
        let text = fs::read_to_string(&path).unwrap();
        let document = Document::parse(text.as_bytes()).unwrap();
        if validate(&document, Layers::All).is_valid() {
            assert_round_trip(&path.display().to_string(), &text);
            count += 1;
        }
    }
    assert!(count > 200, "only {count} documents");
}

#[test]
fn what_no_field_can_hold_is_kept() {
    let odd = r#"{"title":7,"links":[],"id":null,"security":"","forms":[{"href":"","op":"dance"}],"x":1.0e+5,
        "properties":{"a":{"minItems":1.0,"enum":[1.50],"type":"float","forms":{}}},"events":{"e":7}}"#;
    assert_round_trip("odd", odd);
    let thing = Thing::parse(odd).unwrap();
    assert_eq!(thing.title, "");
    assert_eq!(thing.properties.get("a").unwrap().schema.min_items.as_ref().unwrap().as_u64(), Some(1));
}

#[test]
fn a_field_that_is_set_wins_over_a_member_of_its_name() {
    let mut thing = Thing::parse(r#"{"title":7,"x":1}"#).unwrap();
    thing.title = "Oven".into();
    assert_eq!(thing.to_json(), r#"{"title":"Oven","x":1}"#);
}

#[test]
fn what_is_no_description_is_refused() {
    assert!(matches!(Thing::parse("[]"), Err(Error::Invalid(_))));
    assert!(matches!(Thing::parse("{"), Err(Error::MalformedJson { .. })));
    let deep = format!("{}1{}", r#"{"properties":"#.repeat(1000), "}".repeat(1000));
    assert!(matches!(Thing::parse(&deep), Err(Error::LimitExceeded { .. })));
    assert!(serde_json::from_str::<PropertyAffordance>(&deep).is_err());
}

#[test]
fn parts_are_read_and_written_with_serde() {
    let text = r#"{"forms":[{"href":"a"}],"minimum":1.50,"x":{"y":2.0}}"#;
    let property: PropertyAffordance = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&property).unwrap(), text);
}
