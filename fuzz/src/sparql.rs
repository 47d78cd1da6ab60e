//! SPARQL queries: whatever comes is answered or refused, in time.

#![no_main]

use std::sync::LazyLock;

use agentdex::{
    search::sparql::{Format, QuadStore, Query, Snapshot},
    td::json_ld::Expander,
};
use libfuzzer_sys::fuzz_target;

static DATA: LazyLock<Snapshot> = LazyLock::new(|| {
    let (mut store, expander) = (QuadStore::new(), Expander::new());
    for number in 0..5 {
        let thing = format!(
            r#"{{"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:{number}", "title": "Thing {number}",
                "properties": {{"on": {{"type": "boolean", "forms": [{{"href": "/on"}}]}}}}}}"#
        );
        let statements = expander.read(&thing).expect("a description");
        store.put(&format!("urn:{number}"), &statements.quads).expect("room");
    }
    store.commit()
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(query) = Query::parse(text) else { return };
    for (format, _) in Format::all_for(query.kind()) {
        let _ = query.evaluate(&DATA, &[], format);
    }
});
