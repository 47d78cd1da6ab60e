//! JSON Schemas: they hold no secrets but what a property with the name of one is by default, or may be,
//! and what somebody put there beside the language.

use serde_json::{Map, Value, json};

use super::{
    edit::Edit,
    names::is_secret_name,
    place::{Place, Token},
    walk::{Walker, scrub},
};
use crate::convert::agent_spec::references::REFERENCE;

/// What a value is asked by in a schema.
enum Keyword {
    /// Values that the property has or may have.
    Values,
    /// Schemas by names that are those of properties.
    NamedSchemas,
    /// A schema, or a list of them.
    Schemas,
    /// What describes the property or limits its values.
    Description,
    /// Nobody knows.
    Unknown,
}

impl Keyword {
    fn of(name: &str) -> Keyword {
        match name {
            "default" | "const" | "enum" | "examples" | "example" => Keyword::Values,
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => Keyword::NamedSchemas,
            "items"
            | "prefixItems"
            | "additionalItems"
            | "unevaluatedItems"
            | "contains"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else"
            | "allOf"
            | "anyOf"
            | "oneOf"
            | "contentSchema" => Keyword::Schemas,
            "title" | "description" | "type" | "format" | "pattern" | "required" | "$ref" | "$id" | "$schema"
            | "$anchor" | "$comment" | "contentEncoding" | "contentMediaType" | "minimum" | "maximum"
            | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "minLength" | "maxLength" | "minItems"
            | "maxItems" | "minProperties" | "maxProperties" | "minContains" | "maxContains" | "unit" | REFERENCE => {
                Keyword::Description
            }
            _ => Keyword::Unknown,
        }
    }
}

impl Walker<'_> {
    /// A list of properties.
    pub(super) fn properties<'v>(&self, schemas: &'v [Value], place: &Place<'_>) -> Option<Edit<'v>> {
        Edit::of_elements(schemas, |index, schema| self.schema("", false, schema, &place.within(Token::Index(index))))
    }

    /// Schemas by their names.
    pub(super) fn named_schemas<'v>(
        &self,
        schemas: &'v Map<String, Value>,
        is_secret: bool,
        place: &Place<'_>,
    ) -> Option<Edit<'v>> {
        Edit::of_members(schemas, |name, schema| self.schema(name, is_secret, schema, &place.within(Token::Name(name))))
    }

    /// A schema of what is called `name`; `is_secret` is whether what is around it is a secret.
    pub(super) fn schema<'v>(
        &self,
        name: &str,
        is_secret: bool,
        schema: &'v Value,
        place: &Place<'_>,
    ) -> Option<Edit<'v>> {
        let members = match schema {
            Value::Array(schemas) => {
                return Edit::of_elements(schemas, |index, schema| {
                    self.schema(name, is_secret, schema, &place.within(Token::Index(index)))
                });
            }
            Value::Object(members) => members,
            // That is no schema.
            _ if is_secret && self.gives_away(schema) => return Some(place.hide()),
            _ => return self.member(name, schema, place),
        };
        if self.is_hidden_reference(schema) {
            return Some(place.hide());
        }
        let title = members.get("title").and_then(Value::as_str).unwrap_or(name);
        let is_secret = is_secret || is_secret_name(name) || is_secret_name(title);
        Edit::of_members(members, |name, value| {
            let place = place.within(Token::Name(name));
            match (Keyword::of(name), value) {
                (Keyword::Values, _) if is_secret => self.secret_values(name, value),
                (Keyword::Values, _) => self.free(value, &place),
                (Keyword::NamedSchemas, Value::Object(schemas)) => self.named_schemas(schemas, is_secret, &place),
                (Keyword::Schemas, Value::Object(_) | Value::Array(_)) => self.schema(title, is_secret, value, &place),
                (Keyword::Description, Value::String(_)) => scrub(value),
                (Keyword::Unknown, _) if is_secret && self.gives_away(value) => Some(Edit::Remove),
                _ => self.member(name, value, &place),
            }
        })
    }

    /// What stands for values of a secret: one that says nothing, since a reference would be no value of the
    /// property's type, and without a default it would be required.
    fn secret_values<'v>(&self, keyword: &str, values: &Value) -> Option<Edit<'v>> {
        if !self.gives_away(values) {
            return None;
        }
        match (keyword, values) {
            ("default" | "const", Value::String(_)) => Some(Edit::Replace("".into())),
            ("default" | "const", Value::Number(_)) => Some(Edit::Replace(0.into())),
            ("default" | "const", Value::Array(_)) => Some(Edit::Replace(json!([]))),
            ("default" | "const", Value::Object(_)) => Some(Edit::Replace(json!({}))),
            _ => Some(Edit::Remove),
        }
    }
}
