//! What the registry says of itself.

use std::collections::BTreeMap;

use utoipa::ToSchema;

/// What this is, and where everything else is.
#[derive(ToSchema)]
pub(in crate::http) struct About {
    name: String,
    description: String,
    version: String,
    /// `urn:agentdex:registry:` and the uuid that was drawn when the data directory was created.
    registry: String,
    /// How many Things are registered; absent for callers who may not read.
    things: Option<u64>,
    /// What the caller may do.
    access: CallerAccess,
    /// The formats that descriptions are imported from and exported in.
    formats: Vec<DocumentFormat>,
    /// Where things are, by what they are for; `{…}` stands for what the client fills in.
    links: BTreeMap<String, String>,
}

/// What the caller of a request may do.
#[derive(ToSchema)]
pub(in crate::http) struct CallerAccess {
    /// Whether the server authenticates its clients.
    authentication: bool,
    /// Whether it takes no changes from anybody.
    #[schema(rename = "readOnly")]
    read_only: bool,
    /// `read`, `register` or `admin`; `null` for callers who may do nothing.
    role: Option<String>,
    /// In whose name the caller acts, where it has proved that.
    owner: Option<String>,
    /// How people sign in with the issuer of tokens; absent where they don't.
    #[schema(rename = "signIn")]
    sign_in: Option<SignIn>,
}

/// A client of an authorization server, for the code flow with PKCE.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct SignIn {
    issuer: String,
    client_id: String,
    scope: String,
    authorization_endpoint: String,
    token_endpoint: String,
}

/// Whose tokens are taken (RFC 9728, section 2).
#[derive(ToSchema)]
pub(in crate::http) struct ProtectedResource {
    /// The URL of this API, which tokens are requested for.
    resource: String,
    /// Always `agentdex`.
    resource_name: String,
    /// The issuer whose tokens are taken.
    authorization_servers: Vec<String>,
    /// Always `header`.
    bearer_methods_supported: Vec<String>,
    /// Where this API is documented.
    resource_documentation: String,
    /// The scopes that give a role; absent where roles go by another claim.
    scopes_supported: Option<Vec<String>>,
}

/// A format of descriptions.
#[derive(ToSchema)]
pub(in crate::http) struct DocumentFormat {
    /// Its name in parameters and filters.
    name: String,
    /// What one of its documents is.
    noun: String,
    /// Where documents are posted.
    import: String,
    /// Whether a URL may be posted there instead of a document, which is then polled.
    tracked: bool,
    /// Where a Thing is read in it.
    export: Option<String>,
    /// The values of `version` there, the default first; empty where there is one only.
    versions: Vec<String>,
}

/// The process is alive.
#[derive(ToSchema)]
#[schema(example = json!({"status": "live"}))]
pub(in crate::http) struct Live {
    /// Always `live`.
    status: String,
}

/// Searches are answered and writes are taken.
#[derive(ToSchema)]
pub(in crate::http) struct Ready {
    /// Always `ready`.
    status: String,
    /// How many Things are registered.
    things: u64,
    /// The durable end of the change log: `<epoch>-<seq>`.
    cursor: String,
    /// The last change that searches show.
    indexed: u64,
    /// What follows the change log, and how far it is.
    followers: Vec<Follower>,
}

/// Something that follows the change log.
#[derive(ToSchema)]
pub(in crate::http) struct Follower {
    /// Which one: `search`, …
    name: String,
    /// `following` when it is ready; else `rebuilding`, `failing` or `stopped`.
    state: String,
    /// The last change whose effect it shows.
    seq: Option<u64>,
    /// Failures since the start.
    failures: u64,
    /// Rebuilds since the start.
    rebuilds: u64,
}
