//! The schemas of other formats, and of the results of importing them.

use utoipa::ToSchema;

use crate::td::Violation;

/// Where a document is. It is fetched, registered, and polled for changes.
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

/// What a document is, and would be registered as.
#[derive(ToSchema)]
pub(in crate::http) struct Converted {
    /// The name of its format, such as `a2a`.
    format: String,
    /// What it is in words, such as `an A2A agent card`.
    noun: String,
    /// The path that documents of its format are posted to.
    register: String,
    /// Whether it would be registered.
    valid: bool,
    /// Of a Thing Description that is invalid or has no id, `1.0` or `1.1`, by its `@context`.
    #[schema(nullable = false)]
    version: Option<String>,
    /// What is wrong; pointers are into the document.
    violations: Vec<Violation>,
    /// What is odd, would be fixed, or is left out.
    warnings: Vec<Violation>,
    /// The descriptions; none of an invalid document.
    things: Vec<super::ThingDescription>,
}

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
