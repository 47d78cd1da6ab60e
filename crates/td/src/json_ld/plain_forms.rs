//! Detection of forms and links whose own context can be skipped, since it doesn't change their meaning.
//!
//! In the context of TD 1.1, `forms` and `links` each have their own context, which the `json-ld` crate processes again
//! for every single form, at considerable cost. Such a context changes the meaning of `type`, of `schema`, and of names
//! that no context defines. If a form doesn't contain these, its member `forms` is renamed to a private name without a
//! context.

use serde_json::{Map, Value, json};

use super::contexts;

const TD: &str = "https://www.w3.org/2022/wot/td/v1.1";
/// A context that defines terms otherwise.
const TD_1_0: &str = "https://www.w3.org/2019/wot/td/v1";
/// The names of ours begin with this character for private use; a description that has it is left as it is.
const PRIVATE: char = '\u{e000}';
/// The members that list forms or links, each with the name of ours and the IRI.
const LISTS: [(&str, &str, &str); 2] = [
    ("forms", "\u{e000}forms", "https://www.w3.org/2019/wot/td#hasForm"),
    ("links", "\u{e000}links", "https://www.w3.org/2019/wot/td#hasLink"),
];
/// Members that mean the same in both contexts, unless a description defines them itself.
const MEMBERS: [&str; 16] = [
    "href",
    "op",
    "contentType",
    "contentCoding",
    "subprotocol",
    "response",
    "additionalResponses",
    "success",
    "security",
    "scopes",
    "rel",
    "anchor",
    "sizes",
    "hreflang",
    "title",
    "description",
];
/// The values of `op` that are terms; others would depend on the context.
const OPERATIONS: [&str; 18] = [
    "readproperty",
    "writeproperty",
    "observeproperty",
    "unobserveproperty",
    "invokeaction",
    "queryaction",
    "cancelaction",
    "queryallactions",
    "subscribeevent",
    "unsubscribeevent",
    "subscribeallevents",
    "unsubscribeallevents",
    "readallproperties",
    "writeallproperties",
    "readmultipleproperties",
    "writemultipleproperties",
    "observeallproperties",
    "unobserveallproperties",
];

/// True if the contexts of a description leave the members of forms their meaning, and no name of ours is in it.
pub(super) fn can_be_plain(context: &Value, text: &str) -> bool {
    let entries = match context {
        Value::Array(entries) => entries.as_slice(),
        one => std::slice::from_ref(one),
    };
    let (first, rest) = entries.split_first().unwrap_or((&Value::Null, &[]));
    first == TD
        && rest.iter().all(leaves_forms)
        && !text.contains(PRIVATE)
        && !text.contains("\\ue000")
        && !text.contains("\\uE000")
}

/// True if an entry of a context changes nothing that forms have: a bundled one, or prefixes and a language.
fn leaves_forms(entry: &Value) -> bool {
    let is_prefix = |(name, iri): (&String, &Value)| {
        let is_own = LISTS.iter().any(|(list, ..)| list == name)
            || MEMBERS.contains(&name.as_str())
            || OPERATIONS.contains(&name.as_str());
        name == "@language" || (iri.is_string() && !name.starts_with('@') && !is_own)
    };
    match entry {
        Value::String(url) => contexts::is_known(url) && url != TD && url != TD_1_0,
        Value::Object(terms) => terms.iter().all(is_prefix),
        _ => false,
    }
}

/// The context that gives the names of ours their meaning.
pub(super) fn context() -> Value {
    let terms = LISTS.iter().map(|(_, name, iri)| ((*name).to_owned(), json!({"@id": iri, "@container": "@set"})));
    Value::Object(terms.collect())
}

/// Renames the lists of a description and of its affordances in which nothing needs the context of its own.
pub(super) fn rename(thing: &mut Map<String, Value>) {
    rename_in(thing);
    for kind in ["properties", "actions", "events"] {
        let affordances = thing.get_mut(kind).and_then(Value::as_object_mut);
        affordances.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut).for_each(rename_in);
    }
}

fn rename_in(owner: &mut Map<String, Value>) {
    for (list, name, _) in LISTS {
        if owner.get(list).is_some_and(|items| items.is_array() && is_plain(items))
            && let Some(items) = owner.remove(list)
        {
            owner.insert(name.to_owned(), items);
        }
    }
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_plain),
        Value::Object(members) => members.iter().all(|(name, value)| match name.as_str() {
            "op" => is_operation(value),
            name => has_one_meaning(name) && is_plain(value),
        }),
        _ => true,
    }
}

/// True if a member means the same in both contexts: one of those above, or one with a prefix.
fn has_one_meaning(name: &str) -> bool {
    MEMBERS.contains(&name)
        || name.split_once(':').is_some_and(|(prefix, _)| !matches!(prefix, "type" | "schema" | "_" | ""))
}

