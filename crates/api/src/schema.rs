//! OpenAPI schemas that can't be derived: members with open documents, and saved queries.

use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr, Schema,
        schema::{AdditionalProperties, Array, ArrayBuilder, KnownFormat, ObjectBuilder, SchemaFormat, Type},
    },
};

use crate::{Filters, MAX_QUERY_BYTES, Mode, QueryParameters};

/// Returns the schema of a Thing Description, which is an open document; the server defines its
/// schema.
pub fn description() -> Ref {
    Ref::from_schema_name("ThingDescription")
}

/// Returns the schema of a list of Thing Descriptions.
pub fn descriptions() -> Array {
    ArrayBuilder::new().items(description()).build()
}

/// By hand: the filters are members beside the others, which a flattened struct would deny.
impl PartialSchema for QueryParameters {
    fn schema() -> RefOr<Schema> {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        let threshold = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0)).maximum(Some(1));
        let object = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("A query and filters, as in `GET /search`, but without filters by time."))
            .property("q", text().max_length(Some(MAX_QUERY_BYTES)).description(Some("The query text.")))
            .property("mode", Ref::from_schema_name(<Mode as ToSchema>::name()))
            .property(
                "threshold",
                threshold.format(Some(SchemaFormat::KnownFormat(KnownFormat::Float))).description(Some(
                    "Minimum cosine of matches by meaning. By default, the minimum cosine among the search results \
                     at the time the query is saved.",
                )),
            );
        // Saved queries have no periods.
        let bounds = Filters::default().bounds().map(|(name, _)| name);
        let filters = Filters::names().filter(|name| !bounds.contains(name));
        let object = filters.fold(object, |object, name| object.property(name, ArrayBuilder::new().items(text())));
        object
            .additional_properties(Some(AdditionalProperties::FreeForm(false)))
            .examples([json!({"q": "weather forecast", "protocol": ["http"]})])
            .into()
    }
}

impl ToSchema for QueryParameters {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((<Mode as ToSchema>::name().into_owned(), Mode::schema()));
    }
}
