//! Options of the token issuer, and the mapping of a token's claims to its holder.

use std::time::Duration;

use crate::{
    access::{Owner, Principal, Role, RoleMapping},
    fetch::Fetcher,
    signature::Claims,
};

/// The longest part of a subject that stands in the audit trail.
const MAX_SHOWN: usize = 128;

/// An authorization server whose access tokens clients may prove themselves with; given to
/// [`crate::registry::Builder::issuer`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IssuerOptions {
    /// Its identifier, a URL: what tokens have as `iss`, and below which its metadata is found.
    pub issuer: String,
    /// The `aud` of tokens for this registry.
    pub audience: String,
    /// URL of its keys (JWKS); none: the one in its metadata.
    pub jwks: Option<String>,
    /// The claim that is the owner in whose name the holder acts, by name or JSON Pointer.
    pub owner_claim: String,
    /// The claim with the names that roles go by, a list or a text with spaces, by name or JSON Pointer.
    pub role_claim: String,
    /// The roles of these names.
    pub roles: RoleMapping,
    /// The client that the web page signs people in as, by the code flow with PKCE; none: people sign in with keys alone.
    pub client_id: Option<String>,
    /// The scope that the page asks for, several with spaces between them.
    pub scope: String,
    /// Fetcher of the metadata and keys.
    pub fetcher: Fetcher,
    /// The shortest pause between two fetches of the keys: how long a token with a new one may be refused at the worst.
    pub min_refresh_interval: Duration,
}

impl IssuerOptions {
    /// Takes tokens of an issuer that are for an audience. The owner is `sub`; the scopes `read`, `register` and `admin`
    /// give the roles of these names.
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
        let owner = owner.ok_or_else(|| format!("it has no text {:?}, which is the owner", self.owner_claim))?;
        let subject = claims.get("sub").and_then(serde_json::Value::as_str).unwrap_or(owner);
        let key = format!("token:{}", subject.chars().take(MAX_SHOWN).collect::<String>());
        let role = self.role(claims);
        let role = role.ok_or_else(|| format!("nothing in its {:?} gives a role here", self.role_claim))?;
        Ok(Principal { owner: owner.parse::<Owner>()?, role, key, expires: Some(claims.expires) })
    }

    fn role(&self, claims: &Claims) -> Option<Role> {
        let named = claims.get(&self.role_claim);
        let listed = named.and_then(serde_json::Value::as_array).into_iter().flatten().filter_map(|name| name.as_str());
        let written = named.and_then(serde_json::Value::as_str).into_iter().flat_map(str::split_ascii_whitespace);
        self.roles.role_of(listed.chain(written))
    }
}
