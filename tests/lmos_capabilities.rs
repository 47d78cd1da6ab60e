//! LMOS capability files as Things and back.

use agentdex::{
    convert::{
        Error, Format,
        lmos_capabilities::{Options, from_thing, to_thing},
    },
    td::{self, Document, Identity, Strictness},
};
use serde_json::{Value, json};

fn file() -> Value {
    json!({
        "id": "urn:example:agent:billing",
        "description": "Explains bills.",
        "supportedTenants": ["de", "at"],
        "supportedChannels": ["web"],
        "capabilities": [
            {"id": "urn:cap:view", "name": "view-bill", "version": "1.2.0", "description": "Shows a bill", "examples": ["my bill"]},
            {"name": "pay-bill", "version": "0.9.0-beta.1"},
        ],
    })
}

fn thing(file: &Value, options: &Options) -> (Value, Vec<String>) {
    let text = file.to_string();
    let conversion = to_thing(text.as_bytes(), options).unwrap();
    let converted = &conversion.things[0];
    assert_eq!(converted.source.format, Format::LmosCapabilities);
    assert_eq!(converted.source.bytes, text.as_bytes());
    let document = Document::parse(converted.description.text().as_bytes()).unwrap();
    let admission = td::admit(document, Identity::Own, Strictness::Strict).unwrap();
    let warnings = conversion.warnings.iter().map(|warning| format!("{} {}", warning.rule, warning.pointer));
    (admission.thing.value().clone(), warnings.collect())
}

fn refusal(file: &Value) -> String {
    match to_thing(file.to_string().as_bytes(), &Options::default()) {
        Err(Error::InvalidSource { format: "lmos-capabilities", report }) => report.violations[0].message.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_becomes_a_valid_thing_and_comes_back_equal() {
    let (thing, warnings) = thing(&file(), &Options::default());
    assert_eq!(warnings, [""; 0]);
    assert_eq!(thing["id"], "urn:example:agent:billing");
    assert_eq!(thing["lmos:supportedTenants"], json!(["de", "at"]));
    let keys: Vec<_> = td::capabilities(&thing).iter().map(|capability| capability.key().to_owned()).collect();
    assert_eq!(keys, ["urn:cap:view", "pay-bill"]);
    let back: Value = serde_json::from_str(&from_thing(&thing).unwrap()).unwrap();
    assert_eq!(back, file());
}

#[test]
fn the_id_is_that_of_the_file_the_one_given_or_made_of_the_address() {
    let mut anonymous = file();
    anonymous.as_object_mut().unwrap().remove("id");
    assert_eq!(refusal(&anonymous), "the file has no `id`; give an `id`, or the URL of the file as `base`");
    let base = Some("https://billing.example/.well-known/capabilities.json".to_owned());
    let (from_url, _) = thing(&anonymous, &Options { id: None, base: base.clone() });
    assert!(from_url["id"].as_str().unwrap().starts_with("urn:uuid:"));
    assert_eq!(from_url["links"][0]["href"], base.clone().unwrap());
    let (given, _) = thing(&file(), &Options { id: Some("my agent".into()), base });
    assert_eq!(given["id"], "urn:agentdex:my%20agent");
    let mut short = file();
    short["id"] = "billing agent".into();
    assert_eq!(thing(&short, &Options::default()).0["id"], "urn:agentdex:billing%20agent");
}

#[test]
fn what_only_the_file_has_is_kept_and_comes_back() {
    let own = json!({
        "id": "billing agent", "x": {"y": [1]}, "version": "5",
        "capabilities": [
            {"name": "a", "version": "1.0.0", "x": 1, "tags": ["b"]},
            {"name": "a", "version": "2.0.0"},
            {"id": "urn:i", "name": "b", "version": "1.0.0"},
            {"id": "urn:i", "name": "c", "version": "1.0.0"},
        ],
    });
    let (thing_of_own, _) = thing(&own, &Options::default());
    assert_eq!(thing_of_own["id"], "urn:agentdex:billing%20agent");
    assert_eq!(thing_of_own["@context"][1]["lmos-file"], "urn:agentdex:lmos-file:");
    assert_eq!(thing_of_own["lmos-file:x"], own["x"]);
    let empty = json!({"id": "urn:x", "capabilities": []});
    for file in [own, empty] {
        let (thing, _) = thing(&file, &Options::default());
        assert_eq!(serde_json::from_str::<Value>(&from_thing(&thing).unwrap()).unwrap(), file);
    }
}

#[test]
fn of_the_address_nothing_is_kept_but_the_place() {
    let mut anonymous = file();
    anonymous.as_object_mut().unwrap().remove("id");
    let from = |url: &str| thing(&anonymous, &Options { id: None, base: Some(url.into()) }).0;
    let secret = from("https://user:word@billing.example/capabilities.json?key=secret#part");
    assert_eq!(secret["links"][0]["href"], "https://billing.example/capabilities.json");
    assert_eq!(secret["id"], from("https://billing.example/capabilities.json")["id"]);
}

#[test]
fn a_capability_and_the_action_of_its_name_are_one() {
    let thing = json!({
        "title": "x", "id": "urn:x", "version": {"instance": "3.0.0"},
        "lmos:capabilities": [{"id": "urn:cap:view", "name": "view", "version": "1.0.0"}],
        "actions": {"view": {"description": "acts"}, "pay": {}},
    });
    let file: Value = serde_json::from_str(&from_thing(&thing).unwrap()).unwrap();
    let listed =
        json!([{"id": "urn:cap:view", "name": "view", "version": "1.0.0"}, {"name": "pay", "version": "3.0.0"}]);
    assert_eq!(file["capabilities"], listed);
}

#[test]
fn what_is_odd_is_mended_and_reported() {
    let odd = json!({
        "id": "urn:x", "supported_tenants": "de", "supportedChannels": null,
        "capabilities": [{"name": "a", "version": 1}, "b", {"name": "c"}],
    });
    let (thing, mut warnings) = thing(&odd, &Options::default());
    warnings.sort();
    assert_eq!(
        warnings,
        [
            "member-missing /capabilities/2",
            "member-spelling ",
            "member-type /capabilities/0/version",
            "member-type /capabilities/1",
            "member-type /supportedTenants",
            "version /capabilities/0/version",
        ]
    );
    assert_eq!(thing["lmos:capabilities"], json!([{"lmos:name": "a", "lmos:version": "1"}, {"lmos:name": "c"}]));
    assert_eq!(thing["lmos:supportedTenants"], json!(["de"]));
}

#[test]
fn other_documents_are_told_what_they_look_like() {
    let plain = "not an LMOS capability file: it has no list of `capabilities`";
    assert_eq!(refusal(&json!({"capabilities": {}})), plain);
    assert_eq!(
        refusal(&json!({"skills": [], "capabilities": []})),
        "not an LMOS capability file: it looks like an A2A agent card (format a2a)"
    );
    let listed = json!([{"name": "a", "version": "1.0.0"}]);
    for (document, name) in [
        (
            json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "title": "x", "capabilities": listed}),
            "Thing Description",
        ),
        (
            json!({"name": "x", "url": "https://x.example", "skills": [{"id": "a"}], "capabilities": listed}),
            "A2A agent card",
        ),
        (
            json!({"name": "x", "url": "https://x.example", "protocolVersion": "0.3.0", "capabilities": ["streaming"]}),
            "A2A agent card",
        ),
    ] {
        let refusal = refusal(&document);
        let article = if name.starts_with('A') { "n" } else { " W3C" };
        assert!(refusal.contains(&format!("it looks like a{article} {name} (format ")), "{refusal}");
    }
    assert_eq!(refusal(&json!({"capabilities": ["a", "b"]})), plain);
    assert!(
        refusal(&json!({"capabilities": {"tools": {}}}))
            .contains("it looks like a description of an MCP server (format mcp-server)")
    );
    let Err(Error::MalformedJson { message, .. }) = to_thing(b"<html></html>", &Options::default()) else {
        panic!("read")
    };
    assert!(message.contains("web page"), "{message}");
    assert!(refusal(&json!([])).contains("it is not an object"));
}

