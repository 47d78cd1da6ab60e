//! Bodies of saved queries, and of SPARQL queries.

use utoipa::ToSchema;

/// A query and filters as `GET /search` has them.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"q": "weather forecast", "protocol": ["http"]}))]
pub(in crate::http) struct QueryParameters {
    /// The query text.
    #[schema(nullable = false, max_length = 4096)]
    q: Option<String>,
    /// Whether the words of `q` count, or their meaning.
    #[schema(nullable = false)]
    mode: Option<SavedQueryMode>,
    /// With the mode `semantic`, the least cosine of a Thing that matches: 0.30 unless given (0.35 with a sentence encoder).
    #[schema(nullable = false, minimum = 0, maximum = 1)]
    threshold: Option<f32>,
    #[schema(nullable = false)]
    capability: Option<Vec<String>>,
    #[schema(nullable = false)]
    r#type: Option<Vec<String>>,
    #[schema(nullable = false)]
    tag: Option<Vec<String>>,
    #[schema(nullable = false)]
    vendor: Option<Vec<String>>,
    #[schema(nullable = false)]
    protocol: Option<Vec<String>>,
    #[schema(nullable = false)]
    security: Option<Vec<String>>,
    #[schema(nullable = false)]
    format: Option<Vec<String>>,
    #[schema(nullable = false)]
    tenant: Option<Vec<String>>,
    #[schema(nullable = false)]
    channel: Option<Vec<String>>,
    #[schema(nullable = false)]
    status: Option<Vec<String>>,
    #[schema(nullable = false)]
    signature: Option<Vec<String>>,
    #[schema(nullable = false)]
    speaks: Option<Vec<String>>,
}

/// What of a saved query counts.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(in crate::http) enum SavedQueryMode {
    /// Its words, unless another is given.
    Lexical,
    /// Its meaning.
    Semantic,
}

/// A saved query.
#[derive(ToSchema)]
pub(in crate::http) struct NamedQuery {
    name: String,
    query: QueryParameters,
    /// When it was saved as it is (RFC 3339).
    saved: String,
}

/// A SPARQL query as forms send it.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"query": "ASK { ?thing ?property ?value }"}))]
pub(in crate::http) struct SparqlForm {
    /// The query, of at most 8 KiB.
    #[schema(min_length = 1)]
    query: String,
    /// Wait until everything acknowledged so far is found.
    #[schema(nullable = false)]
    consistent: Option<bool>,
}
