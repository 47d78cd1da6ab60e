//! Faults of a single property: of its schema, title, type, and default.

use serde_json::{Map, Value};

use super::{Profile, json_schema, property::DEFAULT_TITLE, sdk_types::SdkTypes};
use crate::casting::{
    Casting, describe,
    effort::{Effort, Refusal},
};

/// Characters that the SDK doesn't allow in a title; both profiles refuse them.
const SPECIAL: &str = ".,{} \n'\"";

/// A fault of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// A JSON Pointer from the property.
    pub(super) pointer: String,
    /// The rule it is against.
    pub(super) rule: &'static str,
    /// The fault, or what is expected instead.
    pub(super) message: String,
    /// True if the profile takes it all the same.
    pub(super) is_warning: bool,
}

/// The role of a property, by which it is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// An input or output.
    Port,
    /// An input or output of a node or a flow, which may hand on the `response` of a request.
    NodePort,
    /// The rows of a collection in a datastore.
    Entity,
}

/// Finds the faults of `property` by itself. Values other than objects are not properties, and have none.
pub(super) fn find_faults(property: &Value, role: Role, profile: Profile, effort: &Effort) -> Vec<Fault> {
    let Value::Object(members) = property else { return Vec::new() };
    let mut check = Check { members, profile, faults: Vec::new() };
    for flaw in json_schema::find_flaws(property) {
        let message = format!("not a valid JSON Schema: {}", flaw.message);
        check.faults.push(Fault { pointer: flaw.pointer, rule: "property-schema", message, is_warning: false });
    }
    if check.faults.is_empty() {
        check.title(role);
        check.kind(role);
        check.default_value(property, effort);
        if profile == Profile::Sdk {
            check.nested(property);
        }
    }
    check.faults
}

struct Check<'v> {
    members: &'v Map<String, Value>,
    profile: Profile,
    faults: Vec<Fault>,
}

impl Check<'_> {
    fn error(&mut self, member: &str, rule: &'static str, message: impl Into<String>) {
        self.fault(member, rule, message, false);
    }

    fn fault(&mut self, member: &str, rule: &'static str, message: impl Into<String>, is_warning: bool) {
        let pointer = if self.members.contains_key(member) { format!("/{member}") } else { String::new() };
        self.faults.push(Fault { pointer, rule, message: message.into(), is_warning });
    }

    fn title(&mut self, role: Role) {
        match self.members.get("title").and_then(Value::as_str) {
            None if role == Role::Entity => {}
            None => {
                let message = "`title` is missing; set it to the name of the property";
                self.fault("title", "property-title-missing", message, self.profile == Profile::Sdk);
            }
            Some("") => self.error(
                "title",
                "property-title-malformed",
                "the title is empty; set it to the name of the property",
            ),
            Some(title) if title.contains(|character| SPECIAL.contains(character)) => {
                let message = "a title must not contain whitespace, quotes, braces, `.`, or `,`";
                self.error("title", "property-title-malformed", message);
            }
            Some(_) => {}
        }
    }

    fn kind(&mut self, role: Role) {
        if role == Role::Entity {
            return self.entity();
        }
        let says_more = ["type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"];
        if says_more.iter().any(|keyword| self.members.contains_key(*keyword)) {
            return;
        }
        let title = self.members.get("title").and_then(Value::as_str).unwrap_or(DEFAULT_TITLE);
        let hands_on_response = role == Role::NodePort && is_response(title);
        let is_taken = hands_on_response || self.profile == Profile::Sdk;
        self.fault("type", "property-type-missing", "`type` is missing, so any value would be valid", is_taken);
    }

    fn entity(&mut self) {
        let is_object = self.members.get("type").is_some_and(|kind| kind == "object");
        let has_properties = self.members.contains_key("properties");
        if !is_object {
            self.error(
                "type",
                "entity-not-object",
                "the rows of a collection must be objects: set `type` to \"object\"",
            );
        } else if !has_properties {
            let message = "the rows of a collection need `properties`, which define its columns";
            self.fault("properties", "entity-not-object", message, self.profile == Profile::Spec);
        }
    }

    fn default_value(&mut self, property: &Value, effort: &Effort) {
        let Some(value) = self.members.get("default") else { return };
        let answer = match self.profile {
            Profile::Spec => Casting { effort }.fits(value, property),
            Profile::Sdk => SdkTypes { effort }.fits(value, property),
        };
        let wanted = || describe(property);
        match answer {
            Ok(true) if !value.is_string() && self.members.get("type").is_some_and(|kind| kind == "string") => {
                let message = "the default of a string property is not a string; it is converted to a string";
                self.fault("default", "property-default-type", message, true);
            }
            Ok(true) => {}
            Ok(false) => {
                self.error("default", "property-default-type", format!("the default is not of type {}", wanted()))
            }
            Err(Refusal::Unsupported) => {
                let message = "the SDK can't check the default against this schema; simplify the schema, or remove the \
                               default";
                self.error("default", "schema-unsupported", message);
            }
            // The document as a whole is refused for that.
            Err(Refusal::TooComplex) => {}
        }
    }

    /// Checks the schemas within as the SDK does: their titles are names as well, and the places that it visits for
    /// them don't hold `true` or `false`.
    fn nested(&mut self, property: &Value) {
        let mut pending: Vec<&Value> = within(property).collect();
        while let Some(schema) = pending.pop() {
            if !schema.is_object() {
                let message = "the SDK doesn't accept `true` or `false` as a schema here";
                return self.error("", "property-schema-unsupported", message);
            }
            let title = schema.get("title").and_then(Value::as_str).unwrap_or_default();
            if title.contains(|character| SPECIAL.contains(character)) {
                let message = "the title of a nested schema contains whitespace, quotes, braces, `.`, or `,`";
                return self.error("", "property-title-malformed", message);
            }
            pending.extend(within(schema));
        }
    }
}

/// The schemas within `schema` that describe parts of its values.
fn within(schema: &Value) -> impl Iterator<Item = &Value> {
    let union = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let additional = schema.get("additionalProperties").filter(|additional| !additional.is_boolean());
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values);
    schema.get("items").into_iter().chain(union).chain(additional).chain(properties)
}

/// True if a name is that of an ApiNode's output, or what a MapNode makes of it: the SDK generates it
/// without a type, and everything that hands it on repeats it.
fn is_response(title: &str) -> bool {
    let mut name = title;
    while let Some(inner) = name.strip_prefix("collected_").or_else(|| name.strip_prefix("iterated_")) {
        name = inner;
    }
    name == "response"
}
