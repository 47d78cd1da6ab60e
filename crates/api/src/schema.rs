//! Schemas that no derive makes, for OpenAPI: members that are open documents, and saved queries.

use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr, Schema,
        schema::{AdditionalProperties, Array, ArrayBuilder, KnownFormat, ObjectBuilder, SchemaFormat, Type},
    },
};

use crate::{FilterField, MAX_QUERY_BYTES, QueryParameters};

/// A Thing Description, which is an open document: its schema is the server's.
pub fn description() -> Ref {
    Ref::from_schema_name("ThingDescription")
}

/// A list of Thing Descriptions.
pub fn descriptions() -> Array {
    ArrayBuilder::new().items(description()).build()
}

/// The modes of a saved query.
#[expect(dead_code, reason = "read by the derive alone")]
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
enum SavedQueryMode {
    /// Its words, unless another is given.
    Lexical,
    /// Its meaning.
    Semantic,
}

/// By hand: the filters are members beside the others, which a flattened struct would deny.
impl PartialSchema for QueryParameters {
    fn schema() -> RefOr<Schema> {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        let threshold = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0)).maximum(Some(1));
        let object = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("A query and filters as `GET /search` has them."))
            .property("q", text().max_length(Some(MAX_QUERY_BYTES)).description(Some("The query text.")))
            .property("mode", Ref::from_schema_name("SavedQueryMode"))
            .property(
                "threshold",
                threshold.format(Some(SchemaFormat::KnownFormat(KnownFormat::Float))).description(Some(
                    "With the mode `semantic`, the least cosine of a Thing that matches: 0.30 unless given (0.35 with a sentence encoder).",
                )),
            );
        let filters = FilterField::ALL.into_iter().map(FilterField::name);
        let object = filters.fold(object, |object, name| object.property(name, ArrayBuilder::new().items(text())));
        object
            .additional_properties(Some(AdditionalProperties::FreeForm(false)))
            .examples([json!({"q": "weather forecast", "protocol": ["http"]})])
            .into()
    }
}

impl ToSchema for QueryParameters {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((SavedQueryMode::name().into_owned(), SavedQueryMode::schema()));
    }
}
