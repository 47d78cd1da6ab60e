//! Values omitted from a configuration, such as keys and prompts: the configuration contains references to them, but no
//! definitions.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::{
    Profile,
    references::{DEFINITIONS, REFERENCE},
    source::Source,
};
use crate::{Result, Supply, Syntax};

/// The values that whoever loads a document has to supply, with how the SDK of the language takes them.
pub(super) fn supply(document: &[u8], syntax: Syntax) -> Result<Supply> {
    let source = Source::parse(document, syntax, Profile::Spec)?;
    let (mut defined, mut referred) = (HashSet::new(), BTreeSet::new());
    collect(&source.value, &mut defined, &mut referred);
    let names: Vec<String> = referred.into_iter().filter(|name| !defined.contains(name)).map(str::to_owned).collect();
    let values: Vec<String> = names.iter().map(|name| format!("{}: …", Value::from(name.as_str()))).collect();
    let load = match syntax {
        Syntax::Json => "from_json",
        Syntax::Yaml => "from_yaml",
    };
    let example = format!("AgentSpecDeserializer().{load}(text, components_registry={{{}}})", values.join(", "));
    Ok(Supply { names, example })
}

fn collect<'d>(value: &'d Value, defined: &mut HashSet<&'d str>, referred: &mut BTreeSet<&'d str>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, defined, referred)),
        Value::Object(members) => {
            referred.extend(members.get(REFERENCE).and_then(Value::as_str));
            if let Some(Value::Object(definitions)) = members.get(DEFINITIONS) {
                defined.extend(definitions.keys().map(String::as_str));
            }
            members.values().for_each(|member| collect(member, defined, referred));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_that_lead_nowhere_are_to_be_supplied() {
        let json = br#"{"a": {"$component_ref": "gpt.api_key"}, "b": [{"$component_ref": "tool"}],
            "$referenced_components": {"tool": {"c": {"$component_ref": "tool.x"}}}}"#;
        let found = supply(json, Syntax::Json).unwrap();
        assert_eq!(found.names, ["gpt.api_key", "tool.x"]);
        assert_eq!(
            found.example,
            "AgentSpecDeserializer().from_json(text, components_registry={\"gpt.api_key\": …, \"tool.x\": …})"
        );
        assert_eq!(supply(b"{}", Syntax::Json).unwrap().names, Vec::<String>::new());
    }
}
