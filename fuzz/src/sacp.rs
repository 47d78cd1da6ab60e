//! Responses in SACP: every text is read, what is read comes back, and conditions, templates and chains made of the same
//! bytes end.

#![no_main]

use agentdex::sacp::{Chain, Condition, Found, MAX_TEXT_BYTES, Outputs, Response, Task, Template, read};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// How many steps of a chain are taken.
const STEPS: usize = 50;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    assert!(text.len() <= MAX_TEXT_BYTES);
    let reading = read(text);
    let response = reading.response.clone();
    if reading.found == Found::Nowhere {
        assert_eq!(response.data["raw_output"], text);
        assert!(!reading.violations.is_empty());
    }
    let written = response.to_value();
    assert_eq!(serde_json::from_value::<Response>(written.clone()).expect("a response"), response);
    let again = read(&written.to_string());
    assert_eq!((again.response, again.found), (response.clone(), Found::Whole));

    for line in text.lines().take(4) {
        if let Ok(condition) = line.parse::<Condition>() {
            let _ = condition.holds(&response);
        }
    }
    let Ok(json) = serde_json::from_str::<Value>(text) else { return };
    let outputs = Outputs::from([("a".to_owned(), response.clone())]);
    let _ = Template::new(json.clone()).fill(&outputs, Some(&json));
    let Ok(chain) = Chain::new(json) else { return };
    let mut state = chain.start(Value::Null);
    for _ in 0..STEPS {
        if state.outcome().is_some() {
            break;
        }
        let (place, asks) = {
            let due = chain.due(&state);
            let first = due.first().expect("a run that has not ended waits for something");
            (first.place.clone(), matches!(first.task, Task::Ask { .. }))
        };
        let is_taken = match asks {
            true => chain.answer(&mut state, &place, Value::from("yes")),
            false => chain.take(&mut state, &place, response.clone()),
        };
        assert!(is_taken);
    }
});
