//! Tests of edits in documents of every format: importing the result yields the edited Thing, except for values listed
//! in warnings.

mod collections;
mod documents;
mod removed;

use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use self::documents::*;
use super::{RULE, change::changes};
use crate::{Error, Format, ImportOptions, Input, Rendition};

fn options() -> ImportOptions {
    ImportOptions::of_fetched(Some("urn:example:edited"), None)
}

fn imported(format: Format, document: &[u8], options: &ImportOptions) -> Value {
    let conversion = format.import().unwrap().to_things(&Input::json(document), options);
    let conversion = conversion.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(document)));
    conversion.things[0].description.value().clone()
}

/// The document with an edit, which was checked: importing it gives the edited Thing, but for what warnings say.
fn exported(format: Format, document: &str, options: &ImportOptions, edit: impl FnOnce(&mut Value)) -> Rendition {
    exported_or_refused(format, document, options, edit).unwrap_or_else(|| panic!("{format}: refused"))
}

/// The same; none if something that the edit took out would remain.
fn exported_or_refused(
    format: Format,
    document: &str,
    options: &ImportOptions,
    edit: impl FnOnce(&mut Value),
) -> Option<Rendition> {
    let base = imported(format, document.as_bytes(), options);
    let mut edited = base.clone();
    edit(&mut edited);
    let exported = format.export().unwrap().with_edits(&Input::json(document.as_bytes()), options, &base, &edited);
    let exported = match exported {
        Err(Error::NotExpressible { reason, .. }) => {
            assert!(reason.contains("edits=false"), "{reason}");
            return None;
        }
        exported => exported.unwrap(),
    };
    let again = imported(format, &exported.bytes, options);
    let missing: Vec<String> = changes(&again, &edited).iter().map(super::Change::pointer).collect();
    let warned: Vec<String> = exported
        .warnings
        .iter()
        .filter(|warning| warning.rule == RULE)
        .map(|warning| warning.pointer.clone())
        .collect();
    assert_eq!(missing, warned, "{}", String::from_utf8_lossy(&exported.bytes));
    Some(exported)
}

fn text(rendition: &Rendition) -> &str {
    std::str::from_utf8(&rendition.bytes).unwrap()
}

/// Another value of the same kind.
fn other(value: &Value, salt: &str) -> Value {
    match value {
        Value::String(text) if text.starts_with("http") => format!("{text}/{salt}").into(),
        Value::String(text) if text.starts_with(|first: char| first.is_ascii_digit()) => format!("{text}.1").into(),
        Value::String(text) => format!("{text} {salt}").into(),
        Value::Number(_) => 7.into(),
        other => panic!("{other}"),
    }
}

#[test]
fn each_member_with_a_place_is_put_there() {
    for (format, document, pointers) in DOCUMENTS {
        for pointer in *pointers {
            let exported = exported(*format, document, &options(), |thing| {
                let place = thing.pointer_mut(pointer).unwrap_or_else(|| panic!("{format} {pointer}"));
                *place = other(place, "edited");
            });
            assert_eq!(exported.warnings, [], "{format} {pointer} {}", text(&exported));
            assert_ne!(text(&exported), *document, "{format} {pointer}");
            assert!(text(&exported).contains("2.50") || !document.contains("2.50") || pointer.ends_with("rate"));
        }
    }
}

