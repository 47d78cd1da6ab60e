//! Bodies of saved queries, and of SPARQL queries.

use utoipa::ToSchema;

/// A SPARQL query in the form encoding.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"query": "ASK { ?thing ?property ?value }"}))]
pub(in crate::http) struct SparqlForm {
    /// The query, of at most 8 KiB.
    #[schema(min_length = 1)]
    query: String,
    /// Wait until all acknowledged writes can be found.
    #[schema(nullable = false)]
    consistent: Option<bool>,
}
