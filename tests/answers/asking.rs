//! Which agent is asked, and who isn't.

use serde_json::{Value, json};

use crate::{
    consumer::{
        agentdex,
        server::{Said, Server},
    },
    support::TestRegistry,
};

fn put(registry: &TestRegistry, id: &str, title: &str, description: &str, actions: Value) {
    let mut thing = crate::consumer::thing(json!({"description": description, "actions": actions}));
    thing["id"] = id.into();
    thing["title"] = title.into();
    registry.put(&format!("/things/{id}"), thing.to_string()).expect(201);
}

fn ask(registry: &TestRegistry, words: &[&str]) -> (Option<i32>, String, String) {
    let output = agentdex(registry, &[&["ask"], words].concat(), "");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn one_text_is_what_is_searched_for_and_what_is_asked() {
    let server = Server::start(|request| Said::json(request.json()));
    let registry = TestRegistry::start();
    let talk = json!({"ask": {"input": {"type": "string"}, "forms": [{"href": &server.origin}]}});
    put(&registry, "urn:example:units", "Unit converter", "Converts miles to kilometers.", talk);
    let (code, out, err) = ask(&registry, &["convert 42 miles to kilometers"]);
    assert_eq!((code, out.as_str()), (Some(0), "convert 42 miles to kilometers\n"), "{err}");
}

#[test]
fn who_can_not_be_asked_is_said_and_nobody_far_behind_is_asked_instead() {
    let server = Server::start(|_| Said::json(json!("A room in Rome.")));
    let registry = TestRegistry::start();
    let form = json!([{"href": &server.origin}]);
    let of_numbers = json!({"type": "object", "properties": {"nights": {"type": "integer"}}, "required": ["nights"]});
    put(
        &registry,
        "urn:example:travel",
        "Hotel booking",
        "Books a hotel room: hotel booking in all cities.",
        json!({"reserve": {"input": of_numbers, "forms": form}, "cancel": {"forms": form}}),
    );
    put(
        &registry,
        "urn:example:phones",
        "Customer care",
        "Answers questions about phone contracts and bills, also those of a hotel.",
        json!({"ask": {"input": {"type": "string"}, "forms": form}}),
    );
    let words = ["book a hotel", "A room in Rome"];
    let (code, out, err) = ask(&registry, &words);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    assert!(
        err.contains("Hotel booking (")
            && err.contains("it has several actions, but no action is known to accept messages"),
        "{err}"
    );
    assert!(err.contains("Customer care (") && err.contains("--agent urn:example:phones"), "{err}");
    assert!(server.received().is_empty());
    // The same with an action that can be named, whose input has no place for a text.
    let (code, _, err) = ask(&registry, &["book a hotel", "A room in Rome", "--action", "reserve"]);
    assert!(
        code == Some(1) && err.contains("the input has no member for text (expected an object with nights"),
        "{err}"
    );
    // One that matches nearly as well is asked, and said to be.
    put(
        &registry,
        "urn:example:rooms",
        "Hotel rooms",
        "Books a hotel room: hotel booking in all cities.",
        json!({"ask": {"input": {"type": "string"}, "forms": form}}),
    );
    let (code, out, err) = ask(&registry, &words);
    assert_eq!((code, out.as_str()), (Some(0), "A room in Rome.\n"), "{err}");
    let is_first = !err.contains("can't ask ");
    assert!(is_first || err.contains("asking Hotel rooms ("), "{err}");
    assert_eq!(server.received().len(), 1);
}