#[test]
fn member_that_was_missing_is_added_and_one_that_is_removed_goes() {
    let card = r#"{"name": "W", "description": "d", "version": "1", "url": "https://w.example/a2a", "capabilities": {},
  "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
  "skills": [{"id": "s", "name": "S", "description": "d", "tags": []}]}"#;
    let server = r#"{"name": "com.example/w", "description": "d", "version": "1.0.0",
  "remotes": [{"type": "streamable-http", "url": "https://w.example/mcp"}]}"#;
    let aos = AOS.replace(r#" "description": "Books trips","#, "");
    let file = r#"{"id": "urn:example:b", "capabilities": [{"name": "view", "version": "1.0.0"}]}"#;
    let agent = AGENT
        .replace(r#" "description": "Helps travellers","#, "")
        .replace(r#""metadata": {"tags": ["travel"], "rate": 2.50}, "#, "");
    let cases: [(Format, &str, &str, Value, &str); 12] = [
        (
            Format::A2a,
            card,
            "/links",
            json!([{"rel": "service-doc", "href": "https://w.example/docs"}]),
            r#""documentationUrl": "https://w.example/docs""#,
        ),
        (
            Format::A2a,
            card,
            "/links",
            json!([{"rel": "icon", "href": "https://w.example/i.png"}]),
            r#""iconUrl": "https://w.example/i.png""#,
        ),
        (
            Format::A2a,
            card,
            "/lmos:metadata",
            json!({"lmos:vendor": {"lmos:name": "V", "lmos:url": "https://v.example"}}),
            r#""provider": {"organization":"V","url":"https://v.example"}"#,
        ),
        (Format::A2a, card, "/lmos:capabilities/0/lmos:examples", json!(["Why?"]), r#""examples": ["Why?"]"#),
        (
            Format::McpServer,
            server,
            "/links",
            json!([{"rel": "service-doc", "href": "https://w.example/docs"}]),
            r#""websiteUrl": "https://w.example/docs""#,
        ),
        (
            Format::McpServer,
            server,
            "/links",
            json!([{"rel": "icon", "href": "https://w.example/i.png", "type": "image/png"}]),
            r#""icons": [{"mimeType":"image/png","src":"https://w.example/i.png"}]"#,
        ),
        (Format::Aos, &aos, "/description", json!("Books a trip"), r#""description": "Books a trip""#),
        (Format::LmosCapabilities, file, "/description", json!("Shows"), r#""description": "Shows""#),
        (Format::LmosCapabilities, file, "/lmos:supportedTenants", json!(["de"]), r#""supportedTenants": ["de"]"#),
        (
            Format::LmosCapabilities,
            file,
            "/lmos:capabilities/0/lmos:description",
            json!("Shows"),
            r#""description": "Shows""#,
        ),
        (Format::AgentSpec, &agent, "/description", json!("Helps"), r#""description": "Helps""#),
        (
            Format::AgentSpec,
            &agent,
            "/support",
            json!("mailto:a@b.example"),
            r#""metadata": {"thingDescriptionEdits":[{"op":"add","path":"/support","value":"mailto:a@b.example"}]}"#,
        ),
    ];
    for (format, document, pointer, value, written) in cases {
        let added = exported(format, document, &options(), |thing| {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            thing.pointer_mut(parent).unwrap()[name] = value.clone();
        });
        assert_eq!(added.warnings, [], "{format} {pointer} {}", text(&added));
        assert!(text(&added).contains(written), "{format} {pointer} {}", text(&added));
        let back = exported(format, text(&added), &options(), |thing| {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            thing.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
        });
        assert_eq!(back.warnings, [], "{format} {pointer} {}", text(&back));
        assert!(!text(&back).contains(written), "{format} {pointer} {}", text(&back));
    }
}

#[test]
fn what_nobody_edited_is_every_byte() {
    for (format, document, _) in DOCUMENTS {
        let exported = exported(*format, document, &options(), |_| ());
        assert_eq!((text(&exported), exported.warnings.len()), (*document, 0));
        // What the registry says of a Thing is no edit.
        let base = imported(*format, document.as_bytes(), &options());
        let mut served = base.clone();
        (served["registration"], served["agentdex:status"]) = (json!({"created": "now"}), "stale".into());
        let input = Input::json(document.as_bytes());
        let exported = format.export().unwrap().with_edits(&input, &options(), &base, &served).unwrap();
        assert_eq!((text(&exported), exported.warnings.len()), (*document, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any edit of any documents: some members with places, some members without, some removed.
    #[test]
    fn whatever_is_edited_is_exported_or_warned_of(
        document in any::<Index>(), picked in prop::collection::vec(any::<Index>(), 0..4), salt in "[a-z]{1,8}",
        support in any::<bool>(), removed in prop::option::of(any::<Index>()), added in any::<bool>(),
    ) {
        let (format, document, pointers) = document.get(DOCUMENTS);
        let exported = exported_or_refused(*format, document, &options(), |thing| {
            for picked in &picked {
                let pointer: &&str = picked.get(pointers);
                let place = thing.pointer_mut(pointer).unwrap();
                *place = other(place, &salt);
            }
            if let Some(removed) = removed {
                let names: Vec<String> = thing.as_object().unwrap().keys().cloned().collect();
                let name = removed.get(&names);
                if !["@context", "id", "title", "security", "securityDefinitions"].contains(&name.as_str()) {
                    thing.as_object_mut().unwrap().remove(name);
                }
            }
            if support {
                thing["support"] = "mailto:me@example.org".into();
            }
            if added && let Some(entries) = thing.get_mut("lmos:capabilities").and_then(Value::as_array_mut) {
                entries.push(json!({"lmos:id": "more", "lmos:name": "more", "lmos:version": "2.0.0", "lmos:tags": []}));
            }
        });
        prop_assert!(exported.is_some() || removed.is_some(), "{format}: refused, and nothing was taken out");
        let Some(exported) = exported else { return Ok(()) };
        prop_assert!(!support || *format == Format::AgentSpec || exported.warnings.iter().any(|w| w.pointer == "/support"));
        prop_assert!(*format != Format::AgentSpec || exported.warnings.is_empty(), "{:?}", exported.warnings);
    }
}

#[test]
fn card_stays_in_its_generation_and_loses_signatures() {
    let signed =
        CARD_0.replacen('{', r#"{"signatures": [{"protected": "eyJhbGciOiJFUzI1NiJ9", "signature": "c2ln"}], "#, 1);
    let edited = exported(Format::A2a, &signed, &options(), |thing| {
        thing["description"] = "Says \"rain\"".into();
        thing.as_object_mut().unwrap().remove("a2a:signatures");
    });
    let rules: Vec<_> = edited.warnings.iter().map(|warning| warning.rule.as_ref()).collect();
    assert_eq!(rules, ["signatures-left-out"]);
    assert_eq!(text(&edited), CARD_0.replace("\"Forecasts\"", r#""Says \"rain\"""#));

    // What isn't in the card leaves it as it was signed.
    let base = imported(Format::A2a, signed.as_bytes(), &options());
    let mut thing = base.clone();
    thing["support"] = "mailto:me@example.org".into();
    let export = Format::A2a.export().unwrap();
    let kept = export.with_edits(&Input::json(signed.as_bytes()), &options(), &base, &thing).unwrap();
    assert_eq!((text(&kept), kept.warnings.len()), (signed.as_str(), 1));
}

#[test]
fn skills_are_added_and_removed() {
    let edited = exported(Format::A2a, CARD_1, &options(), |thing| {
        thing["lmos:capabilities"].as_array_mut().unwrap().remove(1);
        thing["actions"].as_object_mut().unwrap().remove("alert");
    });
    assert_eq!(edited.warnings, []);
    let start = CARD_1.find(",\n    {\"id\": \"alert\"").unwrap();
    let end = start + CARD_1[start..].find("]}").unwrap() + 2;
    assert_eq!(text(&edited), [&CARD_1[..start], &CARD_1[end..]].concat());

    let edited = exported(Format::A2a, CARD_1, &options(), |thing| {
        let entry =
            json!({"lmos:id": "tide", "lmos:name": "Tide", "lmos:description": "Says the tide", "lmos:tags": ["sea"]});
        thing["lmos:capabilities"].as_array_mut().unwrap().push(entry);
        let mut action = thing["actions"]["alert"].clone();
        (action["title"], action["description"]) = ("Tide".into(), "Says the tide".into());
        thing["actions"]["tide"] = action;
    });
    assert_eq!(edited.warnings, []);
    let card: Value = serde_json::from_slice(&edited.bytes).unwrap();
    let expected = json!({"id": "tide", "name": "Tide", "description": "Says the tide", "tags": ["sea"]});
    assert_eq!((&card["skills"][2], text(&edited).contains("1.50, ")), (&expected, false));
    assert!(text(&edited).contains("\"x-cost\": 1.50}"));
}

#[test]
fn interface_moves_with_its_forms() {
    let moved = exported(Format::A2a, CARD_1, &options(), |thing| {
        let text = thing.to_string().replace("https://w.example/rpc", "https://new.example/rpc");
        *thing = serde_json::from_str(&text).unwrap();
    });
    assert_eq!(moved.warnings, []);
    assert_eq!(text(&moved), CARD_1.replace("https://w.example/rpc", "https://new.example/rpc"));
    let moved = exported(Format::McpServer, SERVER, &options(), |thing| {
        let text = thing.to_string().replace("https://weather.example/mcp", "https://new.example/mcp");
        *thing = serde_json::from_str(&text).unwrap();
    });
    assert_eq!(moved.warnings, []);
    assert_eq!(text(&moved), SERVER.replace("https://weather.example/mcp", "https://new.example/mcp"));
}

#[test]
fn member_that_is_there_twice_is_edited_by_either() {
    // The forms alone, or the action alone: the card has one place for what the Thing says twice.
    for document in [CARD_0, CARD_1] {
        let interface =
            ["https://w.example/a2a", "https://w.example/rpc"].into_iter().find(|url| document.contains(url)).unwrap();
        let moved = exported(Format::A2a, document, &options(), |thing| {
            for kind in ["actions", "events"] {
                if let Some(affordances) = thing.get_mut(kind) {
                    *affordances =
                        serde_json::from_str(&affordances.to_string().replace(interface, "https://new.example/x"))
                            .unwrap();
                }
            }
        });
        let pointers: Vec<_> = moved.warnings.iter().map(|warning| warning.pointer.as_str()).collect();
        assert_eq!(pointers, ["/a2a:supportedInterfaces/0/url"]);
        assert_eq!(text(&moved), document.replace(interface, "https://new.example/x"));
        for (pointer, was, of_capability) in [
            ("/actions/forecast/description", "\"Says the weather\"", "/lmos:capabilities/0/lmos:description"),
            ("/actions/forecast/title", "\"Forecast\"", "/lmos:capabilities/0/lmos:name"),
        ] {
            let edited = exported(Format::A2a, document, &options(), |thing| {
                *thing.pointer_mut(pointer).unwrap() = "Edited".into();
            });
            assert_eq!((edited.warnings.len(), edited.warnings[0].pointer.as_str()), (1, of_capability));
            assert_eq!(text(&edited), document.replacen(was, "\"Edited\"", 1));
            let edited = exported(Format::A2a, document, &options(), |thing| {
                *thing.pointer_mut(of_capability).unwrap() = "Edited".into();
            });
            assert_eq!((edited.warnings.len(), edited.warnings[0].pointer.as_str()), (1, pointer));
            assert_eq!(text(&edited), document.replacen(was, "\"Edited\"", 1));
        }
    }
}

#[test]
fn one_part_of_an_edit_that_has_no_place_takes_nothing_along() {
    let edited = exported(Format::LmosCapabilities, FILE, &options(), |thing| {
        thing["description"] = "Edited".into();
        thing["title"] = "Other".into();
        thing["actions"] = json!({"run": {"forms": [{"href": "https://b.example/run", "op": "invokeaction"}]}});
    });
    let pointers: Vec<_> = edited.warnings.iter().map(|warning| warning.pointer.as_str()).collect();
    assert_eq!(pointers, ["/actions", "/title"]);
    assert_eq!(text(&edited), FILE.replace("\"Bills\"", "\"Edited\""));
}

#[test]
fn long_description_is_cut_in_server_json() {
    let edited = exported(Format::McpServer, SERVER, &options(), |thing| {
        thing["description"] = "x".repeat(101).into();
        thing["version"]["instance"] = "2.0.0".into();
    });
    assert_eq!(edited.warnings.len(), 1);
    let cut = format!("{}…", "x".repeat(99));
    assert_eq!(text(&edited), SERVER.replacen("\"1.0.0\"", "\"2.0.0\"", 1).replace("Tells the weather", &cut));
    // The former title would remain.
    let edited = exported_or_refused(Format::McpServer, SERVER, &options(), |thing| {
        thing["title"] = "x".repeat(101).into();
        thing["version"]["instance"] = "2.0.0".into();
    });
    assert_eq!(edited, None);
}

#[test]
fn configuration_keeps_what_it_has_no_place_for_in_its_metadata() {
    let edited = exported(Format::AgentSpec, AGENT, &options(), |thing| {
        thing["title"] = "Trains".into();
        thing["support"] = "mailto:me@example.org".into();
    });
    let configuration: Value = serde_json::from_slice(&edited.bytes).unwrap();
    assert_eq!(configuration["name"], "Trains");
    assert_eq!(
        configuration["metadata"]["thingDescriptionEdits"],
        json!([
            {"op": "add", "path": "/lmos:capabilities/0/lmos:id", "value": "travel-helper"},
            {"op": "add", "path": "/lmos:capabilities/0/lmos:name", "value": "Travel helper"},
            {"op": "add", "path": "/support", "value": "mailto:me@example.org"},
        ])
    );
    assert!(text(&edited).contains("\"rate\": 2.50"));
    // The next edit takes the place of what it concerns.
    let first = text(&edited).to_owned();
    let again = exported(Format::AgentSpec, &first, &options(), |thing| {
        thing["support"] = "mailto:you@example.org".into();
    });
    assert_eq!(text(&again), first.replace("me@example.org", "you@example.org"));
    let back = exported(Format::AgentSpec, &first, &options(), |thing| {
        thing.as_object_mut().unwrap().remove("support");
        thing["title"] = "Travel helper".into();
    });
    assert_eq!(text(&back), AGENT);
}

#[test]
fn exported_configuration_is_exported_with_the_edit() {
    let thing = imported(Format::A2a, CARD_1.as_bytes(), &options());
    let configuration = Format::AgentSpec.export().unwrap().from_thing(&thing, None).unwrap();
    let document = text(&configuration).to_owned();
    let edited = exported(Format::AgentSpec, &document, &ImportOptions::default(), |thing| {
        thing["description"] = "Edited".into();
        thing["support"] = "mailto:me@example.org".into();
    });
    assert_eq!(edited.warnings, []);
    let configuration: Value = serde_json::from_slice(&edited.bytes).unwrap();
    assert_eq!(configuration["description"], "Edited");
    assert_eq!(configuration["metadata"].as_object().unwrap().keys().collect::<Vec<_>>(), ["thingDescription"]);
    assert_eq!(configuration["metadata"]["thingDescription"]["support"], "mailto:me@example.org");
}

#[test]
fn import_with_options_that_nobody_knows_any_more_is_found() {
    for (name, value, further) in [
        ("base", "https://agents.example/{id}", None),
        ("base", "https://agents.example/x", Some(("protocol", "a2a"))),
        ("publish_prompts", "true", None),
    ] {
        let mut set = options();
        set.set(Format::AgentSpec, name, value).unwrap();
        further.into_iter().for_each(|(name, value)| set.set(Format::AgentSpec, name, value).unwrap());
        let base = imported(Format::AgentSpec, AGENT.as_bytes(), &set);
        let mut edited = base.clone();
        (edited["title"], edited["description"]) = ("Trains".into(), "Finds trains".into());
        let export = Format::AgentSpec.export().unwrap();
        let input = Input::json(AGENT.as_bytes());
        let exported = export.with_edits(&input, &ImportOptions::default(), &base, &edited).unwrap();
        assert_eq!(
            (exported.warnings.len(), imported(Format::AgentSpec, &exported.bytes, &set)),
            (0, edited),
            "{value}"
        );
        assert!(text(&exported).contains("\"name\": \"Trains\", \"description\": \"Finds trains\""));
    }
}

#[test]
fn part_of_a_document_is_exported_with_its_edit() {
    let agent = |id: &str| {
        let document = AGENT.replace("\"helper\"", &format!("\"{id}\"")).replace("Travel helper", id);
        document.replace("\"gpt\"", &format!("\"gpt {id}\"")).replace("\"find\"", &format!("\"find {id}\""))
    };
    let swarm = format!(
        r#"{{"component_type": "Swarm", "id": "s", "name": "S", "first_agent": {}, "relationships": [[{}, {}]], "agentspec_version": "25.4.2"}}"#,
        r#"{"$component_ref": "a"}"#, r#"{"$component_ref": "a"}"#, r#"{"$component_ref": "b"}"#
    );
    let defined =
        format!(r#""$referenced_components": {{"a": {}, "b": {}}}, "component_type""#, agent("a"), agent("b"));
    let swarm = swarm.replacen("\"component_type\"", &defined, 1);
    let mut set = ImportOptions::default();
    set.set(Format::AgentSpec, "nested", "true").unwrap();
    let conversion = Format::AgentSpec.import().unwrap().to_things(&Input::json(swarm.as_bytes()), &set).unwrap();
    assert_eq!(conversion.things.len(), 5);
    for thing in &conversion.things {
        let base = thing.description.value();
        let mut edited = base.clone();
        (edited["title"], edited["support"]) = ("Edited".into(), "mailto:me@example.org".into());
        let input = Input::json(&thing.source.bytes);
        let exported = Format::AgentSpec.export().unwrap().with_edits(&input, &set, base, &edited).unwrap();
        assert_eq!(exported.warnings, []);
        let again = imported(Format::AgentSpec, &exported.bytes, &set);
        assert_eq!(
            (&again["id"], &again["title"], &again["support"]),
            (&base["id"], &edited["title"], &edited["support"])
        );
    }
    // A part that was exported with an edit has it in a document around it, too.
    let edits =
        r#"{"thingDescriptionEdits": [{"op": "add", "path": "/support", "value": "mailto:me@example.org"}], "tags""#;
    let around = swarm.replacen("{\"tags\"", edits, 1);
    let conversion = Format::AgentSpec.import().unwrap().to_things(&Input::json(around.as_bytes()), &set).unwrap();
    let edited: Vec<_> =
        conversion.things.iter().map(|thing| thing.description.value().get("support").is_some()).collect();
    assert_eq!(edited.iter().filter(|edited| **edited).count(), 1, "{edited:?}");
}

#[test]
fn document_that_came_with_components_keeps_the_edit() {
    let document = r#"{"component_type": "Agent", "id": "a", "name": "A", "system_prompt": "Help.", "agentspec_version": "25.4.1",
        "llm_config": {"$component_ref": "gpt"}, "metadata": {"rate": 2.50}}"#;
    let model = br#"{"$referenced_components": {"gpt": {"component_type": "OpenAiConfig", "id": "gpt", "name": "gpt", "model_id": "gpt-4o"}}}"#;
    let components: &[(&[u8], crate::Syntax)] = &[(model, crate::Syntax::Json)];
    let beside = Input { components, ..Input::json(document.as_bytes()) };
    let thing_of = |input: &Input<'_>| {
        let conversion = Format::AgentSpec.import().unwrap().to_things(input, &options()).unwrap();
        conversion.things[0].description.value().clone()
    };
    let base = thing_of(&beside);
    let mut edited = base.clone();
    (edited["title"], edited["support"]) = ("Edited".into(), "mailto:me@example.org".into());
    // They aren't stored.
    for input in [Input::json(document.as_bytes()), beside] {
        let exported = Format::AgentSpec.export().unwrap().with_edits(&input, &options(), &base, &edited).unwrap();
        assert_eq!((exported.warnings.len(), text(&exported).contains("\"rate\": 2.50")), (0, true));
        assert_eq!(thing_of(&Input { bytes: &exported.bytes, ..beside }), edited, "{}", text(&exported));
    }
}

#[test]
fn word_that_is_edited_in_an_exported_configuration_is_edited_in_its_thing() {
    let thing = imported(Format::A2a, CARD_1.as_bytes(), &options());
    let configuration = Format::AgentSpec.export().unwrap().from_thing(&thing, None).unwrap();
    let import = Format::AgentSpec.import().unwrap();
    for (was, is, pointers) in [
        ("\"Forecasts\"", "\"Edited\"", &["/description"][..]),
        ("\"Weather\"", "\"Edited\"", &["/title"]),
        (
            "\"agent_url\": \"https://w.example/rpc\"",
            "\"agent_url\": \"https://new.example/rpc\"",
            &[
                "/a2a:supportedInterfaces/0/url",
                "/actions/alert/forms/0/href",
                "/actions/forecast/forms/0/href",
                "/events/messageStream/forms/0/href",
            ],
        ),
    ] {
        // The description in the metadata stays as it was exported.
        let mut document: Value = serde_json::from_slice(&configuration.bytes).unwrap();
        let description = document["metadata"]["thingDescription"].take();
        let mut document: Value = serde_json::from_str(&format!("{document:#}").replacen(was, is, 1)).unwrap();
        document["metadata"]["thingDescription"] = description;
        let document = document.to_string();
        let conversion = import.to_things(&Input::json(document.as_bytes()), &ImportOptions::default()).unwrap();
        let edited = conversion.things[0].description.value();
        let changed: Vec<_> = changes(&thing, edited).iter().map(super::Change::pointer).collect();
        assert_eq!(
            (&changed[..], &conversion.warnings[..]),
            (&pointers.iter().map(ToString::to_string).collect::<Vec<_>>()[..], &[][..])
        );
        let card = Format::A2a.export().unwrap().from_thing(edited, None).unwrap();
        assert!(text(&card).contains(is.split(": ").last().unwrap()), "{}", text(&card));

        // An edit of that Thing is exported too.
        let exported = exported(Format::AgentSpec, &document, &ImportOptions::default(), |thing| {
            (thing["title"], thing["support"]) = ("Twice".into(), "mailto:me@example.org".into());
        });
        assert_eq!(exported.warnings, []);
    }
}

#[test]
fn what_the_description_of_an_export_has_not_is_warned_of() {
    let thing = imported(Format::A2a, CARD_1.as_bytes(), &options());
    let configuration = Format::AgentSpec.export().unwrap().from_thing(&thing, None).unwrap();
    let document = text(&configuration).replacen("\"max_retries\": 5", "\"max_retries\": 6", 1);
    let import = Format::AgentSpec.import().unwrap();
    let conversion = import.to_things(&Input::json(document.as_bytes()), &ImportOptions::default()).unwrap();
    assert_eq!(conversion.things[0].description.value(), &thing);
    let warnings: Vec<_> = conversion.warnings.iter().map(|one| (one.rule.as_ref(), one.pointer.as_str())).collect();
    assert_eq!(warnings, [("not-in-description", "/session_parameters/max_retries")]);
    // Another component is read as what it says.
    let document = text(&configuration).replacen(
        "\"id\": \"urn:example:edited\",\n  \"inputs\"",
        "\"id\": \"other\",\n  \"inputs\"",
        1,
    );
    let conversion = import.to_things(&Input::json(document.as_bytes()), &ImportOptions::default()).unwrap();
    assert_eq!(conversion.things[0].id, "urn:agentspec:local:other");
}

/// A configuration as other programs write it: `jq` shortens numbers, the SDK says what a component has by default.
fn written_again(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 => (float as i64).into(),
            _ => number.into(),
        },
        Value::Array(elements) => elements.into_iter().map(written_again).collect(),
        Value::Object(mut members) => {
            if members.contains_key("component_type") {
                members.entry("metadata").or_insert_with(|| json!({}));
                members.entry("description").or_insert(Value::Null);
            }
            members
                .into_iter()
                .map(|(name, value)| (name, written_again(value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        other => other,
    }
}

#[test]
fn configuration_that_another_program_wrote_again_is_that_export() {
    let card = imported(Format::A2a, CARD_1.as_bytes(), &options());
    let form = |href: &str| json!([{"href": href}]);
    let tools = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1"], "id": "urn:example:edited", "title": "Tools",
        "securityDefinitions": {"open": {"scheme": "nosec"}}, "security": "open",
        "actions": {
            "heat": {"input": {"type": "number", "minimum": 1.0}, "forms": form("https://t.example/heat")},
            "cool": {"forms": form("https://t.example/cool")},
        },
    });
    let (import, export) = (Format::AgentSpec.import().unwrap(), Format::AgentSpec.export().unwrap());
    for thing in [card, tools] {
        let configuration = export.from_thing(&thing, None).unwrap();
        let document = written_again(serde_json::from_slice(&configuration.bytes).unwrap()).to_string();
        let conversion = import.to_things(&Input::json(document.as_bytes()), &ImportOptions::default()).unwrap();
        assert_eq!(conversion.warnings, [], "{document}");
        let returned = export.returned(&thing, &conversion.things[0]);
        assert!(matches!(returned, crate::Returned::Unchanged), "{returned:?}");
    }
}

#[test]
fn edits_that_do_not_fit_are_passed_over() {
    let base = imported(Format::AgentSpec, AGENT.as_bytes(), &options());
    for (edits, expected) in [
        (json!("no operations"), "not a list of JSON Patch operations"),
        (json!([{"op": "remove", "path": "/nothing"}]), "1 of 1"),
        (json!([{"op": "add", "path": "/id", "value": "urn:example:other"}]), "1 of 1"),
        (json!([{"op": "add", "path": "/title", "value": 1}]), "invalid"),
    ] {
        let document = AGENT.replacen("\"tags\"", &format!("\"thingDescriptionEdits\": {edits}, \"tags\""), 1);
        let import = Format::AgentSpec.import().unwrap();
        let conversion = import.to_things(&Input::json(document.as_bytes()), &options()).unwrap();
        let warnings: Vec<_> = conversion.warnings.iter().filter(|one| one.rule == "edits-unusable").collect();
        assert_eq!((warnings.len(), conversion.things[0].description.value()), (1, &base), "{edits}");
        assert!(warnings[0].message.contains(expected), "{}", warnings[0]);
        assert_eq!(warnings[0].pointer, "/metadata/thingDescriptionEdits");
    }
}

#[cfg(feature = "yaml")]
#[test]
fn yaml_stays_yaml() {
    let yaml = "component_type: RemoteTool\nid: find\nname: find_trains\ndescription: Finds\nurl: https://t.example/find\nhttp_method: GET\nagentspec_version: \"25.4.1\"\n";
    let input = Input { bytes: yaml.as_bytes(), syntax: crate::Syntax::Yaml, components: &[] };
    let things = Format::AgentSpec.import().unwrap().to_things(&input, &options()).unwrap().things;
    let base = things[0].description.value();
    let mut edited = base.clone();
    edited["description"] = "Finds trains".into();
    let exported = Format::AgentSpec.export().unwrap().with_edits(&input, &options(), base, &edited).unwrap();
    assert!(text(&exported).starts_with("component_type: RemoteTool\nid: find\nname: find_trains\ndescription: Finds"));
    let input = Input { bytes: &exported.bytes, ..input };
    let again = Format::AgentSpec.import().unwrap().to_things(&input, &options()).unwrap().things;
    assert_eq!((again[0].description.value(), exported.warnings.len()), (&edited, 0));
}

#[test]
fn original_that_is_no_json_is_an_error() {
    let (base, edited) = (json!({"title": "A"}), json!({"title": "B"}));
    for (format, export) in Format::exports() {
        for text in ["{".to_owned(), "[".repeat(100_000), "{\"a\":".repeat(100_000)] {
            assert!(export.with_edits(&Input::json(text.as_bytes()), &options(), &base, &edited).is_err(), "{format}");
        }
        // What can't be imported here is still exported, as it is.
        let exported = export.with_edits(&Input::json(b"{\"a\": 1.50}"), &options(), &base, &edited).unwrap();
        match format {
            Format::AgentSpec => assert!(text(&exported).contains("1.50") && exported.warnings.is_empty()),
            _ => assert_eq!((text(&exported), exported.warnings.len()), ("{\"a\": 1.50}", 1), "{format}"),
        }
    }
}
