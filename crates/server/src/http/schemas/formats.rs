//! The schemas of other formats, and of the results of importing them.

use utoipa::ToSchema;

/// The URL of a document, which is fetched, registered, and polled for changes.
#[derive(ToSchema)]
#[schema(example = json!({"url": "https://weather.example"}))]
pub(in crate::http) struct DocumentUrl {
    /// An absolute `http` or `https` URL: of the document, or of the agent that serves it at a well-known
    /// place.
    url: String,
}

/// A document in any known format.
#[derive(ToSchema)]
#[schema(example = json!({"name": "Weather", "url": "https://weather.example/a2a", "skills": []}))]
pub(in crate::http) struct AnyDocument {}

/// The parts of a multi-part import, each JSON or YAML by its type or the name of its file.
#[derive(ToSchema)]
pub(in crate::http) struct ImportParts {
    /// The configuration itself.
    #[schema(value_type = String, format = Binary)]
    document: (),
    /// Configurations to which it refers.
    #[schema(value_type = Vec<String>)]
    component: (),
}
