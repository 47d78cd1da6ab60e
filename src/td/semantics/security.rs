//! Security names and the variables that API keys bring.

use serde_json::Value;

use super::{Object, Path, Walk};

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
            if definition.get("scheme").and_then(Value::as_str) == Some("combo") {
                for kind in ["oneOf", "allOf"] {
                    if let Some(names) = definition.get(kind) {
                        self.check_security_names(names, &path.member(kind));
                    }
                }
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
            let defined: Vec<_> = definitions.keys().map(String::as_str).collect();
            let message = format!("{name:?} isn't defined in `securityDefinitions`; defined: {}", defined.join(", "));
            self.violation(path, "security-undefined", message);
        }
    }

    /// The variables of API keys in the URI must not be declared as other variables too.
    pub(super) fn check_uri_variables(&mut self) {
        let Some(Value::Object(definitions)) = self.thing.get("securityDefinitions") else {
            return;
        };
        for (definition, scheme) in definitions {
            if scheme.get("scheme").and_then(Value::as_str) != Some("apikey")
                || scheme.get("in").and_then(Value::as_str) != Some("uri")
            {
                continue;
            }
            if let Some(Value::String(variable)) = scheme.get("name") {
                self.check_variable_is_free(variable, definition);
            }
        }
    }

    fn check_variable_is_free(&mut self, variable: &str, definition: &str) {
        self.check_declarations(self.thing, &Path::ROOT, variable, definition);
        for kind in ["properties", "actions", "events"] {
            let Some(Value::Object(affordances)) = self.thing.get(kind) else { continue };
            let path = Path::ROOT.member(kind);
            for (name, affordance) in affordances {
                if let Value::Object(affordance) = affordance {
                    self.check_declarations(affordance, &path.member(name), variable, definition);
                }
            }
        }
    }

    fn check_declarations(&mut self, owner: &Object, path: &Path<'_>, variable: &str, definition: &str) {
        if owner.get("uriVariables").is_some_and(|variables| variables.get(variable).is_some()) {
            let message = format!("{variable:?} is the API key of the security definition {definition:?}; rename one");
            let path = path.member("uriVariables");
            self.violation(&path.member(variable), "uri-variable-clash", message);
        }
    }
}
