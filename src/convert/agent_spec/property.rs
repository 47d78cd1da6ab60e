//! Properties: the inputs and outputs of components, each a JSON Schema with a title.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{
    Profile,
    casting::Casting,
    effort::Effort,
    json_schema,
    sdk_types::{Refusal, SdkTypes},
};

/// What the SDK calls a property without a title.
const DEFAULT_TITLE: &str = "property";
/// What a title must not contain, by the SDK.
const SPECIAL: &str = ".,{} \n'\"";

/// An input or output, given in a document or generated from one.
#[derive(Debug, Clone)]
pub(super) struct Property<'d> {
    /// Its name.
    pub(super) title: Cow<'d, str>,
    shape: Shape<'d>,
}

/// What the schema of a property is; generated ones are put together when they are asked for.
#[derive(Debug, Clone, Copy)]
enum Shape<'d> {
    /// As it is written.
    Given(&'d Value),
    /// A string.
    Text,
    /// Anything.
    Any,
    /// A string, or null, which is the default.
    OptionalText,
    /// A value of the schema or an array of such.
    OneOrMany(&'d Value),
    /// An array of values of the schema.
    Many(&'d Value),
}

impl<'d> Property<'d> {
    /// A property that is written out.
    pub(super) fn given(schema: &'d Value) -> Property<'d> {
        let title = schema.get("title").and_then(Value::as_str).unwrap_or(DEFAULT_TITLE);
        Property { title: Cow::Borrowed(title), shape: Shape::Given(schema) }
    }

    /// A string.
    pub(super) fn text(title: impl Into<Cow<'d, str>>) -> Property<'d> {
        Property { title: title.into(), shape: Shape::Text }
    }

    /// Anything.
    pub(super) fn any(title: &'static str) -> Property<'d> {
        Property { title: Cow::Borrowed(title), shape: Shape::Any }
    }

    /// A string, or null by default.
    pub(super) fn optional_text(title: &'static str) -> Property<'d> {
        Property { title: Cow::Borrowed(title), shape: Shape::OptionalText }
    }

    /// The same under another title.
    pub(super) fn renamed(&self, title: String) -> Property<'d> {
        Property { title: Cow::Owned(title), shape: self.shape }
    }

    /// One of these or a list of them, under another title.
    pub(super) fn one_or_many(&self, title: String) -> Property<'d> {
        self.wrapped(title, Shape::OneOrMany)
    }

    /// A list of these, under another title.
    pub(super) fn many(&self, title: String) -> Property<'d> {
        self.wrapped(title, Shape::Many)
    }

    fn wrapped(&self, title: String, wrap: fn(&'d Value) -> Shape<'d>) -> Property<'d> {
        static ANY: Value = Value::Bool(true);
        let shape = match self.shape {
            Shape::Given(schema) => wrap(schema),
            // Only flows are mapped, and all that they expose is written out.
            _ => wrap(&ANY),
        };
        Property { title: Cow::Owned(title), shape }
    }

    /// The schema as it is written, if it is.
    pub(super) fn as_given(&self) -> Option<&'d Value> {
        match self.shape {
            Shape::Given(schema) => Some(schema),
            _ => None,
        }
    }

    /// Whether the document gives it a title, rather than the SDK.
    pub(super) fn has_title(&self) -> bool {
        self.as_given().is_none_or(|schema| schema.get("title").is_some())
    }

    /// Whether there is a value for it where nothing else gives one.
    pub(super) fn has_default(&self) -> bool {
        match self.shape {
            Shape::Given(schema) => schema.get("default").is_some(),
            Shape::OptionalText => true,
            _ => false,
        }
    }

    /// Its JSON Schema, title included.
    pub(super) fn schema(&self) -> Cow<'d, Value> {
        match self.shape {
            Shape::Given(schema) if schema.get("title").and_then(Value::as_str) == Some(&self.title) => {
                Cow::Borrowed(schema)
            }
            Shape::Given(schema) => Cow::Owned(with_title(schema.clone(), &self.title)),
            Shape::Text => Cow::Owned(json!({"title": self.title, "type": "string"})),
            Shape::Any => Cow::Owned(json!({"title": self.title})),
            Shape::OptionalText => {
                let union = json!([{"type": "string"}, {"type": "null"}]);
                Cow::Owned(json!({"title": self.title, "anyOf": union, "default": null}))
            }
            Shape::OneOrMany(inner) => {
                Cow::Owned(json!({"title": self.title, "anyOf": [inner, {"type": "array", "items": inner}]}))
            }
            Shape::Many(inner) => Cow::Owned(json!({"title": self.title, "type": "array", "items": inner})),
        }
    }

    /// The schema to compare, which may lack the right title.
    fn type_schema(&self, effort: &Effort) -> Result<Cow<'d, Value>, Refusal> {
        match self.shape {
            Shape::Given(schema) => Ok(Cow::Borrowed(schema)),
            Shape::OneOrMany(inner) | Shape::Many(inner) => {
                effort.spend(2 * size(inner))?;
                Ok(self.schema())
            }
            _ => Ok(self.schema()),
        }
    }

    /// Whether a value of this can be cast to `to`.
    pub(super) fn casts_to(&self, to: &Property<'_>, profile: Profile, effort: &Effort) -> Result<bool, Refusal> {
        let (from, to) = (self.type_schema(effort)?, to.type_schema(effort)?);
        match profile {
            Profile::Spec => Casting { effort }.casts(&from, &to),
            Profile::Sdk => SdkTypes { effort }.castable(&from, &to),
        }
    }

    /// Whether both are of the same type. What no profile can compare is the same if it casts both ways.
    pub(super) fn is_same_type(
        &self,
        other: &Property<'_>,
        profile: Profile,
        effort: &Effort,
    ) -> Result<bool, Refusal> {
        let (one, other) = (self.type_schema(effort)?, other.type_schema(effort)?);
        match (SdkTypes { effort }.same_type(&one, &other), profile) {
            (Err(Refusal::Unsupported), Profile::Spec) => {
                let casting = Casting { effort };
                Ok(casting.casts(&one, &other)? && casting.casts(&other, &one)?)
            }
            (answer, _) => answer,
        }
    }
}

