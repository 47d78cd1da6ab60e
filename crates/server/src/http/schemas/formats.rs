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

/// A URL that an agent was imported from and that is polled. Moments are in RFC 3339.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({
    "id": "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66",
    "source": "https://weather.example/.well-known/agent-card.json",
    "format": "a2a",
    "status": "current",
    "trackedSince": "2026-11-22T10:00:00Z",
    "lastFetch": "2026-11-22T12:01:40Z",
    "lastSuccess": "2026-11-22T12:01:40Z",
    "nextTry": "2026-11-22T13:04:10Z",
    "failures": 0,
    "etag": "\"1\"",
    "revisions": [
        {"hash": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "seen": "2026-11-22T10:00:00Z"},
    ],
}))]
pub(in crate::http) struct TrackedSource {
    /// The Thing that the document is about.
    id: String,
    /// The URL of the document.
    source: String,
    /// The URL at the end of its redirects, if there are any; without its query.
    location: Option<String>,
    /// The name of its format, such as `a2a`.
    format: String,
    /// `current`, or `stale` once polls failed repeatedly.
    status: String,
    tracked_since: String,
    /// When it was last polled.
    last_fetch: String,
    /// When it last served the document, or confirmed that it is unchanged.
    last_success: String,
    /// When it will be polled again.
    next_try: String,
    /// How many polls failed in a row.
    failures: u32,
    /// Why the last poll failed.
    last_error: Option<String>,
    /// How many times in a row the signatures of a card couldn't be checked, because keys couldn't be fetched.
    unchecked: Option<u32>,
    /// The entity tag of the document.
    etag: Option<String>,
    /// When the document changed, as its server wrote it.
    last_modified: Option<String>,
    /// The versions of the document, the newest last; at most 100.
    revisions: Vec<Revision>,
}

/// A version of a tracked document.
#[derive(ToSchema)]
pub(in crate::http) struct Revision {
    /// SHA-256 of its bytes, as `sha256:` and hexadecimal digits.
    hash: String,
    /// When it was first seen.
    seen: String,
}

/// The result of a poll.
#[derive(ToSchema)]
pub(in crate::http) struct RefreshedImport {
    /// `unchanged`, `updated`, or `stopped` where the Thing was removed or changed by hand in the meantime.
    result: String,
    /// The state of the source; `null` where it is no longer tracked.
    import: Option<TrackedSource>,
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
