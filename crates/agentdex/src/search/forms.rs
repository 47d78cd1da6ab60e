//! Protocols and security schemes declared by the forms of a Thing.

use std::collections::BTreeSet;

use super::node::{Node, Object};

/// Protocols and schemes, lower-case protocols.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    pub protocols: BTreeSet<String>,
    pub security: BTreeSet<String>,
}

impl Access {
    /// Reads the root and the forms of a Thing. Counts the security schemes in use or, if none is used, all defined
    /// schemes.
    pub fn of(thing: &Object<'_>) -> Access {
        let mut access = Access::default();
        let base = thing.get("base").and_then(Node::as_str).and_then(scheme);
        let definitions = thing.get("securityDefinitions").and_then(Node::as_object);
        access.add_security(thing.get("security"), definitions);
        access.add_forms(thing, base, definitions);
        for kind in ["properties", "actions", "events"] {
            let affordances = thing.get(kind).and_then(Node::as_object);
            for affordance in affordances.into_iter().flat_map(Object::values).filter_map(Node::as_object) {
                access.add_forms(affordance, base, definitions);
            }
        }
        if access.security.is_empty() {
            let schemes =
                definitions.into_iter().flat_map(Object::values).filter_map(|definition| definition.get("scheme"));
            access.security.extend(schemes.filter_map(Node::as_str).map(str::to_owned));
        }
        access
    }

    fn add_forms(&mut self, owner: &Object<'_>, base: Option<&str>, definitions: Option<&Object<'_>>) {
        for form in owner.get("forms").into_iter().flat_map(Node::one_or_many).filter_map(Node::as_object) {
            let href = form.get("href").and_then(Node::as_str);
            if let Some(scheme) = href.and_then(|href| scheme(href).or(base)) {
                self.protocols.insert(protocol(scheme));
            }
            if let Some(subprotocol) = form.get("subprotocol").and_then(Node::as_str) {
                self.protocols.insert(subprotocol.to_lowercase());
            }
            self.add_security(form.get("security"), definitions);
        }
    }

    fn add_security(&mut self, names: Option<&Node<'_>>, definitions: Option<&Object<'_>>) {
        let names = names.into_iter().flat_map(Node::one_or_many).filter_map(Node::as_str);
        for name in names {
            self.add_definition(name, definitions, 0);
        }
    }

    /// The scheme of a definition; of a combination also its members.
    fn add_definition(&mut self, name: &str, definitions: Option<&Object<'_>>, depth: usize) {
        const DEEPEST_COMBINATION: usize = 8;
        let Some(definition) = definitions.and_then(|definitions| definitions.get(name)) else { return };
        if let Some(scheme) = definition.get("scheme").and_then(Node::as_str) {
            self.security.insert(scheme.to_owned());
        }
        let members = ["oneOf", "allOf"].into_iter().filter_map(|key| definition.get(key)).flat_map(Node::one_or_many);
        for member in members.filter_map(Node::as_str).filter(|_| depth < DEEPEST_COMBINATION) {
            self.add_definition(member, definitions, depth + 1);
        }
    }
}

fn scheme(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let mut bytes = scheme.bytes();
    let starts_well = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let goes_well = bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    (starts_well && goes_well).then_some(scheme)
}

/// The protocol that a URI scheme stands for: `https` is `http`, `coaps+tcp` is `coap`.
pub(super) fn protocol(scheme: &str) -> String {
    let scheme = scheme.to_ascii_lowercase();
    let name = scheme.split('+').next().unwrap_or(&scheme);
    match name {
        "https" => "http",
        "mqtts" => "mqtt",
        "wss" => "ws",
        "coaps" => "coap",
        name => name,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn access(thing: Value) -> Access {
        let text = thing.to_string();
        let thing: Node<'_> = serde_json::from_str(&text).unwrap();
        thing.as_object().map(Access::of).unwrap_or_default()
    }

    fn set(values: &[&str]) -> BTreeSet<String> {
        values.iter().map(|&value| value.to_owned()).collect()
    }

    #[test]
    fn protocols_come_from_hrefs_base_and_subprotocols() {
        let found = access(json!({
            "base": "coaps+tcp://device.example",
            "forms": [{"href": "https://a.example/"}],
            "actions": {"a": {"forms": [{"href": "relative/path"}, {"href": "mqtt://b.example", "subprotocol": "A2A"}]}},
            "events": {"e": {"forms": [{"href": "WSS://c.example"}]}}
        }));
        assert_eq!(found.protocols, set(&["a2a", "coap", "http", "mqtt", "ws"]));
    }

    #[test]
    fn schemes_count_where_they_are_used() {
        let definitions = json!({
            "open": {"scheme": "nosec"}, "key": {"scheme": "apikey"}, "token": {"scheme": "bearer"},
            "either": {"scheme": "combo", "oneOf": ["key", "either"]}
        });
        let used = access(json!({
            "securityDefinitions": definitions, "security": "either",
            "properties": {"p": {"forms": [{"href": "http://x", "security": ["open"]}]}}
        }));
        assert_eq!(used.security, set(&["apikey", "combo", "nosec"]));
        let unused = access(json!({"securityDefinitions": {"token": {"scheme": "bearer"}}}));
        assert_eq!(unused.security, set(&["bearer"]));
    }
}