#[test]
fn more_capabilities_than_a_thing_may_have_are_refused() {
    let mut large = file();
    large["capabilities"] = (0..1001).map(|n| json!({"name": format!("c{n}"), "version": "1.0.0"})).collect();
    let refused = to_thing(large.to_string().as_bytes(), &Options::default());
    assert!(matches!(refused, Err(Error::LimitExceeded { maximum: 1000, .. })), "{refused:?}");
    large["capabilities"].as_array_mut().unwrap().pop();
    thing(&large, &Options::default());
}

#[test]
fn any_thing_whose_versions_are_known_has_a_file() {
    let mut thing = json!({
        "title": "x", "id": "urn:x", "version": {"instance": "2.0.0"},
        "lmos:capabilities": [{"lmos:name": "a", "lmos:version": "1.0.0"}],
        "actions": {"b": {"description": "does b"}},
    });
    let file: Value = serde_json::from_str(&from_thing(&thing).unwrap()).unwrap();
    let capabilities =
        json!([{"name": "a", "version": "1.0.0"}, {"name": "b", "version": "2.0.0", "description": "does b"}]);
    assert_eq!(file, json!({"id": "urn:x", "capabilities": capabilities}));
    thing.as_object_mut().unwrap().remove("version");
    let Err(Error::NotExpressible { reason, .. }) = from_thing(&thing) else { panic!("expressed") };
    assert_eq!(
        reason,
        "neither \"b\" nor the Thing has a version; add `lmos:version` to the capability, or `version.instance` to the Thing"
    );
    assert!(matches!(from_thing(&json!({"title": "x"})), Err(Error::NotExpressible { .. })));
}
