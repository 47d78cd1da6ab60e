//! Bodies of saved queries.

use utoipa::ToSchema;

/// A query and filters as `GET /search` has them.
#[derive(ToSchema)]
#[schema(example = json!({"q": "weather forecast", "protocol": ["http"]}))]
pub(in crate::http) struct QueryParameters {
    /// The query text.
    q: Option<String>,
    capability: Option<Vec<String>>,
    r#type: Option<Vec<String>>,
    tag: Option<Vec<String>>,
    vendor: Option<Vec<String>>,
    protocol: Option<Vec<String>>,
    security: Option<Vec<String>>,
    format: Option<Vec<String>>,
    tenant: Option<Vec<String>>,
    channel: Option<Vec<String>>,
    status: Option<Vec<String>>,
    signature: Option<Vec<String>>,
    speaks: Option<Vec<String>>,
}

/// A saved query.
#[derive(ToSchema)]
pub(in crate::http) struct NamedQuery {
    name: String,
    query: QueryParameters,
    /// When it was saved as it is (RFC 3339).
    saved: String,
}
