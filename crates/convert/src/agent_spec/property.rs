//! Properties: the inputs and outputs of components, each a JSON Schema with a title.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{Profile, sdk_types::SdkTypes};
use crate::casting::{
    Casting,
    effort::{Effort, Refusal},
};

/// Title that the SDK gives to a property without one.
pub(super) const DEFAULT_TITLE: &str = "property";

/// An input or output, given in a document or generated from one.
#[derive(Debug, Clone)]
pub(super) struct Property<'d> {
    /// Its name.
    pub(super) title: Cow<'d, str>,
    shape: Shape<'d>,
}

/// The schema of a property. Generated schemas are put together when they are asked for.
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

    /// True if the document gives it a title, rather than the SDK.
    pub(super) fn has_title(&self) -> bool {
        self.as_given().is_none_or(|schema| schema.get("title").is_some())
    }

    /// True if there is a value for it where nothing else gives one.
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

    /// True if both have the same schema, titles aside where they are generated; one value is compared with another
    /// by `is_same`.
    pub(super) fn has_schema_of(&self, other: &Property<'_>, is_same: fn(&Value, &Value) -> bool) -> bool {
        match (self.shape, other.shape) {
            (Shape::Given(one), Shape::Given(other))
            | (Shape::OneOrMany(one), Shape::OneOrMany(other))
            | (Shape::Many(one), Shape::Many(other)) => is_same(one, other),
            (Shape::Text, Shape::Text) | (Shape::Any, Shape::Any) | (Shape::OptionalText, Shape::OptionalText) => true,
            _ => false,
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

    /// True if a value of this can be cast to `to`.
    pub(super) fn casts_to(&self, to: &Property<'_>, profile: Profile, effort: &Effort) -> Result<bool, Refusal> {
        let (from, to) = (self.type_schema(effort)?, to.type_schema(effort)?);
        match profile {
            Profile::Spec => Casting { effort }.casts(&from, &to),
            Profile::Sdk => SdkTypes { effort }.castable(&from, &to),
        }
    }

    /// The choices that whoever declares this has: what is mapped may be one value or many.
    pub(super) fn choices(&self) -> Vec<Property<'d>> {
        match self.shape {
            Shape::OneOrMany(inner) => [Shape::Given(inner), Shape::Many(inner)]
                .map(|shape| Property { title: self.title.clone(), shape })
                .to_vec(),
            _ => Vec::new(),
        }
    }

    /// True if both are of the same type, as the SDK compares them. Where it can't, they are of the same type in the
    /// `spec` profile if each casts to the other; in `sdk` the comparison is refused.
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
