//! The schemas of other formats, and of the results of importing them.

use utoipa::ToSchema;

/// The address of a document, which is fetched, registered, and polled for changes.
#[derive(ToSchema)]
#[schema(example = json!({"url": "https://weather.example"}))]
pub(in crate::http) struct DocumentUrl {
    /// Absolute, with `http` or `https`: of the document, or of the agent that serves it at a well-known place.
    url: String,
}

/// A document of any format that is known.
#[derive(ToSchema)]
#[schema(example = json!({"name": "Weather", "url": "https://weather.example/a2a", "skills": []}))]
pub(in crate::http) struct AnyDocument {}

/// The parts of a multi-part import, each JSON or YAML by its type or the name of its file.
#[derive(ToSchema)]
pub(in crate::http) struct ImportParts {
    /// The configuration itself.
    #[schema(value_type = String, format = Binary)]
    document: (),
    /// Configurations that it refers to.
    #[schema(value_type = Vec<String>)]
    component: (),
}
