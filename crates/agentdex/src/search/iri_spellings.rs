//! Alternative spellings of a semantic tag (`@type`): as a term, with a prefix, or as an IRI. Prefixes are those
//! declared by the description and by the context of Thing Descriptions. No JSON-LD expansion is done.

use super::node::{Node, Object};
use crate::td::{CONTEXT_1_0, CONTEXT_1_1, CONTEXT_DISCOVERY};

/// Prefixes of the contexts of Thing Descriptions.
const TD_PREFIXES: [(&str, &str); 6] = [
    ("td", TD_VOCABULARY),
    ("jsonschema", "https://www.w3.org/2019/wot/json-schema#"),
    ("wotsec", "https://www.w3.org/2019/wot/security#"),
    ("hctl", "https://www.w3.org/2019/wot/hypermedia#"),
    ("dct", "http://purl.org/dc/terms/"),
    ("tm", "https://www.w3.org/2019/wot/tm#"),
];
/// Namespace of terms without a prefix.
const TD_VOCABULARY: &str = "https://www.w3.org/2019/wot/td#";
/// Terms of WoT Discovery.
const DISCOVERY: &str = "https://www.w3.org/2022/wot/discovery-ontology#";
/// Delimiters tried at the end of a namespace without a delimiter.
const DELIMITERS: [&str; 3] = ["", "#", "/"];

/// The vocabularies of a description.
pub(super) struct Vocabularies<'a> {
    prefixes: Vec<(&'a str, &'a str)>,
    default: Option<&'a str>,
}

impl<'a> Vocabularies<'a> {
    /// Reads the vocabularies in the `@context` of a Thing.
    pub fn of(thing: &'a Object<'a>) -> Vocabularies<'a> {
        let mut found = Vocabularies { prefixes: Vec::new(), default: None };
        for context in thing.get("@context").into_iter().flat_map(Node::one_or_many) {
            if let Some(CONTEXT_1_0 | CONTEXT_1_1) = context.as_str() {
                found.prefixes.extend(TD_PREFIXES);
                found.default = Some(TD_VOCABULARY);
            }
            if context.as_str() == Some(CONTEXT_DISCOVERY) {
                found.prefixes.push(("discovery", DISCOVERY));
            }
            for (name, value) in context.as_object().into_iter().flat_map(Object::iter) {
                match (name, value.as_str().or_else(|| value.get("@id")?.as_str())) {
                    ("@vocab", Some(namespace)) => found.default = Some(namespace),
                    (prefix, Some(namespace)) if !prefix.starts_with('@') && namespace.contains(':') => {
                        found.prefixes.push((prefix, namespace));
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// Returns the alternative spellings of a name.
    pub fn other_spellings(&self, name: &str) -> Vec<String> {
        let mut spellings = Vec::new();
        if let Some((prefix, local)) = name.split_once(':').filter(|(_, local)| !local.starts_with("//")) {
            let declared = self.prefixes.iter().rev().find(|(declared, _)| *declared == prefix);
            if let Some((_, namespace)) = declared {
                let has_delimiter = namespace.ends_with([':', '/', '#', '?', '=', '-']);
                let delimiters = if has_delimiter { &DELIMITERS[..1] } else { &DELIMITERS };
                spellings.extend(delimiters.iter().map(|delimiter| format!("{namespace}{delimiter}{local}")));
            }
        }
        for (prefix, namespace) in &self.prefixes {
            let local = name.strip_prefix(namespace).map(|local| local.trim_start_matches(['#', '/']));
            if let Some(local) = local.filter(|local| !local.is_empty() && !local.contains(['/', '#'])) {
                spellings.push(format!("{prefix}:{local}"));
                if self.default == Some(*namespace) {
                    spellings.push(local.to_owned());
                }
            }
        }
        if !name.contains(':')
            && let Some(namespace) = self.default
        {
            let prefixes = self.prefixes.iter().filter(|(_, other)| *other == namespace);
            spellings.extend(prefixes.map(|(prefix, _)| format!("{prefix}:{name}")));
            spellings.push(format!("{namespace}{name}"));
        }
        spellings.sort_unstable();
        spellings.dedup();
        spellings.retain(|spelling| spelling != name);
        spellings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_each_spelling() -> serde_json::Result<()> {
        let thing = r#"{"@context": ["https://www.w3.org/2022/wot/td/v1.1", {"saref": "https://w3id.org/saref#",
            "lmos": "https://eclipse.dev/lmos/protocol/v1", "x": {"@id": "urn:x:"}}]}"#;
        let node: Node<'_> = serde_json::from_str(thing)?;
        let nothing = Object::default();
        let vocabularies = Vocabularies::of(node.as_object().unwrap_or(&nothing));
        for (name, spelling) in [
            ("saref:LightSwitch", "https://w3id.org/saref#LightSwitch"),
            ("https://w3id.org/saref#LightSwitch", "saref:LightSwitch"),
            ("lmos:Agent", "https://eclipse.dev/lmos/protocol/v1#Agent"),
            ("lmos:Agent", "https://eclipse.dev/lmos/protocol/v1/Agent"),
            ("https://eclipse.dev/lmos/protocol/v1#Agent", "lmos:Agent"),
            ("Thing", "td:Thing"),
            ("Thing", "https://www.w3.org/2019/wot/td#Thing"),
            ("td:Thing", "https://www.w3.org/2019/wot/td#Thing"),
            ("https://www.w3.org/2019/wot/td#Thing", "Thing"),
            ("x:y", "urn:x:y"),
        ] {
            let spellings = vocabularies.other_spellings(name);
            assert!(spellings.iter().any(|other| other == spelling), "{name}: {spellings:?}");
        }
        assert!(vocabularies.other_spellings("odd:Name").is_empty());
        Ok(())
    }
}