fn with_title(mut schema: Value, title: &str) -> Value {
    if let Value::Object(members) = &mut schema {
        members.insert("title".into(), title.into());
    }
    schema
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(entries) => entries.iter().map(size).sum(),
        Value::Object(members) => members.values().map(size).sum(),
        _ => 0,
    }
}

/// What is wrong with a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// A JSON Pointer from the property.
    pub(super) pointer: String,
    /// The rule it is against.
    pub(super) rule: &'static str,
    /// What would be right.
    pub(super) message: String,
    /// Whether the profile takes it all the same.
    pub(super) is_warning: bool,
}

/// Which properties are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// An input or output.
    Port,
    /// An input or output of a node or a flow, which may hand on the `response` of a request.
    NodePort,
    /// The rows of a collection in a datastore.
    Entity,
}

/// What is wrong with `property` by itself; other things than objects are no properties at all.
pub(super) fn find_faults(property: &Value, role: Role, profile: Profile, effort: &Effort) -> Vec<Fault> {
    let Value::Object(members) = property else { return Vec::new() };
    let mut check = Check { members, profile, faults: Vec::new() };
    for flaw in json_schema::find_flaws(property) {
        let message = format!("no valid JSON Schema: {}", flaw.message);
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
                let message = "`title` is missing: it is the property's name";
                self.fault("title", "property-title-missing", message, self.profile == Profile::Sdk);
            }
            Some("") => {
                self.error("title", "property-title-malformed", "the title is empty: it is the property's name")
            }
            Some(title) if title.contains(|character| SPECIAL.contains(character)) => {
                let message = "a title is a name without white space, quotes, braces, `.` and `,`";
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
        self.fault("type", "property-type-missing", "`type` is missing, so that any value would do", is_taken);
    }

    fn entity(&mut self) {
        let is_object = self.members.get("type").is_some_and(|kind| kind == "object");
        let has_properties = self.members.contains_key("properties");
        if !is_object {
            self.error(
                "type",
                "entity-not-object",
                "the rows of a collection are objects: expected `type` to be \"object\"",
            );
        } else if !has_properties {
            let message = "the rows of a collection need `properties`, which are its columns";
            self.fault("properties", "entity-not-object", message, self.profile == Profile::Spec);
        }
    }

    fn default_value(&mut self, property: &Value, effort: &Effort) {
        let Some(value) = self.members.get("default") else { return };
        let answer = match self.profile {
            Profile::Spec => Casting { effort }.fits(value, property),
            Profile::Sdk => SdkTypes { effort }.fits(value, property),
        };
        let wanted = || super::casting::describe(property);
        match answer {
            Ok(true) if !value.is_string() && self.members.get("type").is_some_and(|kind| kind == "string") => {
                let message = "the default is no string, but the property is one; it will be converted";
                self.fault("default", "property-default-type", message, true);
            }
            Ok(true) => {}
            Ok(false) => {
                self.error("default", "property-default-type", format!("the default is not of type {}", wanted()))
            }
            Err(Refusal::Unsupported) => {
                self.error("default", "schema-unsupported", "the SDK can't tell whether a default fits this schema");
            }
            // The document as a whole is refused for that.
            Err(Refusal::TooComplex) => {}
        }
    }

    /// What the SDK says of schemas within: their titles are names as well, and the places that it visits
    /// for them don't hold `true` or `false`.
    fn nested(&mut self, property: &Value) {
        let mut pending: Vec<&Value> = within(property).collect();
        while let Some(schema) = pending.pop() {
            if !schema.is_object() {
                let message = "the SDK takes no `true` or `false` for a schema here";
                return self.error("", "property-schema-unsupported", message);
            }
            let title = schema.get("title").and_then(Value::as_str).unwrap_or_default();
            if title.contains(|character| SPECIAL.contains(character)) {
                let message = "a title within the property contains white space, quotes, braces, `.` or `,`";
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

/// Whether a name is that of an ApiNode's output, or what a MapNode makes of it: the SDK generates it
/// without a type, and everything that hands it on repeats it.
fn is_response(title: &str) -> bool {
    let mut name = title;
    while let Some(inner) = name.strip_prefix("collected_").or_else(|| name.strip_prefix("iterated_")) {
        name = inner;
    }
    name == "response"
}
