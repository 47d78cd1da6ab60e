//! Checks of security names, and of variables that API keys add.

use std::collections::HashMap;

use serde_json::Value;

use super::{Object, Path, Walk, listed};

impl<'a> Walk<'a> {
    pub(super) fn check_security(&mut self) {
        if let Some(security) = self.thing.get("security") {
            self.check_security_names(security, &Path::ROOT.member("security"));
        }
        let Some(Value::Object(definitions)) = self.thing.get("securityDefinitions") else {
            return;
        };
        let path = Path::ROOT.member("securityDefinitions");
        for (name, definition) in definitions {
            let Value::Object(definition) = definition else { continue };
            let path = path.member(name);
            self.check_translations(definition, &path, "descriptions");
            match definition.get("scheme").and_then(Value::as_str) {
                Some("combo") => {
                    for kind in ["oneOf", "allOf"] {
                        if let Some(names) = definition.get(kind) {
                            self.check_security_names(names, &path.member(kind));
                        }
                    }
                }
                Some("oauth2") => self.check_flow(definition, &path),
                _ => {}
            }
        }
    }

    /// Checks a name or several that must be defined in `securityDefinitions`.
    pub(super) fn check_security_names(&mut self, names: &Value, path: &Path<'_>) {
        match names {
            Value::String(name) => self.check_security_name(name, path),
            Value::Array(names) => {
                for (index, name) in names.iter().enumerate() {
                    if let Value::String(name) = name {
                        self.check_security_name(name, &path.index(index));
                    }
                }
            }
            _ => {}
        }
    }

    fn check_security_name(&mut self, name: &str, path: &Path<'_>) {
        let Some(Value::Object(definitions)) = self.thing.get("securityDefinitions") else {
            return;
        };
        if !definitions.contains_key(name) {
            let message = format!("{name:?} isn't defined in `securityDefinitions`; defined: {}", listed(definitions));
            self.violation(path, "security-undefined", message);
        }
    }

    /// Warns of missing endpoints of an OAuth 2.0 flow: `code` and `device` need both, `client` the one
    /// for tokens only.
    fn check_flow(&mut self, definition: &Object, path: &Path<'_>) {
        let needed: &[&str] = match definition.get("flow").and_then(Value::as_str) {
            Some("code" | "device") => &["authorization", "token"],
            Some("client") => &["token"],
            _ => &[],
        };
        for name in needed.iter().filter(|name| !definition.contains_key(**name)) {
            self.warning(path, "oauth2-flow", format!("`{name}` is missing, but this flow requires it"));
        }
    }

    /// The variables of API keys in the URI must not be declared as other variables too.
    pub(super) fn check_uri_variables(&mut self) {
        let Some(Value::Object(definitions)) = self.thing.get("securityDefinitions") else {
            return;
        };
        let is_in_uri = |scheme: &Value| {
            scheme.get("scheme").and_then(Value::as_str) == Some("apikey")
                && scheme.get("in").and_then(Value::as_str) == Some("uri")
        };
        let keys: HashMap<_, _> = definitions
            .iter()
            .filter(|(_, scheme)| is_in_uri(scheme))
            .filter_map(|(definition, scheme)| Some((scheme.get("name")?.as_str()?, definition.as_str())))
            .collect();
        if keys.is_empty() {
            return;
        }
        self.check_declarations(self.thing, &Path::ROOT, &keys);
        for kind in ["properties", "actions", "events"] {
            let Some(Value::Object(affordances)) = self.thing.get(kind) else { continue };
            let path = Path::ROOT.member(kind);
            for (name, affordance) in affordances {
                if let Value::Object(affordance) = affordance {
                    self.check_declarations(affordance, &path.member(name), &keys);
                }
            }
        }
    }

    fn check_declarations(&mut self, owner: &Object, path: &Path<'_>, keys: &HashMap<&str, &str>) {
        let Some(Value::Object(variables)) = owner.get("uriVariables") else {
            return;
        };
        let path = path.member("uriVariables");
        for variable in variables.keys() {
            if let Some(definition) = keys.get(variable.as_str()) {
                let message = format!(
                    "a URI variable and the API key of the security definition {definition:?} are both named \
                     {variable:?}; rename one of them"
                );
                self.violation(&path.member(variable), "uri-variable-clash", message);
            }
        }
    }
}
