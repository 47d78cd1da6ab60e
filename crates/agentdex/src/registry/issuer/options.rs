//! Options of the token issuer, and the mapping of a token's claims to its holder.

use std::time::Duration;

use crate::{
    access::{Owner, Principal, Role, RoleMapping},
    fetch::Fetcher,
    signature::Claims,
};

/// Maximum length of a subject in the audit trail.
const MAX_SHOWN: usize = 128;

/// Options for a trusted authorization server, whose access tokens are accepted. Passed to
/// [`crate::registry::Builder::issuer`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IssuerOptions {
    /// Identifier of the issuer: a URL, equal to `iss` in tokens, from which the URL of its metadata is derived.
    pub issuer: String,
    /// Required `aud` of tokens for this registry.
    pub audience: String,
    /// URL of the issuer's keys (JWKS). If `None`, it is read from the issuer's metadata.
    pub jwks: Option<String>,
    /// Name or JSON Pointer of the claim that contains the caller's name as an owner of Things.
    pub owner_claim: String,
    /// Name or JSON Pointer of the claim that contains the names of roles, as an array or separated by spaces.
    pub role_claim: String,
    /// Roles granted by the names in the role claim.
    pub roles: RoleMapping,
    /// Client id for signing people in on the web page, by the code flow with PKCE. If `None`, people sign in with
    /// keys only.
    pub client_id: Option<String>,
    /// Scopes requested by the web page, separated by spaces.
    pub scope: String,
    /// Fetcher of the metadata and keys.
    pub fetcher: Fetcher,
    /// Minimum interval between two fetches of the keys. A token signed with a new key may be refused for up to this
    /// time.
    pub min_refresh_interval: Duration,
}

impl IssuerOptions {
    /// Creates options that accept an issuer's tokens for an audience. The owner is taken from `sub`; the scopes
    /// `read`, `register`, and `admin` grant the roles with these names.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>, fetcher: Fetcher) -> IssuerOptions {
        IssuerOptions {
            issuer: issuer.into(),
            audience: audience.into(),
            jwks: None,
            owner_claim: "sub".into(),
            role_claim: "scope".into(),
            roles: RoleMapping::by_role_name(),
            client_id: None,
            scope: "openid".into(),
            fetcher,
            min_refresh_interval: Duration::from_secs(30),
        }
    }

    /// Sets [`IssuerOptions::jwks`].
    pub fn jwks(mut self, url: impl Into<Option<String>>) -> IssuerOptions {
        self.jwks = url.into();
        self
    }

    /// Sets [`IssuerOptions::owner_claim`].
    pub fn owner_claim(mut self, claim: impl Into<String>) -> IssuerOptions {
        self.owner_claim = claim.into();
        self
    }

    /// Sets [`IssuerOptions::role_claim`].
    pub fn role_claim(mut self, claim: impl Into<String>) -> IssuerOptions {
        self.role_claim = claim.into();
        self
    }

    /// Sets [`IssuerOptions::roles`].
    pub fn roles(mut self, roles: RoleMapping) -> IssuerOptions {
        self.roles = roles;
        self
    }

    /// Sets [`IssuerOptions::client_id`].
    pub fn client_id(mut self, client_id: impl Into<Option<String>>) -> IssuerOptions {
        self.client_id = client_id.into();
        self
    }

    /// Sets [`IssuerOptions::scope`].
    pub fn scope(mut self, scope: impl Into<String>) -> IssuerOptions {
        self.scope = scope.into();
        self
    }

    /// Sets [`IssuerOptions::min_refresh_interval`].
    pub fn min_refresh_interval(mut self, interval: Duration) -> IssuerOptions {
        self.min_refresh_interval = interval;
        self
    }

    /// Maps the claims of a token to its holder: owner, role and expiry.
    ///
    /// # Errors
    /// The reason why they give no owner or no role.
    pub(super) fn principal(&self, claims: &Claims) -> Result<Principal, String> {
        let owner = claims.get(&self.owner_claim).and_then(serde_json::Value::as_str);
        let owner =
            owner.ok_or_else(|| format!("its claim {:?} must contain the owner as a string", self.owner_claim))?;
        let subject = claims.get("sub").and_then(serde_json::Value::as_str).unwrap_or(owner);
        let key = format!("token:{}", subject.chars().take(MAX_SHOWN).collect::<String>());
        let role = self.role(claims);
        let role = role.ok_or_else(|| format!("no value of its claim {:?} grants a role", self.role_claim))?;
        Ok(Principal { owner: owner.parse::<Owner>()?, role, key, expires: Some(claims.expires) })
    }

    fn role(&self, claims: &Claims) -> Option<Role> {
        let named = claims.get(&self.role_claim);
        let listed = named.and_then(serde_json::Value::as_array).into_iter().flatten().filter_map(|name| name.as_str());
        let written = named.and_then(serde_json::Value::as_str).into_iter().flat_map(str::split_ascii_whitespace);
        self.roles.role_of(listed.chain(written))
    }
}
