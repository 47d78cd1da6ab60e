//! Descriptions of a registry by itself: its resources, its health, and how callers authenticate.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use crate::{
    Seq, Timestamp,
    access::{Owner, Role},
};

/// The answer of `GET /`: the registry, and links to its resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct About {
    /// The permissions of the caller.
    pub access: CallerAccess,
    /// True for a demo, which keeps nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demo: bool,
    /// A sentence about the program.
    pub description: String,
    /// The formats from which descriptions can be imported, and to which they can be exported.
    pub formats: Vec<DocumentFormat>,
    /// Links to resources, by purpose; the client fills in placeholders such as `{id}`.
    pub links: BTreeMap<String, String>,
    /// The name of the program: `agentdex`.
    pub name: String,
    /// `urn:agentdex:registry:` followed by the random UUID of the data directory.
    pub registry: String,
    /// Number of registered Things; absent for callers without the role `read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub things: Option<u64>,
    /// The version of the program.
    pub version: String,
}

/// The permissions of the caller of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallerAccess {
    /// True if users with the role `admin` can also stay signed in on their devices.
    #[serde(default)]
    pub admin_stays_signed_in: bool,
    /// True if the server authenticates its clients.
    pub authentication: bool,
    /// Owner of an authenticated caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub owner: Option<Owner>,
    /// True if the server refuses all changes.
    pub read_only: bool,
    /// `read`, `register` or `admin`; `null` for callers without any role.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub role: Option<Role>,
    /// Parameters for signing in with the token issuer; absent without an issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<SignIn>,
}

/// Parameters with which the web page signs users in: as a client of an authorization server, by the code flow with
/// PKCE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SignIn {
    /// The URL to which users are sent to sign in.
    pub authorization_endpoint: String,
    /// The client id of the page at the authorization server.
    pub client_id: String,
    /// The authorization server.
    pub issuer: String,
    /// The scopes that the page requests.
    pub scope: String,
    /// The URL at which the page requests the token.
    pub token_endpoint: String,
}

impl SignIn {
    /// Returns the scheme, host, and port of the token endpoint.
    pub fn token_origin(&self) -> &str {
        let after_scheme = self.token_endpoint.find("://").map_or(0, |start| start + 3);
        let host = self.token_endpoint.get(after_scheme..).unwrap_or_default();
        let length = host.find(['/', '?', '#']).unwrap_or(host.len());
        self.token_endpoint.get(..after_scheme + length).unwrap_or_default()
    }
}

/// The metadata of a protected resource (RFC 9728, section 2): the issuer whose tokens are
/// accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ProtectedResource {
    /// The issuer whose tokens are accepted.
    pub authorization_servers: Vec<String>,
    /// Always `header`.
    pub bearer_methods_supported: Vec<String>,
    /// The URL of this API, for which tokens are requested.
    pub resource: String,
    /// The URL of the documentation of this API.
    pub resource_documentation: String,
    /// Always `agentdex`.
    pub resource_name: String,
    /// The scopes that grant a role; absent if another claim grants the roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
}

/// A format of descriptions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DocumentFormat {
    /// The path for exporting a Thing in this format.
    pub export: Option<String>,
    /// The path to which documents are posted.
    pub import: String,
    /// Name of the format in parameters and filters.
    pub name: String,
    /// A phrase for a document in this format, such as `an A2A agent card`.
    pub noun: String,
    /// The query parameters of an import in this format, in addition to those common to all formats.
    #[serde(default)]
    pub parameters: Vec<FormatParameter>,
    /// True if a URL can be posted instead of a document. The registry then polls that URL.
    pub tracked: bool,
    /// The versions that an export can have, the default first; empty if there is only one.
    pub versions: Vec<String>,
}

/// A query parameter of imports in a format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FormatParameter {
    /// The allowed values, the default first; empty if any value is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Purpose of the parameter, in one sentence without a period.
    pub help: String,
    /// `id`, `url`, `text`, `flag` (true or false) or `choice`.
    pub kind: Cow<'static, str>,
    /// Name of the parameter.
    pub name: String,
}

/// The answer of `GET /health/live`: the process is alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(example = json!({"status": "live"})))]
pub struct Live {
    /// Always `live`.
    pub status: Cow<'static, str>,
}

/// The answer of `GET /health/ready` if the registry is ready: it answers searches and accepts writes. Callers without
/// the role `read` get only the `status`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Ready {
    /// The durable end of the change log: `<epoch>-<seq>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub cursor: Option<String>,
    /// The followers of the change log, and their positions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub followers: Option<Vec<Follower>>,
    /// The last change that is visible to searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>, nullable = false))]
    pub indexed: Option<Seq>,
    /// Notes for the operator of the registry, if any: for example, that the clock is more than a day behind the
    /// last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub notes: Option<Vec<String>>,
    /// Always `ready`.
    pub status: Cow<'static, str>,
    /// Number of registered Things.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub things: Option<u64>,
}

/// The answer of `POST /clock/accept`: the time of the log before and after it was reset to the system clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClockAccepted {
    /// The previous time of the log.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
    pub before: Timestamp,
    /// The current time of the log. It is unchanged if it wasn't ahead of the clock.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
    pub now: Timestamp,
}

/// The state of a follower of the change log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Follower {
    /// Number of records processed so far, if the state is `rebuilding`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub done: Option<u64>,
    /// The failure, if the state is `failing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub error: Option<String>,
    /// Number of failures since the start.
    pub failures: u64,
    /// Name of the follower, such as `search`.
    pub name: Cow<'static, str>,
    /// Number of rebuilds since the start.
    pub rebuilds: u64,
    /// The last change that the follower has processed.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>))]
    pub seq: Option<Seq>,
    /// `following` if it is ready; otherwise `rebuilding`, `failing`, or `stopped`.
    pub state: Cow<'static, str>,
    /// Number of records to process, as counted at the start, if the state is `rebuilding`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub total: Option<u64>,
}
