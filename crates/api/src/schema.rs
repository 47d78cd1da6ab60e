//! Schemas of members that are open documents, for OpenAPI.

use utoipa::openapi::{
    Ref,
    schema::{Array, ArrayBuilder},
};

/// A Thing Description, which is an open document: its schema is the server's.
pub fn description() -> Ref {
    Ref::from_schema_name("ThingDescription")
}

/// A list of Thing Descriptions.
pub fn descriptions() -> Array {
    ArrayBuilder::new().items(description()).build()
}
