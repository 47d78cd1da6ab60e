//! Tests that exports with edits contain nothing that an edit removed from a Thing.

use std::collections::BTreeSet;

use super::*;
use crate::edits::removed_texts::{VOCABULARY, all_texts};

/// The pointers to all members and elements of a value, and the value itself.
fn places(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            places(member, format!("{pointer}/{name}"), found);
        }),
        Value::Array(elements) => elements.iter().enumerate().for_each(|(index, element)| {
            places(element, format!("{pointer}/{index}"), found);
        }),
        _ => {}
    }
    found.push(pointer);
}

fn may_be_edited(pointer: &str) -> bool {
    let fixed = ["/@context", "/@type", "/id", "/security", "/title"];
    !pointer.is_empty() && !fixed.iter().any(|start| pointer.starts_with(start))
}

/// Removes a member or an element.
fn remove(thing: &mut Value, pointer: &str) {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    match thing.pointer_mut(parent) {
        Some(Value::Object(members)) => drop(members.remove(&last.replace("~1", "/").replace("~0", "~"))),
        Some(Value::Array(elements)) => {
            let index = last.parse::<usize>().unwrap();
            if index < elements.len() {
                elements.remove(index);
            }
        }
        // What is around it was removed.
        _ => {}
    }
}

/// The texts of `base` that are in none of `edited`.
fn taken_out(base: &Value, edited: &Value) -> BTreeSet<String> {
    let strings = |value: &Value| {
        let mut found = Vec::new();
        strings_of(value, &mut found);
        found
    };
    let mut served = Vec::new();
    all_texts(edited, &mut |text| served.push(text));
    let is_served = |text: &String| served.iter().any(|other| other.contains(text.as_str()));
    strings(base).into_iter().filter(|text| text.len() > 1 && !is_served(text)).collect()
}

fn strings_of(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(elements) => elements.iter().for_each(|element| strings_of(element, found)),
        // Words of its language stand in it, whatever the description is.
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| !VOCABULARY.contains(&name.as_str()))
            .for_each(|(_, member)| strings_of(member, found)),
        _ => {}
    }
}

/// Words of formats that stand in a document whatever the description is.
const WORDS: [&str; 14] = [
    "GET",
    "POST",
    "string",
    "http",
    "bearer",
    "apiKey",
    "header",
    "text/plain",
    "JSONRPC",
    "HTTP+JSON",
    "streamable-http",
    "function_call",
    "object",
    "stdio",
];

/// Edits a document, and checks that nothing that was taken out is in what is exported. False if it is refused.
fn check(format: Format, document: &str, edit: impl FnOnce(&mut Value)) -> bool {
    let (base, mut edited) = (imported(format, document.as_bytes(), &options()), Value::Null);
    let exported = exported_or_refused(format, document, &options(), |thing| {
        edit(thing);
        edited = thing.clone();
    });
    let Some(exported) = exported else {
        let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
        all_texts(&base, &mut |text| before.extend([text.to_owned()]));
        all_texts(&edited, &mut |text| after.extend([text.to_owned()]));
        assert!(!before.is_subset(&after), "{format}: refused, and nothing was taken out");
        return false;
    };
    let mut left = Vec::new();
    strings_of(&serde_json::from_slice(&exported.bytes).unwrap(), &mut left);
    for gone in taken_out(&base, &edited) {
        let is_there = |text: &&String| **text == gone || gone.len() >= 12 && text.contains(&gone);
        let found = left.iter().find(is_there).filter(|_| !WORDS.contains(&gone.as_str()));
        assert_eq!(found, None, "{format} still has {gone:?}: {}", text(&exported));
    }
    true
}

#[test]
fn no_place_of_a_description_that_is_taken_out_is_exported() {
    let (mut done, mut refused) = (0, 0);
    for (format, document, _) in DOCUMENTS {
        let mut pointers = Vec::new();
        places(&imported(*format, document.as_bytes(), &options()), String::new(), &mut pointers);
        for pointer in pointers.iter().filter(|pointer| may_be_edited(pointer)) {
            match check(*format, document, |thing| remove(thing, pointer)) {
                true => done += 1,
                false => {
                    println!("{format} {pointer}: refused");
                    refused += 1;
                }
            }
        }
    }
    println!("{done} edits exported, {refused} refused");
    assert!(done > refused, "{done} edits exported, {refused} refused");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_taken_out_or_replaced_is_not_exported(
        document in any::<Index>(), removed in prop::collection::vec(any::<Index>(), 0..4),
        replaced in prop::collection::vec((any::<Index>(), "[A-Z][a-z]{3,9} [a-z]{4,9}"), 0..4),
    ) {
        let (format, document, _) = document.get(DOCUMENTS);
        let mut pointers = Vec::new();
        places(&imported(*format, document.as_bytes(), &options()), String::new(), &mut pointers);
        pointers.retain(|pointer| may_be_edited(pointer));
        check(*format, document, |thing| {
            for (place, words) in &replaced {
                let pointer: &String = place.get(&pointers);
                match thing.pointer_mut(pointer) {
                    Some(text @ Value::String(_)) if !pointer.ends_with("href") => *text = words.as_str().into(),
                    _ => {}
                }
            }
            removed.iter().for_each(|place| remove(thing, place.get::<String>(&pointers)));
        });
    }
}

#[test]
fn last_skill_that_is_removed_is_not_exported() {
    let card = r#"{"name": "Desk", "description": "Answers", "version": "1.0.0", "url": "https://desk.example/a2a",
  "protocolVersion": "0.3.0", "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
  "skills": [{"id": "merger", "name": "Falcon", "description": "internal project FALCON", "tags": ["falcon"], "examples": ["Who?"]}]}"#;
    let is_exported = |edit: fn(&mut Value)| check(Format::A2a, card, edit);
    assert!(!is_exported(|thing| {
        ["actions", "lmos:capabilities"].iter().for_each(|name| drop(thing.as_object_mut().unwrap().remove(*name)));
    }));
    let two = card.replace(
        "\"skills\": [",
        r#""skills": [{"id": "faq", "name": "Questions", "description": "Says", "tags": []}, "#,
    );
    let exported = exported(Format::A2a, &two, &options(), |thing| {
        thing["actions"].as_object_mut().unwrap().remove("merger");
        thing["lmos:capabilities"].as_array_mut().unwrap().pop();
    });
    assert!(!text(&exported).to_lowercase().contains("falcon") && text(&exported).contains("Questions"));
}

#[test]
fn tool_goes_with_its_capability() {
    let exported = exported(Format::AgentSpec, AGENT, &options(), |thing| {
        let capabilities = thing["lmos:capabilities"].as_array_mut().unwrap();
        capabilities.retain(|capability| capability["lmos:name"] != "find_trains");
    });
    assert!(
        !text(&exported).contains("find_trains") && text(&exported).contains("\"rate\": 2.50"),
        "{}",
        text(&exported)
    );
}

#[test]
fn refusal_does_not_say_what_was_taken_out() {
    let base = imported(Format::AgentSpec, REFERRED.as_bytes(), &options());
    let document = REFERRED.replace("\"Help.\"", "\"Helps\"");
    let edited: Value = serde_json::from_str(&base.to_string().replace("\"Helps\"", "\"Other\"")).unwrap();
    let export = Format::AgentSpec.export().unwrap();
    let refused = export.with_edits(&Input::json(document.as_bytes()), &options(), &base, &edited).unwrap_err();
    assert!(matches!(&refused, Error::NotExpressible { .. }) && !refused.to_string().contains("Helps"), "{refused}");
}
