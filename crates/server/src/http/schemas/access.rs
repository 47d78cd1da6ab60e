//! Whose Things are, who sees them, and namespaces.

use utoipa::{IntoParams, ToSchema};

/// Who may see a Thing, beside its owner and admins.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(in crate::http) enum Visibility {
    /// Everybody who may read.
    Public,
    /// The members of its namespace.
    Namespace,
    /// Nobody.
    Private,
}

/// Whose a Thing is, and who sees it.
#[derive(ToSchema)]
pub(in crate::http) struct Access {
    /// Absent where it was registered without authentication.
    #[schema(nullable = false)]
    owner: Option<String>,
    visibility: Visibility,
    #[schema(nullable = false)]
    namespace: Option<String>,
}

/// What is asked for of the access to a Thing; what is left out stays as it is.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"visibility": "namespace", "namespace": "weather"}))]
pub(in crate::http) struct AccessRequest {
    /// Whose it is to be; for admins.
    #[schema(min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")]
    owner: Option<String>,
    visibility: Option<Visibility>,
    /// The namespace that it is to be in, one that the caller is a member of; `null`: in none.
    #[schema(min_length = 1, max_length = 128, pattern = "^[a-z0-9]+([.-][a-z0-9]+)*$")]
    namespace: Option<String>,
}

/// What requests that put Things ask for of the access to them; without it a new Thing is public, and one that is
/// there stays as it is.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct AccessParameters {
    /// Who sees it
    #[param(inline)]
    visibility: Option<Visibility>,
    /// The namespace that it is in, one that the caller is a member of; empty: in none
    #[param(pattern = "^([a-z0-9]+([.-][a-z0-9]+)*)?$", max_length = 128)]
    namespace: Option<String>,
}

/// A namespace: its owner and its members see the Things in it that have the visibility `namespace`.
#[derive(ToSchema)]
pub(in crate::http) struct Namespace {
    name: String,
    /// Who has claimed it.
    owner: String,
    /// Its other members.
    members: Vec<String>,
    /// When it was claimed (RFC 3339).
    created: String,
    /// Where its domain said then that it is its owner's, if that was asked for.
    proof: Option<String>,
}

/// A message to an agent.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Turn {
    /// The text.
    #[schema(example = "Will it rain in Bonn?")]
    message: String,
    /// The action that gets it, if the agent has several.
    action: Option<String>,
    /// What was said before: that of the last answer, as it is.
    conversation: Option<serde_json::Map<String, serde_json::Value>>,
}

/// What an agent answers.
#[derive(ToSchema)]
pub(in crate::http) struct Answered {
    /// The text of the message.
    text: String,
    /// The message: its parts, each of a `kind` (`text`, `data`, `image`, …).
    message: serde_json::Map<String, serde_json::Value>,
    /// `completed`, `input-required` where the agent asks something back, `working`, ….
    state: String,
    /// What was said so far, to be sent along with the next message.
    conversation: serde_json::Map<String, serde_json::Value>,
}

/// A Thing with all that is stored of it.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Record {
    /// Its description as it is stored.
    td: super::ThingDescription,
    /// When it was created (RFC 3339).
    created: String,
    /// When it was last changed (RFC 3339); not taken.
    modified: Option<String>,
    /// Whose it is; without it nobody's.
    #[schema(inline, min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")]
    owner: Option<String>,
    /// Who sees it.
    visibility: Option<Visibility>,
    /// The namespace that it is in.
    #[schema(max_length = 128, pattern = "^[a-z0-9]+([.-][a-z0-9]+)*$")]
    namespace: Option<String>,
    /// For how many seconds it lasts after each renewal.
    ttl: Option<u64>,
    /// When it expires (RFC 3339).
    expires: Option<String>,
    original: Option<OriginalDocument>,
    /// The URL that is polled for it, with what is known of that.
    source: Option<serde_json::Map<String, serde_json::Value>>,
}

/// The document that a Thing was converted from, with secrets replaced by references.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct OriginalDocument {
    /// Its format, such as `agent-spec`.
    format: String,
    /// Its media type.
    #[schema(rename = "mediaType")]
    media_type: String,
    text: String,
}

/// The name of an owner.
#[derive(ToSchema)]
#[schema(min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")]
pub(in crate::http) struct OwnerName(String);

/// Who the members of a namespace are to be, beside its owner.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"members": ["maps-team"]}))]
pub(in crate::http) struct Membership {
    #[schema(nullable = false, max_items = 1000)]
    members: Option<Vec<OwnerName>>,
}

/// One entry of the audit trail.
#[derive(ToSchema)]
pub(in crate::http) struct AuditEntry {
    /// Its number: 1 for the first, ascending.
    number: u64,
    /// When it was done or denied (RFC 3339).
    at: String,
    /// In whose name; absent where nobody had proved who it is.
    #[schema(nullable = false)]
    owner: Option<String>,
    /// The id of the API key that was used.
    #[schema(nullable = false)]
    key: Option<String>,
    /// The address of the client.
    #[schema(nullable = false)]
    address: Option<String>,
    /// The kind of the change; `denied`; or the method of a request that changed something else.
    action: String,
    /// The id of a Thing, or a request.
    target: String,
    /// The position of the change in the log.
    #[schema(nullable = false)]
    seq: Option<u64>,
    /// The SHA-256 of the description before, in hexadecimal digits.
    #[schema(nullable = false)]
    before: Option<String>,
    /// The SHA-256 of the description since.
    #[schema(nullable = false)]
    after: Option<String>,
    /// The HTTP status of what was denied.
    #[schema(nullable = false)]
    status: Option<u16>,
    /// How many more were denied since the last one that is listed: 20 a second are.
    #[schema(nullable = false)]
    unlisted: Option<u64>,
}

/// Part of the audit trail.
#[derive(ToSchema)]
pub(in crate::http) struct Audited {
    entries: Vec<AuditEntry>,
    /// The number of the last entry that there is.
    last: u64,
}