fn is_operation(value: &Value) -> bool {
    match value {
        Value::String(operation) => OPERATIONS.contains(&operation.as_str()),
        Value::Array(items) => items.iter().all(|item| item.is_string() && is_operation(item)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_ld::processor::Processor;

    /// Reads the statements of a description without and with names of ours, in any order.
    fn both(thing: &Value) -> [Vec<String>; 2] {
        [false, true].map(|plain| {
            let statements = Processor::default().read_as(&thing.to_string(), plain).unwrap();
            assert_eq!(statements.ignored_contexts, [""; 0]);
            // The numbers of blank nodes depend on the order: the properties and values are compared.
            let mut quads: Vec<String> = statements
                .quads
                .iter()
                .map(|quad| format!("{:?}", (&quad.predicate, &quad.object)))
                .map(|quad| {
                    quad.split("Blank(").map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit())).collect()
                })
                .collect();
            quads.sort();
            quads
        })
    }

    #[test]
    fn plain_forms_say_the_same() {
        let contexts = [
            json!([TD, {"htv": "http://www.w3.org/2011/http#", "cov": "http://example.org/cov#", "@language": "en"}]),
            json!([TD, "https://eclipse.dev/lmos/protocol/v1", {"schema": "http://schema.org/"}]),
            json!([TD, {"href": "http://example.org/other"}]),
            json!([TD, TD_1_0]),
            json!(TD),
        ];
        let forms = [
            json!([{"href": "/a", "op": ["readproperty", "observeproperty"], "contentType": "text/plain"}]),
            json!([{"href": "/a", "op": "unknownoperation"}, {"href": "/b", "op": 5}]),
            json!([{"href": "/a", "type": "text/html", "rel": "icon", "sizes": "16x16"}]),
            json!([{"href": "/a", "htv:methodName": "GET", "htv:headers": [{"htv:fieldName": "A"}], "schema:x": "y"}]),
            json!([{"href": "/a", "unknown": {"deep": 1}, "response": {"contentType": "a/b"}}]),
            json!([{"href": "/a", "additionalResponses": [{"success": true, "schema": "error"}]}]),
            json!([{"href": "/a", "@type": "cov:Form", "title": "A", "scopes": ["x"], "security": ["s"]}]),
            json!({"href": "/a", "subprotocol": "longpoll"}),
            json!([]),
        ];
        for context in &contexts {
            for forms in &forms {
                let affordance =
                    json!({"x": {"type": "string", "forms": forms}, "forms": {"title": "F", "forms": forms}});
                let thing = json!({
                    "@context": context, "id": "urn:example:a", "title": "A", "forms": forms, "links": forms,
                    "properties": affordance, "actions": affordance, "events": affordance,
                });
                let [ours, plain] = both(&thing);
                assert_eq!(ours, plain, "{thing}");
            }
        }
    }

    #[test]
    fn only_what_means_the_same_is_renamed() {
        let renamed = |forms: Value| {
            let mut thing = Map::from_iter([("forms".to_owned(), forms)]);
            rename(&mut thing);
            thing.contains_key(LISTS[0].1)
        };
        assert!(renamed(json!([{"href": "/", "op": ["invokeaction"], "htv:methodName": "POST"}])));
        for member in ["type", "schema", "unknown", "@type", "schema:x", "_:x"] {
            assert!(!renamed(json!([{"href": "/", "response": {member: "x"}}])), "{member}");
        }
        assert!(!renamed(json!([{"op": "unknown"}])) && !renamed(json!({"href": "/"})));
        let can = |context: Value, text: &str| can_be_plain(&context, text);
        assert!(
            can(json!(TD), "{}") && can(json!([TD, {"@language": "de", "saref": "https://w3id.org/saref#"}]), "{}")
        );
        for context in
            [json!([TD, {"op": "urn:op"}]), json!([TD, {"x": {"@id": "urn:x"}}]), json!([TD, {"@vocab": "urn:"}])]
        {
            assert!(!can(context.clone(), "{}"), "{context}");
        }
        assert!(!can(json!([{}, TD]), "{}") && !can(json!(TD), "\u{e000}forms") && !can(json!(TD), "\\ue000forms"));
    }

    #[test]
    fn no_bundled_context_redefines_what_forms_have() {
        for text in [
            include_str!("../../schemas/contexts/discovery.jsonld"),
            include_str!("../../schemas/contexts/lmos.jsonld"),
            include_str!("../../schemas/contexts/agentdex.jsonld"),
            include_str!("../../schemas/a2a.jsonld"),
            include_str!("../../schemas/agent-spec.jsonld"),
        ] {
            let context: Value = serde_json::from_str(text).unwrap();
            let own = |name: &str| MEMBERS.contains(&name) || OPERATIONS.contains(&name) || name == "@vocab";
            let names = context["@context"].as_object().unwrap().keys();
            assert_eq!(names.filter(|name| own(name) || LISTS.iter().any(|(list, ..)| list == name)).count(), 0);
        }
    }
}
