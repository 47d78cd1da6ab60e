//! Documents that are broken at random: whatever is admitted is valid as it is stored, and comes back
//! the same after it was handed out.

use agentdex::{
    Timestamp,
    td::{
        Document, Error, Identity, Layers, Notes, Registration, Strictness, admit, capabilities, enrich, merge_patch,
        validate,
    },
};
use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

const WHOLE: &str = include_str!("../fixtures/td/whole.json");

/// All places in a value, as JSON Pointers.
fn places(value: &Value, pointer: &str, found: &mut Vec<String>) {
    found.push(pointer.to_owned());
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                places(value, &format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                places(value, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn replacements() -> Vec<Value> {
    vec![
        json!(null),
        json!(7),
        json!(-1.5),
        json!(true),
        json!(""),
        json!("x y"),
        json!("lmos:Tool"),
        json!("nosec"),
        json!("https://www.w3.org/2022/wot/discovery"),
        json!([]),
        json!({}),
        json!(["a"]),
        json!({"a": {"forms": [{"href": "b"}]}}),
        json!({"ttl": 5}),
        json!(["https://www.w3.org/2019/wot/td/v1", "https://www.w3.org/2022/wot/discovery"]),
    ]
}

fn mutate(mutations: &[(Index, Index, bool)]) -> Value {
    let mut thing: Value = serde_json::from_str(WHOLE).unwrap();
    for (place, replacement, removes) in mutations {
        let mut found = Vec::new();
        places(&thing, "", &mut found);
        let pointer = place.get(&found);
        match pointer.rsplit_once('/') {
            Some((parent, name)) if *removes => match thing.pointer_mut(parent).unwrap() {
                Value::Object(members) => drop(members.remove(&name.replace("~1", "/").replace("~0", "~"))),
                Value::Array(elements) => drop(elements.remove(name.parse().unwrap())),
                _ => unreachable!("only objects and arrays have places in them"),
            },
            Some(_) => *thing.pointer_mut(pointer).unwrap() = replacement.get(&replacements()).clone(),
            None => {
                let member = replacement.get(&["security", "securityDefinitions", "@context", "registration", "id"]);
                thing[*member] = place.get(&replacements()).clone();
            }
        }
    }
    thing
}

fn check(thing: &Value) -> Result<(), TestCaseError> {
    let document = Document::parse(thing.to_string().as_bytes()).unwrap();
    let report = validate(&document, Layers::All);
    let admission = match admit(document, Identity::Own, Strictness::Lenient) {
        Ok(admission) => admission,
        Err(Error::Invalid(refused)) => {
            prop_assert!(!report.is_valid() && !refused.is_valid());
            return Ok(());
        }
        Err(Error::MissingId | Error::InvalidId { .. }) => return Ok(()),
        Err(other) => panic!("{other}"),
    };
    let stored = admission.thing.text().to_owned();
    let again = validate(&Document::parse(stored.as_bytes()).unwrap(), Layers::All);
    prop_assert!(again.is_valid(), "{again}: {stored}");
    prop_assert_eq!(&serde_json::from_str::<Value>(&stored).unwrap(), admission.thing.value());
    prop_assert!(capabilities(admission.thing.value()).iter().all(|capability| !capability.key().is_empty()));

    let moment = Timestamp(1_700_000_000_000);
    let registration = Registration { created: moment, modified: moment, expires: None, ttl: None, retrieved: None };
    let handed_out = Document::parse(enrich(&stored, &registration, Notes::default()).as_bytes()).unwrap();
    let context = handed_out.value()["@context"].as_array().unwrap();
    prop_assert_eq!(context.last().unwrap(), "https://www.w3.org/2022/wot/discovery");
    prop_assert!(validate(&handed_out, Layers::All).is_valid());
    let returned = admit(handed_out, Identity::Own, Strictness::Strict).unwrap();
    // A context that stands alone comes back as a string, whether it was in an array or not.
    let patch = merge_patch::diff(&stored, returned.thing.text());
    prop_assert!(patch.is_none_or(|patch| patch.starts_with(r#"{"@context":"https"#)), "{}", stored);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn whatever_is_admitted_is_valid_and_comes_back(
        mutations in prop::collection::vec((any::<Index>(), any::<Index>(), any::<bool>()), 1..4),
    ) {
        check(&mutate(&mutations))?;
    }

    #[test]
    fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), text in "[\\[{\"a:,1e}\\]\\\\ ]{0,40}") {
        for bytes in [bytes.as_slice(), text.as_bytes()] {
            if let Ok(document) = Document::parse(bytes) {
                validate(&document, Layers::All);
                let _ = merge_patch::apply(document.text(), document.text());
            }
        }
    }
}
