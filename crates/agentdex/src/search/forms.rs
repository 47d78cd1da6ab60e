//! Protocols and security schemes declared by the forms of a Thing.

use std::collections::BTreeSet;

use super::node::{Node, Object};

/// Protocols and schemes, lower-case protocols.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    pub protocols: BTreeSet<String>,
    pub security: BTreeSet<String>,
    /// True if an action has a form that can be called without credentials.
    pub is_callable: bool,
}

/// Protocols that actions are called by.
const CALLED_BY: [&str; 3] = ["http", "mqtt", "ws"];
/// Top-level domains that no host has (RFC 2606, section 2).
const RESERVED: [&str; 3] = ["example", "invalid", "test"];
/// Second-level domains for examples (RFC 2606, section 3).
const EXAMPLES: [&str; 3] = ["example.com", "example.net", "example.org"];

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
            let is_open = kind == "actions" && needs_nothing(thing.get("security"), thing.get("securityDefinitions"));
            for affordance in affordances.into_iter().flat_map(Object::values).filter_map(Node::as_object) {
                access.add_forms(affordance, base, definitions);
                access.is_callable |= kind == "actions" && has_open_form(thing, affordance, is_open);
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

/// True if security schemes ask for no credentials.
fn needs_nothing(security: Option<&Node<'_>>, definitions: Option<&Node<'_>>) -> bool {
    let scheme =
        |name: &Node<'_>| definitions?.get(name.as_str()?)?.get("scheme")?.as_str().map(|scheme| scheme == "nosec");
    security.into_iter().flat_map(Node::one_or_many).all(|name| scheme(name) == Some(true))
}

/// True if an action has a form that needs no credentials, at a host that can exist. `is_open` is true for a Thing whose
/// forms need none unless they say so.
fn has_open_form(thing: &Object<'_>, action: &Object<'_>, is_open: bool) -> bool {
    let definitions = thing.get("securityDefinitions");
    let base = thing.get("base").and_then(Node::as_str).unwrap_or_default();
    let mut forms = action.get("forms").into_iter().flat_map(Node::one_or_many).filter_map(Node::as_object);
    forms.any(|form| {
        let Some(href) = form.get("href").and_then(Node::as_str) else { return false };
        let address = if scheme(href).is_some() { href } else { base };
        let own = form.get("security");
        can_be_reached(address) && own.map_or(is_open, |own| needs_nothing(Some(own), definitions))
    })
}

/// True for the address of a host whose name isn't reserved for examples and tests, in a protocol that agents are called by.
fn can_be_reached(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host).trim_end_matches('.').to_ascii_lowercase();
    let is_below = |domain: &str| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !host.is_empty()
        && CALLED_BY.contains(&protocol(scheme).as_str())
        && !RESERVED.into_iter().chain(EXAMPLES).any(is_below)
}

fn scheme(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let mut bytes = scheme.bytes();
    let starts_well = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let goes_well = bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    (starts_well && goes_well).then_some(scheme)
}

/// Returns the protocol of a URI scheme: `http` for `https`, `coap` for `coaps+tcp`.
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
    fn actions_can_be_called_without_credentials_where_a_host_can_exist() {
        let definitions = json!({"open": {"scheme": "nosec"}, "key": {"scheme": "apikey"}});
        let callable = |base: &str, form: Value| {
            let thing = json!({
                "base": base, "securityDefinitions": definitions, "security": "open", "actions": {"a": {"forms": [form]}}
            });
            access(thing).is_callable
        };
        for (base, form, expected) in [
            ("http://127.0.0.1:8080/clock/", json!({"href": "time"}), true),
            ("", json!({"href": "https://agents.acme.eu/a", "security": ["open"]}), true),
            ("", json!({"href": "HTTPS://[::1]:80/"}), true),
            ("", json!({"href": "wss://counterexample.eu"}), true),
            ("", json!({"href": "https://agents.acme.eu/a", "security": "key"}), false),
            ("", json!({"href": "https://agents.acme.eu/a", "security": ["open", "missing"]}), false),
            ("https://weather.example/", json!({"href": "time"}), false),
            ("", json!({"href": "https://user@a.EXAMPLE.org.:443/"}), false),
            ("", json!({"href": "coap://agents.acme.eu/"}), false),
            ("", json!({"href": "time"}), false),
        ] {
            assert_eq!(callable(base, form.clone()), expected, "{base} {form}");
        }
        let event = json!({"securityDefinitions": definitions, "events": {"e": {"forms": {"href": "http://a.eu/"}}}});
        assert!(!access(event).is_callable);
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
