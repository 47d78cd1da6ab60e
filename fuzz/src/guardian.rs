//! Requests of AOS: whatever comes is answered in JSON-RPC or, where it is a notification, by nothing; agents that are
//! read become valid Thing Descriptions and come back.

#![no_main]

use std::sync::LazyLock;

use agentdex::{
    Registry,
    convert::aos::{AgentDocument, Options, from_thing},
    td::{Identity, Strictness, admit},
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let directory = std::env::temp_dir().join(format!("agentdex-fuzz-{}", std::process::id()));
    Registry::builder(directory).open().expect("a registry to fuzz")
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(body) = serde_json::from_slice::<Value>(bytes) else { return };
    let reply = serde_json::to_value(REGISTRY.guardian().answer(&body)).expect("an answer is JSON");
    let answers = match &reply {
        Value::Null => &[],
        Value::Array(answers) => answers.as_slice(),
        one => std::slice::from_ref(one),
    };
    for answer in answers {
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
        assert_ne!(answer["error"]["code"], -32603, "{answer}");
    }
    for agent in [&body, &body["params"]["context"]["agent"]] {
        let Ok(document) = AgentDocument::parse(agent.to_string().as_bytes(), true) else { continue };
        let Ok(mut conversion) = document.to_thing(&Options::default()) else { continue };
        let thing = conversion.things.remove(0).description;
        let admitted = admit(thing, Identity::Own, Strictness::Strict).expect("a valid Thing Description");
        let exported = from_thing(admitted.thing.value()).expect("an agent comes back");
        AgentDocument::parse(&exported.bytes, true).expect("what is exported is read");
    }
});
