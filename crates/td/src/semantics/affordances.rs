//! Checks of affordances, their forms, and data schemas.

use serde_json::Value;

use super::{Object, Path, Walk};

impl<'a> Walk<'a> {
    pub(super) fn check_affordances(&mut self) {
        let thing = self.thing;
        self.check_translations(thing, &Path::ROOT, "titles");
        self.check_translations(thing, &Path::ROOT, "descriptions");
        self.check_forms(thing, &Path::ROOT);
        for kind in ["schemaDefinitions", "uriVariables"] {
            if let Some(Value::Object(schemas)) = thing.get(kind) {
                self.check_data_schemas(schemas, &Path::ROOT.member(kind));
            }
        }
        for kind in ["properties", "actions", "events"] {
            let Some(Value::Object(affordances)) = thing.get(kind) else { continue };
            let path = Path::ROOT.member(kind);
            for (name, affordance) in affordances {
                if let Value::Object(affordance) = affordance {
                    self.check_affordance(affordance, kind == "properties", &path.member(name));
                }
            }
        }
    }

    fn check_affordance(&mut self, affordance: &'a Object, is_property: bool, path: &Path<'_>) {
        self.check_forms(affordance, path);
        if is_property {
            self.check_data_schema(affordance, path);
        } else {
            self.check_translations(affordance, path, "titles");
            self.check_translations(affordance, path, "descriptions");
            for name in ["input", "output", "subscription", "data", "dataResponse", "cancellation"] {
                if let Some(Value::Object(schema)) = affordance.get(name) {
                    self.check_data_schema(schema, &path.member(name));
                }
            }
        }
        if let Some(Value::Object(variables)) = affordance.get("uriVariables") {
            self.check_data_schemas(variables, &path.member("uriVariables"));
        }
    }

    fn check_forms(&mut self, owner: &'a Object, path: &Path<'_>) {
        let Some(Value::Array(forms)) = owner.get("forms") else {
            return;
        };
        let path = path.member("forms");
        for (index, form) in forms.iter().enumerate() {
            let Value::Object(form) = form else { continue };
            let path = path.index(index);
            self.check_href(form, &path);
            if let Some(security) = form.get("security") {
                self.check_security_names(security, &path.member("security"));
            }
            if let Some(Value::Array(responses)) = form.get("additionalResponses") {
                self.check_responses(responses, &path.member("additionalResponses"));
            }
        }
    }

    fn check_responses(&mut self, responses: &[Value], path: &Path<'_>) {
        let definitions = self.thing.get("schemaDefinitions");
        for (index, response) in responses.iter().enumerate() {
            if let Some(Value::String(name)) = response.get("schema")
                && definitions.is_none_or(|definitions| definitions.get(name).is_none())
            {
                let message = format!("{name:?} isn't defined in `schemaDefinitions`");
                self.warning(&path.index(index).member("schema"), "schema-undefined", message);
            }
        }
    }

    fn check_data_schemas(&mut self, schemas: &'a Object, path: &Path<'_>) {
        for (name, schema) in schemas {
            if let Value::Object(schema) = schema {
                self.check_data_schema(schema, &path.member(name));
            }
        }
    }

    fn check_data_schema(&mut self, schema: &'a Object, path: &Path<'_>) {
        for (name, value) in schema {
            match (name.as_str(), value) {
                ("titles", _) => self.check_translations(schema, path, "titles"),
                ("descriptions", _) => self.check_translations(schema, path, "descriptions"),
                ("properties", Value::Object(properties)) => {
                    self.check_data_schemas(properties, &path.member("properties"));
                }
                ("properties", other) => {
                    let message = format!(
                        "found {other}; in a data schema, `properties` must be an object whose values are data schemas"
                    );
                    self.violation(&path.member("properties"), "schema-properties", message);
                }
                ("items", Value::Object(items)) => self.check_data_schema(items, &path.member("items")),
                ("items" | "oneOf" | "anyOf" | "allOf", Value::Array(schemas)) => {
                    let path = path.member(name);
                    for (index, schema) in schemas.iter().enumerate() {
                        if let Value::Object(schema) = schema {
                            self.check_data_schema(schema, &path.index(index));
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
