//! Bodies of API keys.

use utoipa::ToSchema;

/// What a key is to be.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"role": "register", "owner": "weather-team", "ttl": 7776000}))]
pub(in crate::http) struct NewKey {
    role: Role,
    /// In whose name its holder acts: characters of ASCII without spaces.
    #[schema(min_length = 1, max_length = 128, pattern = "^[!-~]{1,128}$")]
    owner: String,
    /// For how many seconds it is valid; until it is revoked, unless given.
    #[schema(nullable = false, maximum = 9007199254740991u64)]
    ttl: Option<u64>,
}

/// What the holder of a key may do. Each role may do what those before it may.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(in crate::http) enum Role {
    /// Read, search and subscribe.
    Read,
    /// Also register, change and remove.
    Register,
    /// Also manage API keys, take backups and read the guardian's trail.
    Admin,
}

/// An API key without its secret.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct ApiKey {
    id: String,
    role: Role,
    owner: String,
    /// When it was created (RFC 3339).
    created: String,
    /// When it stops to be valid (RFC 3339).
    #[schema(nullable = false)]
    expires: Option<String>,
    /// When it was last used, to the minute (RFC 3339).
    #[schema(nullable = false)]
    last_used: Option<String>,
}

/// An API key as it was created.
#[derive(ToSchema)]
pub(in crate::http) struct CreatedKey {
    #[schema(inline)]
    #[serde(flatten)]
    listed: ApiKey,
    /// What its holder sends: `adx_`, the id, `_` and the secret.
    key: String,
}
