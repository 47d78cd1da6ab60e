//! Configurations of a collection: all that give a Thing give one that is valid, always the same.

use agentdex::convert::agent_spec::AGENT_SPEC_CONTEXT;

use super::*;

fn all_options() -> Vec<Options> {
    let mut all = Vec::new();
    for profile in [Profile::Spec, Profile::Sdk] {
        all.push(Options { profile, tools: true, publisher: "Acme, Inc.".into(), ..options() });
        all.push(Options {
            profile,
            nested: true,
            publish_prompts: true,
            base: Some("https://host/{id}".into()),
            ..options()
        });
    }
    all
}

#[test]
fn every_configuration_with_a_thing_gives_valid_things() {
    let mut things = 0;
    let collection = collection();
    for (file, document) in &collection {
        for options in all_options() {
            match convert(document, &options) {
                Ok(conversion) => {
                    check(&conversion);
                    things += conversion.things.len();
                }
                Err(Error::InvalidSource { report, .. }) => {
                    let rules: Vec<_> = report.violations.iter().map(|violation| violation.rule.as_ref()).collect();
                    assert_eq!(rules, ["no-thing"], "{file}: {report}");
                }
                Err(error) => panic!("{file}: {error}"),
            }
        }
    }
    assert!(collection.is_empty() || things > 1500, "only {things} Things");
}

#[test]
fn agents_and_tools_that_can_be_reached_give_things_and_nothing_else_does() {
    const AGENTS: [&str; 7] = ["Agent", "SpecializedAgent", "OciAgent", "A2AAgent", "Swarm", "ManagerWorkers", "Flow"];
    for (file, document) in collection() {
        let Some(type_name) = document["component_type"].as_str() else { continue };
        let is_served = document.get("client_transport").is_some();
        let is_expected = AGENTS.contains(&type_name) || type_name == "RemoteTool" || is_served;
        assert_eq!(convert(&document, &options()).is_ok(), is_expected, "{file}");
    }
}

#[test]
fn conversions_are_repeatable_whatever_the_document_is_written_in() {
    let options = Options { nested: true, ..options() };
    for (file, document) in collection() {
        let json = document.to_string();
        let Ok(first) = convert_text(&json, Syntax::Json, &options) else { continue };
        assert_eq!(convert_text(&json, Syntax::Json, &options).unwrap(), first, "{file}");
        let pretty = serde_json::to_string_pretty(&document).unwrap();
        let yaml = convert_text(&pretty, Syntax::Yaml, &options).unwrap();
        let described = |conversion: &Conversion| -> Vec<String> {
            conversion.things.iter().map(|thing| thing.description.text().to_owned()).collect()
        };
        assert_eq!(described(&yaml), described(&first), "{file}");
        for (yaml, json) in yaml.things.iter().zip(&first.things) {
            assert_eq!(yaml.source.media_type, "application/yaml");
            let read = Syntax::Yaml.to_json(&yaml.source.bytes).unwrap();
            let (read, json): (Value, Value) =
                (serde_json::from_str(&read).unwrap(), serde_json::from_slice(&json.source.bytes).unwrap());
            assert_eq!(read, json, "{file}");
        }
    }
}

#[test]
fn own_terms_are_defined_in_their_context() {
    fn collect(value: &Value, terms: &mut Vec<String>) {
        match value {
            Value::Array(elements) => elements.iter().for_each(|element| collect(element, terms)),
            Value::Object(members) => {
                terms.extend(members.keys().filter(|name| name.starts_with("agentspec:")).cloned());
                let relation = members.get("rel").or_else(|| members.get("scheme")).and_then(Value::as_str);
                terms.extend(relation.filter(|name| name.starts_with("agentspec:")).map(str::to_owned));
                members.values().for_each(|member| collect(member, terms));
            }
            _ => {}
        }
    }
    let context: Value = serde_json::from_str(AGENT_SPEC_CONTEXT).unwrap();
    let mut terms = Vec::new();
    for (_, document) in collection() {
        for options in [with_base(), Options { nested: true, publish_prompts: true, ..options() }] {
            let Ok(conversion) = convert(&document, &options) else { continue };
            for thing in &conversion.things {
                collect(&serde_json::from_str(thing.description.text()).unwrap(), &mut terms);
            }
        }
    }
    terms.sort();
    terms.dedup();
    for term in &terms {
        assert!(context["@context"].get(term).is_some(), "{term} isn't defined");
    }
    assert!(terms.is_empty() || terms.len() > 15, "only {terms:?}");
}
