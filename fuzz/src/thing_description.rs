//! Thing Descriptions: whatever comes is admitted or refused; what is admitted is valid, stays as it is when it is
//! admitted again, and is the same when somebody writes back what was read. An array of two is one that changes to the
//! other.

#![no_main]

use agentdex::{
    Timestamp,
    td::{
        Document, Identity, Layers, Notes, Registration, Strictness, admit, capabilities, enrich, flags,
        merge_patch::{apply, diff},
        validate,
    },
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, value::RawValue};

fuzz_target!(|bytes: &[u8]| {
    let pair = serde_json::from_slice::<Vec<&RawValue>>(bytes).ok().filter(|documents| documents.len() == 2);
    match pair.as_deref() {
        Some([before, after]) => {
            if let (Some(before), Some(after)) = (admitted(before.get().as_bytes()), admitted(after.get().as_bytes())) {
                compare(&before, &after);
            }
        }
        _ => drop(admitted(bytes)),
    }
});

/// The stored form of a document, if it is admitted.
fn admitted(bytes: &[u8]) -> Option<String> {
    let _ = Document::parse(bytes).map(|document| validate(&document, Layers::All));
    let document = Document::parse(bytes).ok()?;
    let thing =
        admit(document, Identity::Assigned("urn:uuid:1c1dbb5f-3d6b-4d0e-8f0a-2d1c6cf0ad02"), Strictness::Lenient)
            .or_else(|_| admit(Document::parse(bytes)?, Identity::Own, Strictness::Lenient))
            .ok()?
            .thing;
    for capability in capabilities(thing.value()) {
        assert!(!capability.key().is_empty());
    }
    let flags = flags(thing.value());
    assert!(flags.iter().all(|flag| thing.value().pointer(&flag.pointer).is_some()), "{flags:?}");
    let (id, text) = (thing.id().to_owned(), thing.into_text());
    let registration = Registration {
        created: Timestamp(0),
        modified: Timestamp(1),
        expires: Some(Timestamp(i64::MAX / 2)),
        ttl: Some(1),
        retrieved: None,
    };
    for again in [text.clone(), enrich(&text, &registration, Notes { flags: &flags, part_of: &[] })] {
        let document = Document::parse(again.as_bytes()).expect("what is stored and shown is JSON");
        let thing = admit(document, Identity::Addressed(&id), Strictness::Strict).expect("it needs no fix").thing;
        // A context may have other escapes once another entry was taken out of it, and one in brackets loses these.
        if !has_one_bracketed_context(&text) {
            assert_eq!(diff(&text, thing.text()), None);
        }
    }
    Some(text)
}

fn has_one_bracketed_context(text: &str) -> bool {
    let thing: Value = serde_json::from_str(text).expect("what is stored is JSON");
    matches!(thing["@context"].as_array().map(Vec::as_slice), Some([Value::String(_)]))
}

fn compare(before: &str, after: &str) {
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("what is stored is JSON");
    let patched =
        diff(before, after).map_or_else(|| before.to_owned(), |patch| apply(before, &patch).expect("a patch"));
    // A patch can't set a member to null.
    if !after.contains("null") {
        assert_eq!(read(&patched), read(after));
    }
}
